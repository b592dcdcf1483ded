import type { BigIntStats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { list, maxTextLength, Path, strict } from '../../../subjects/kit/schemas.ts'
import { shortened } from '../../../subjects/kit/shortened.ts'
import { pathFromText, textFromPath } from '../../drivers/paths/path-text.ts'
import { isErrno } from '../../drivers/local/errors.ts'
import { relativePath } from '../../engine/items/paths.ts'
import { type Mount, mountTable } from '../../drivers/local/mounts.ts'
import { type TargetMark, targetMarkOf } from '../../engine/run/target-mark.ts'
import {
  bornAt,
  hasSteadyInodes,
  mountsAt,
  markText,
  type SourceFolder,
  type SourceMark,
} from '../../engine/run/source-mark.ts'

/** More file systems below one source than this are no data: a host with a thousand containers is migrated in parts. */
export const maxMounts = 1_000

/**
 * Which folder of which file system a folder is. Nothing of it changes when a file system is mounted again or the host is
 * started again, as the number of its device does; what a file system does not have is missing.
 */
export const FolderIdentity = strict({
  /** Kind of file system, as the system calls it; empty where it does not tell. */
  type: Type.String({ maxLength: 100 }),
  /** UUID of the file system, or the share of another host. */
  fileSystem: Type.Optional(Type.String({ maxLength: 4096 })),
  inode: Type.Optional(Type.String({ maxLength: 20 })),
  /** When the folder was made, in nanoseconds since 1970. */
  born: Type.Optional(Type.String({ maxLength: 20 })),
})
export type FolderIdentity = Static<typeof FolderIdentity>

/** Which folder a source is, and which file systems are mounted below it. */
export const SourceIdentity = strict({
  root: FolderIdentity,
  mounts: list(
    strict({ path: Path('Below the folder that the mounts count for'), is: FolderIdentity }),
    maxMounts,
  ),
})
export type SourceIdentity = Static<typeof SourceIdentity>

/** Which store a source is; as drivers have it (`StoreIdentity`). */
export const StoredIdentity = strict({
  version: Type.String({ maxLength: 200 }),
  changed: Type.String({ maxLength: 100 }),
  witnesses: list(
    strict({ file: Type.String({ maxLength: maxTextLength }), created: Type.String({ maxLength: 100 }) }),
    100,
  ),
})

/** What a record knows of what its source is. */
export interface SourceIs {
  readonly sourceIdentity?: SourceIdentity
  readonly storeIdentity?: Static<typeof StoredIdentity>
}

/** What a source is now. */
export interface SourceNow {
  readonly identity: SourceIdentity
  readonly mark: SourceMark
  /** Paths of mounts that the system makes by itself when somebody looks. */
  readonly automatic: ReadonlySet<string>
}

/**
 * Looks at a source; undefined when there is no such folder. Throws system errors.
 * @param known paths of mounts below it, which are looked at first: some are there only while somebody looks
 */
export async function lookAtSource(
  { folder: at, tree: treeAt, rules }: SourceFolder,
  known: readonly string[] = [],
): Promise<SourceNow | undefined> {
  const [folder, tree] = [Buffer.from(at), Buffer.from(treeAt)]
  // A slash at the end has the system mount what it mounts by itself. What is wrong there is seen below.
  for (const path of known)
    await stat(Buffer.concat([tree, Buffer.from('/'), pathFromText(path), Buffer.from('/')])).catch(
      () => undefined,
    )
  const root = await found(stat(folder, { bigint: true }))
  if (root === undefined) return undefined
  const [real, realTree] = await Promise.all([
    realpath(folder, { encoding: 'buffer' }),
    realpath(tree, { encoding: 'buffer' }),
  ])
  const mounts = mountsAt(real, realTree, mountTable(), rules)
  const { own, below } = mounts
  if (below.length > maxMounts)
    throw new GantryError(
      'UNSUPPORTED',
      `source: more than ${maxMounts} file systems are mounted below it; migrate its folders one by one`,
    )
  const uuids = await deviceUuids([own, ...below])
  const identified = []
  for (const mount of below) {
    // What cannot be looked at, as a mount of another user, is known by its file system alone.
    const its = await stat(Buffer.concat([Buffer.from('/'), mount.at]), { bigint: true }).catch(
      () => undefined,
    )
    identified.push({ path: pathIn(realTree, mount), is: identityOf(its, mount, uuids) })
  }
  return {
    identity: { root: identityOf(root, own, uuids), mounts: identified },
    mark: { folder, tree, ...(rules === undefined ? {} : { rules }), is: markText(root, mounts) },
    automatic: new Set(below.filter((one) => one.isAutomatic).map((one) => pathIn(realTree, one))),
  }
}

/** What a target on this host is now: for the record, and for the threads. */
export interface TargetNow {
  readonly identity: FolderIdentity
  readonly mark: TargetMark
}

/** Which folder a target on this host is; undefined when there is none. Throws system errors. */
export async function lookAtTarget(folder: Buffer): Promise<TargetNow | undefined> {
  const stats = await found(stat(folder, { bigint: true }))
  if (stats === undefined) return undefined
  const real = await realpath(folder, { encoding: 'buffer' })
  const { own } = mountsAt(real, real, mountTable())
  const identity = identityOf(stats, own, await deviceUuids([own]))
  return { identity, mark: targetMarkOf(folder, stats, own) }
}

async function found<T>(looked: Promise<T>): Promise<T | undefined> {
  try {
    return await looked
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return undefined
    throw error
  }
}

const pathIn = (tree: Buffer, { at }: Mount): string => textFromPath(relativePath(tree.subarray(1), at))

function identityOf(
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
async function deviceUuids(mounts: readonly (Mount | undefined)[]): Promise<ReadonlyMap<string, string>> {
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

/** Whether they can be the same folder: what one of them does not know says nothing. */
export const isSame = (was: FolderIdentity, is: FolderIdentity): boolean =>
  (was.type === '' || is.type === '' || was.type === is.type) &&
  (['fileSystem', 'inode', 'born'] as const).every(
    (name) => was[name] === undefined || is[name] === undefined || was[name] === is[name],
  )

/** What has been replaced at a source, in words; undefined when all that was there is there. */
export function differenceOf(
  folder: Buffer,
  was: SourceIdentity,
  is: SourceIdentity | undefined,
): string | undefined {
  const its = `its folder ${textFromPath(folder.subarray(1))}`
  if (is === undefined) return `${its} is not there`
  if (!isSame(was.root, is.root)) return `${its} is a different folder: ${wasAndIs(was.root, is.root)}`
  const now = new Map(is.mounts.map((mount) => [mount.path, mount.is]))
  for (const { path, is: before } of was.mounts) {
    const mounted = now.get(path)
    if (mounted === undefined) return `nothing is mounted at ${path} any more; it was ${inWords(before)}`
    if (!isSame(before, mounted)) return `something else is mounted at ${path}: ${wasAndIs(before, mounted)}`
  }
  return undefined
}

/** Mounts that were not there. */
export function newMounts(was: SourceIdentity, is: SourceIdentity): SourceIdentity['mounts'] {
  const before = new Set(was.mounts.map(({ path }) => path))
  return is.mounts.filter(({ path }) => !before.has(path))
}

export const inWords = ({ type, fileSystem, inode, born }: FolderIdentity): string =>
  [
    type === '' ? 'a folder' : `${type}${fileSystem === undefined ? '' : ` ${fileSystem}`}`,
    ...(inode === undefined ? [] : [`inode ${inode}`]),
    ...(born === undefined ? [] : [`created ${new Date(Number(BigInt(born) / 1_000_000n)).toISOString()}`]),
  ].join(', ')

/** What the source of a migration is, in words; it may have more mounts than there is room for. */
export function sourceInWords({ sourceIdentity, storeIdentity }: SourceIs): string {
  if (storeIdentity !== undefined)
    return `a container that was made, or whose properties were changed, at ${storeIdentity.changed}`
  if (sourceIdentity === undefined) return 'not known'
  const { root, mounts } = sourceIdentity
  const mounted = mounts.map(({ path, is }) => `${inWords(is)} mounted at ${path}`)
  return shortened([inWords(root), ...mounted].join('; '), maxTextLength)
}

const wasAndIs = (was: FolderIdentity, is: FolderIdentity): string =>
  `it was ${inWords(was)}; it is ${inWords(is)}`
