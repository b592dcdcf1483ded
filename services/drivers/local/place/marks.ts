import { type BigIntStats, statSync } from 'node:fs'
import type { LeavesOut } from '../../contract/place.ts'
import { relativePath } from '../../paths/path-text.ts'
import { type Mount, mountOf, mountsBelow, parseMounts } from '../mounts.ts'

/** The mount that a folder is in, and those below it that can be reached. */
export interface MountsAt {
  readonly own: Mount | undefined
  readonly below: readonly (Mount & { readonly isAutomatic: boolean })[]
}

/**
 * The mounts of a folder, but those where a rule leaves them out.
 * @param folder absolute, without symbolic links; so is `tree`, whose mounts count
 */
export function mountsAt(folder: Buffer, tree: Buffer, table: string, leavesOut?: LeavesOut): MountsAt {
  const mounts = parseMounts(table)
  const byId = new Map(mounts.map((mount) => [mount.id, mount]))
  const below = mountsBelow(mounts, tree)
    .filter(({ at }) => leavesOut?.isLeftOut(relativePath(tree.subarray(1), at)) !== true)
    .map((mount) => ({ ...mount, isAutomatic: isAutomatic(mount, byId.get(mount.parent)) }))
  return { own: mountOf(mounts, folder.subarray(1)), below }
}

/** Whether the system mounts it by itself when somebody looks there, and unmounts it when nobody does. */
function isAutomatic(mount: Mount, parent: Mount | undefined): boolean {
  if (parent === undefined) return false
  const isOfSameServer = mount.area.type === parent.area.type && mount.source.startsWith(`${parent.source}/`)
  return parent.area.type === 'autofs' || (mount.area.type.startsWith('nfs') && isOfSameServer)
}

/** File systems that give a file another inode number when they have forgotten it, by their names. */
const unsteady = /^(fuse\.|cifs$|smb3$|vfat$|exfat$|msdos$)/

/** Whether inode numbers of a file system say which file it is. */
export const hasSteadyInodes = (mount: Mount | undefined): boolean =>
  mount === undefined || !unsteady.test(mount.area.type)

/** What tells whether the system knows when a file was made: its own entries in /proc never do. */
type Times = Pick<BigIntStats, 'birthtimeNs' | 'ctimeNs'>

/**
 * Whether times of creation are known. Without statx(2) (old kernels, and sandboxes that refuse it) Node gives the time of
 * the last change in their place, which moves with each file that is made in a folder.
 * @param proc times of an entry of /proc, which has no time of creation; undefined where there is no /proc
 */
export const knowsBirths = (proc: Times | undefined): boolean => proc === undefined || proc.birthtimeNs === 0n

const hasBirths = knowsBirths(statSync('/proc/self', { bigint: true, throwIfNoEntry: false }))

/** When something was made, in nanoseconds since 1970; undefined where nobody knows. */
export const bornAt = ({ birthtimeNs }: Times, isKnown = hasBirths): bigint | undefined =>
  // Some file systems do not know it, and say 1970.
  isKnown && birthtimeNs !== 0n ? birthtimeNs : undefined

/** Equal while a folder is the same one, and the same is mounted below it. What the system mounts by itself does not count. */
export function markText(stats: BigIntStats, { own, below }: MountsAt, isBornKnown = hasBirths): string {
  const { dev, ino } = stats
  const folder = hasSteadyInodes(own) ? `${dev} ${ino} ${bornAt(stats, isBornKnown) ?? ''}` : `${dev}`
  const mounted = below
    .filter((mount) => !mount.isAutomatic)
    .map(
      ({ id, area, at }) => `${id} ${area.device} ${area.path.toString('latin1')} ${at.toString('latin1')}`,
    )
  return [folder, ...mounted].join('\n')
}

/**
 * Equal while a target is the same folder, until the system mounts it anew. It says by itself whether inode numbers of its
 * file system say which folder it is, so that what is compared later does so as well.
 */
export function targetMarkText(stats: BigIntStats, hasInode: boolean): string {
  return hasInode ? `${stats.dev} ${stats.ino} ${bornAt(stats) ?? ''}` : `${stats.dev}`
}

/** Whether a mark of a target goes by the number of its inode. */
export const goesByInode = (mark: string): boolean => mark.includes(' ')
