import type { BigIntStats } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { FolderIdentity } from '../../contract/place.ts'
import { relativePath, textFromPath } from '../../paths/path-text.ts'
import { isErrno } from '../errors.ts'
import type { Mount } from '../mounts.ts'
import { bornAt, hasSteadyInodes } from './marks.ts'

/** What a look at something finds; undefined when nothing is there. Throws other system errors. */
export async function found<T>(looked: Promise<T>): Promise<T | undefined> {
  try {
    return await looked
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return undefined
    throw error
  }
}

export const pathIn = (tree: Buffer, { at }: Mount): string =>
  textFromPath(relativePath(tree.subarray(1), at))

export function identityOf(
  stats: BigIntStats | undefined,
  mount: Mount | undefined,
  uuids: ReadonlyMap<string, string>,
): FolderIdentity {
  const type = mount?.area.type ?? ''
  const source = mount?.source ?? ''
  const fileSystem = isShare(source) ? source : uuids.get(source)
  const born = stats && bornAt(stats)
  const hasInode = stats !== undefined && hasSteadyInodes(mount)
  return {
    type,
    ...(fileSystem === undefined ? {} : { fileSystem }),
    ...(hasInode ? { inode: `${stats.ino}` } : {}),
    ...(born === undefined ? {} : { born: `${born}` }),
  }
}

/** Whether it is a share of another host, as `server:/export` and `//server/share` are. */
const isShare = (source: string): boolean => source.startsWith('//') || /^[^/].*:/.test(source)

const byUuid = '/dev/disk/by-uuid'

/** UUIDs of the file systems of devices, by their names; empty where the system does not list them, as in a container. */
export async function deviceUuids(
  mounts: readonly (Mount | undefined)[],
): Promise<ReadonlyMap<string, string>> {
  const devices = new Set(
    mounts.map((mount) => mount?.source ?? '').filter((source) => source.startsWith('/dev/')),
  )
  const uuids = new Map<string, string>()
  if (devices.size === 0) return uuids
  const names = await readdir(byUuid).catch(() => [])
  const listed = new Map<string, string>()
  for (const uuid of names) {
    const device = await realpath(join(byUuid, uuid)).catch(() => undefined)
    if (device !== undefined) listed.set(device, uuid)
  }
  for (const device of devices) {
    const uuid = listed.get(await realpath(device).catch(() => device))
    if (uuid !== undefined) uuids.set(device, uuid)
  }
  return uuids
}
