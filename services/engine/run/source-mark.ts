import { type BigIntStats, realpathSync, statSync } from 'node:fs'
import { StoreError } from '../../drivers/contract/driver.ts'
import {
  type Mount,
  mountOf,
  mountsBelow,
  mountTable,
  parseMounts,
  placeOf,
} from '../../drivers/local/mounts.ts'
import { relativePath } from '../items/paths.ts'
import { isLeftOut, type LeavesOut } from './left-out.ts'

/** Where a source is on this host. Plain data. */
export interface SourceFolder {
  /** The folder of the migration; absolute. */
  readonly folder: Uint8Array
  /** The folder whose mounts count; absolute. */
  readonly tree: Uint8Array
  /** What of it is left out: mounts there may come and go. `root`: path of `tree` in the source. */
  readonly rules?: LeavesOut
}

/**
 * What a source on this host is while it is worked on: its folder, and what is mounted below it, by the numbers that the
 * system has for them until it mounts them anew. Plain data.
 */
export interface SourceMark extends SourceFolder {
  /** See `markText`. */
  readonly is: string
}

/** The mount that a folder is in, and those below it that can be reached. */
export interface MountsAt {
  readonly own: Mount | undefined
  readonly below: readonly (Mount & { readonly isAutomatic: boolean })[]
}

/**
 * The mounts of a folder, but those where a rule leaves them out.
 * @param folder absolute, without symbolic links; so is `tree`, whose mounts count
 */
export function mountsAt(
  folder: Buffer,
  tree: Buffer,
  table: string,
  rules?: SourceFolder['rules'],
): MountsAt {
  const mounts = parseMounts(table)
  const byId = new Map(mounts.map((mount) => [mount.id, mount]))
  const below = mountsBelow(mounts, tree)
    .filter(({ at }) => !isLeftOut(rules, relativePath(tree.subarray(1), at)))
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

/** The mark of a folder of this host now. Throws system errors. */
export function markOf(source: SourceFolder): SourceMark {
  const { folder, tree, rules } = source
  const table = mountTable()
  const stat = statSync(Buffer.from(folder), { bigint: true })
  return { ...source, is: markText(stat, mountsAt(realPath(folder), realPath(tree), table, rules)) }
}

/** Where file systems are mounted below the folder of a mark, but those that the system mounts by itself. Throws system errors. */
export const mountedBelow = ({ folder, tree, rules }: SourceMark): Buffer[] =>
  mountsAt(realPath(folder), realPath(tree), mountTable(), rules)
    .below.filter((mount) => !mount.isAutomatic)
    .map(placeOf)

const realPath = (path: Uint8Array): Buffer => realpathSync.native(Buffer.from(path), { encoding: 'buffer' })

/** The table of mounts that a mark was found to be right by; its text is the same until something is mounted or unmounted. */
interface Known {
  readonly table: string
  readonly stat: string
}

/** Marks that are remembered in one thread; a forgotten one costs reading the table once more. */
const maxKnown = 64
const known = new Map<string, Known>()

/**
 * Throws a StoreError `unreachable` when a source is not what its mark says. What was found missing there before a call that
 * does not throw, and after another one, is missing at the source itself, not in what stands in its place.
 */
export function requireMark(mark: SourceMark | undefined): void {
  if (mark === undefined) return
  try {
    const table = mountTable()
    const stats = statSync(Buffer.from(mark.folder), { bigint: true })
    const stat = `${stats.dev} ${stats.ino} ${bornAt(stats) ?? ''}`
    const key = `${mark.rules?.packed.key ?? ''}\n${mark.is}`
    const before = known.get(key)
    if (before?.table === table && before.stat === stat) return
    if (markOf(mark).is === mark.is) {
      if (known.size >= maxKnown) known.clear()
      known.set(key, { table, stat })
      return
    }
  } catch (cause) {
    throw new StoreError('unreachable', 'the folder of the migration cannot be looked at', {
      cause,
      side: 'source',
    })
  }
  throw new StoreError('unreachable', 'its folder, or what is mounted below it, has been replaced', {
    side: 'source',
  })
}
