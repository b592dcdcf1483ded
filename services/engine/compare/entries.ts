import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import { defaultMetadata } from '../../../subjects/migrations/model/terms.ts'
import { coarseTickMs, type Entry } from '../../drivers/contract/driver.ts'
import { exactMs, type Run } from '../run/run.ts'

type Timed = Pick<Entry, 'modifiedMs' | 'changedMs'>
type Seen = Pick<Entry, 'type' | 'sizeBytes' | 'modifiedMs' | 'changedMs'>

/**
 * Whether two entries were changed last at the same time; undefined where a store gives none.
 * @param grainMs times that differ by no more are the same: `grainMsOf` of both stores
 */
export const isSameTime = ({ modifiedMs }: Timed, its: Timed, grainMs = exactMs): boolean | undefined =>
  modifiedMs === undefined || its.modifiedMs === undefined
    ? undefined
    : Math.abs(modifiedMs - its.modifiedMs) <= grainMs || isInSeconds(modifiedMs, its)

const secondMs = 1_000

/**
 * Whether the target has a time of the source in whole seconds because its file system keeps no others (ext3, and NFS of
 * one): its time of the last change, which nobody can set, is in whole seconds as well. That one must be so late that no
 * write to the source after the copy can have left a time in the same second; until then the file is copied once more.
 */
const isInSeconds = (sourceMs: number, { modifiedMs, changedMs }: Timed): boolean =>
  changedMs !== undefined &&
  changedMs % secondMs === 0 &&
  modifiedMs === Math.floor(sourceMs / secondMs) * secondMs &&
  changedMs > sourceMs + coarseTickMs

/**
 * What says that the content of two entries is another, the surest first; undefined when nothing does. `untimed`: nothing
 * does, but a store gives no time that could.
 * @param grainMs as for `isSameTime`
 */
export function contentDiffersBy(
  source: Seen,
  target: Seen,
  grainMs = exactMs,
): 'type' | 'size' | 'time' | 'untimed' | undefined {
  if (source.type !== target.type) return 'type'
  if (source.sizeBytes !== target.sizeBytes) return 'size'
  switch (isSameTime(source, target, grainMs)) {
    case true:
      return undefined
    case false:
      return 'time'
    case undefined:
      return 'untimed'
  }
}

/**
 * Whether what stands at the target makes a copy of a file needless by the migration's policy; `unread` when only the
 * content can tell.
 * @param grainMs as for `isSameTime`
 */
export function isKnown(
  policy: ActionPolicy,
  source: Seen,
  target: Seen | undefined,
  grainMs = exactMs,
): boolean | 'unread' {
  if (policy === 'Overwrite' || source.type !== 'file' || target === undefined) return false
  const differs = contentDiffersBy(source, target, grainMs)
  if (differs === 'type' || differs === 'size') return false
  switch (policy) {
    case 'SkipIfSizeMatch':
      return true
    case 'SkipIfSizeAndTimeMatch':
      return differs === undefined
    case 'SkipIfDigestMatch':
      return 'unread'
  }
}

/** Only who may give files away gets the owner right; others would try it in vain with each comparison. */
const mayGive = process.getuid?.() === 0

/**
 * Which attribute of the source's entry the target's has not, the mode first: as far as the migration keeps it, the target
 * can hold it, and both stores tell it. Undefined where there is none. Links have no mode.
 * @param which `givable`: only what this process could give to the target's
 */
export function attributesDifferBy(
  { spec, target: { capabilities } }: Run,
  source: Entry,
  target: Entry,
  which: 'all' | 'givable' = 'all',
): 'mode' | 'owner' | undefined {
  const { modes, owners } = spec.metadata ?? defaultMetadata
  const isOwners = hasOwner(source, target)
  if (modes && capabilities.modes && source.type !== 'symlink') {
    const { mode, type } = source
    const bits = keptModeBits(type, target.owner === undefined || (owners && isOwners === true))
    if (mode !== undefined && target.mode !== undefined && (mode & bits) !== (target.mode & bits))
      return 'mode'
  }
  return owners && isOwners === false && (which === 'all' || mayGive) ? 'owner' : undefined
}

const permissionBits = 0o777
const stickyBit = 0o1000
/** Set-user-id, set-group-id and sticky too. */
const allBits = 0o7777

/**
 * Bits of a mode that a copy keeps: a store that has owners takes set-user-id and set-group-id with the owner that they
 * belong to alone, and of folders the sticky bit without.
 */
const keptModeBits = (type: Entry['type'], isOwned: boolean): number =>
  isOwned ? allBits : type === 'folder' ? permissionBits | stickyBit : permissionBits

/** Undefined where a store does not tell, or one knows names alone and the other numbers. */
function hasOwner(
  { owner, ownerNames }: Entry,
  { owner: its, ownerNames: itsNames }: Entry,
): boolean | undefined {
  if (ownerNames !== undefined && itsNames !== undefined)
    return ownerNames.user === itsNames.user && ownerNames.group === itsNames.group
  return owner === undefined || its === undefined ? undefined : owner.uid === its.uid && owner.gid === its.gid
}
