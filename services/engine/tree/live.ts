import { tickAt, type Entry, type StorePath } from '../../drivers/contract/driver.ts'
import { isSameLink } from '../compare/content.ts'
import { attributesDifferBy, contentDiffersBy, isKnown, isSameTime } from '../compare/entries.ts'
import { targetPath } from '../run/mappings.ts'
import { linksOf } from '../run/metadata.ts'
import { atTarget, grainMsOf, type Run } from '../run/run.ts'
import { defaultMetadata } from '../../../subjects/migrations/model/terms.ts'

/**
 * Whether every change at the source is told, or can be had at the price of a system call: then what was just written is
 * looked at once more.
 */
export const isWatched = ({ spec, source }: Run): boolean =>
  spec.live !== undefined && source.changes !== undefined

/** Whether an entry of the target came there after the migration was started. */
export const isOwn = ({ spec: { live }, target }: Run, { createdMs }: Entry): boolean => {
  if (live === undefined || createdMs === undefined) return false
  const { ownGrainMs } = target.capabilities.clock
  const { startedMs } = live
  return createdMs >= (ownGrainMs === undefined ? startedMs : Math.floor(startedMs / ownGrainMs) * ownGrainMs)
}

/** The same of an entry of a listing, which need not say when it was made. Throws StoreErrors of the target. */
export const isOwnThere = async (run: Run, path: StorePath, entry: Entry): Promise<boolean> =>
  isOwn(
    run,
    entry.createdMs === undefined
      ? ((await atTarget(run.target.stat(path, run.stop.signal))) ?? entry)
      : entry,
  )

/** Whether two looks at the source saw the same. */
export const isUnchanged = (a: Entry | undefined, b: Entry | undefined): boolean =>
  a?.type === b?.type &&
  a?.sizeBytes === b?.sizeBytes &&
  a?.modifiedMs === b?.modifiedMs &&
  a?.mode === b?.mode &&
  a?.owner?.uid === b?.owner?.uid &&
  a?.owner?.gid === b?.owner?.gid &&
  a?.ownerNames?.user === b?.ownerNames?.user &&
  a?.ownerNames?.group === b?.ownerNames?.group &&
  a?.createdMs === b?.createdMs

/** Within so long of a write another may leave the same time, at either side of a copy. */
const tickOf = (source: Run['source'], target: Run['target']): number =>
  Math.max(source.capabilities.clock.tickMs, target.capabilities.clock.tickMs)

/** Whether a file of the source was written to so lately that another write may not have changed its time. */
export const isYoung = (
  { source, target }: Run,
  { modifiedMs }: Pick<Entry, 'modifiedMs'>,
  atMs: number,
): boolean => {
  if (modifiedMs === undefined) return false
  const tickMs = tickAt(modifiedMs, tickOf(source, target))
  // A time to come was set by somebody, and says nothing about the last write.
  return modifiedMs + tickMs > atMs && modifiedMs <= Date.now()
}

/** When the target's was made; in a store that does not tell, when anything about it was changed last. */
const madeMsOf = ({ writtenMs, createdMs, changedMs }: Entry): number | undefined =>
  writtenMs ?? createdMs ?? changedMs

/**
 * Whether something about an entry of the source may have changed since the target's was made: a file that was replaced by
 * one of its size and time, or written to and given its time back, shows it by nothing else. What was only found is held
 * against the last time that anything was done to the target's, so that what was looked at once is settled.
 * @param isTold somebody saw a change, which may have come while the copy was being finished
 */
export function isChangedSince(
  { source: from, target: to }: Run,
  source: Entry,
  target: Entry,
  isTold: boolean,
): boolean {
  const changedMs = source.changedMs ?? source.writtenMs
  const madeMs = madeMsOf(target)
  const settledMs = isTold ? madeMs : (target.changedMs ?? madeMs)
  if (changedMs === undefined || settledMs === undefined) return false
  // A time that was rounded down may be one after what seems to be later.
  const { ownGrainMs = tickAt(changedMs, 0) } = from.capabilities.clock
  const latestMs = changedMs + (isTold ? tickAt(changedMs, tickOf(from, to)) : ownGrainMs)
  return latestMs > settledMs && changedMs <= Date.now()
}

/** Whether the source has symbolic links that are followed: whatever changes may do so under other paths as well. */
export const followsLinks = ({ spec }: Run): boolean => linksOf(spec) === 'follow'

/** Whether a change of something may be one of other paths as well, which nobody was told of. */
export const mayHaveOthers = (run: Run, { nameCount = 1 }: Entry): boolean =>
  nameCount > 1 || followsLinks(run)

/**
 * The same of what the target has not under this name. A name of a file that is merely new is no write, as far as the file's
 * time says so.
 */
export const hasChangedOthers = (run: Run, entry: Entry, isNew: boolean): boolean => {
  const { modifiedMs = Number.POSITIVE_INFINITY } = entry
  const isWritten = !isNew || modifiedMs >= (run.spec.live?.startedMs ?? 0)
  return mayHaveOthers(run, entry) && (followsLinks(run) || isWritten)
}

/**
 * What the target's file lacks of the source's: nothing, attributes alone, what only a copy gives, or that which only a look
 * at the content can tell.
 * @param isTold something about it has changed: attributes that cannot be compared are given once more
 */
export function missingAt(
  run: Run,
  source: Entry,
  target: Entry,
  isTold: boolean,
): 'nothing' | 'attributes' | 'copy' | 'unknown' {
  const differs = contentDiffersBy(source, target, grainMsOf(run))
  if (differs !== undefined && differs !== 'untimed') return 'copy'
  // A write after the copy was begun, within one tick of the clock with the one before, left size and time as they were.
  const copiedMs = madeMsOf(target)
  if (copiedMs !== undefined && isYoung(run, source, copiedMs)) return 'copy'
  if (isChangedSince(run, source, target, isTold)) return 'unknown'
  const { attributes } = run.spec.metadata ?? defaultMetadata
  return hasAttributes(run, source, target, isTold) && !(isTold && attributes) ? 'nothing' : 'attributes'
}

/**
 * Whether a comparison leaves the attributes of the target's entry as they are.
 * @param isTold something about it has changed: what this process cannot give is tried as well
 */
export const hasAttributes = (run: Run, source: Entry, target: Entry, isTold: boolean): boolean =>
  attributesDifferBy(run, source, target, isTold ? 'all' : 'givable') === undefined

/**
 * Which attribute a file lacks that the policy leaves as it is at the target, as far as what was listed or looked at tells.
 * In a bucket nothing: attributes are written there by writing the object's metadata, or all of it, once more.
 * @param which as for `attributesDifferBy`
 */
export const skippedLacks = (
  run: Run,
  source: Entry,
  target: Entry,
  which: 'all' | 'givable' = 'all',
): ReturnType<typeof attributesDifferBy> =>
  run.target.capabilities.folders === 'real' && source.type === 'file'
    ? attributesDifferBy(run, source, target, which)
    : undefined

/** Whether both sides have the same symbolic link at a path, with the same attributes. */
export async function hasSameLink(run: Run, path: StorePath, isTold: boolean): Promise<boolean> {
  const { source, target } = run
  const there = targetPath(run, path)
  // Listings tell of links no more than their names.
  const [its, itsThere] = await Promise.all([
    source.stat(path, run.stop.signal),
    atTarget(target.stat(there, run.stop.signal)),
  ])
  if (its?.type !== 'symlink' || itsThere?.type !== 'symlink') return false
  if (isSameTime(its, itsThere, grainMsOf(run)) === false) return false
  if (!hasAttributes(run, its, itsThere, isTold)) return false
  return isSameLink(run, path, there)
}

/**
 * What the migration's policy says of a file that stood at the target before, and whose source nobody has written to since
 * the migration began; see `isKnown`. `false` for any other. What is not skipped may be there still: the scan failed at it,
 * or it was given other content with its time of before.
 */
const isKnownBefore = (run: Run, source: Entry, target: Entry): ReturnType<typeof isKnown> =>
  (source.modifiedMs === undefined || source.modifiedMs < (run.spec.live?.startedMs ?? 0)) &&
  !isOwn(run, target) &&
  isKnown(run.spec.policy, source, target, grainMsOf(run))

/** Whether a comparison leaves a file as it is at the target, by the migration's policy. */
export const isSkipped = (run: Run, source: Entry, target: Entry): boolean =>
  isKnownBefore(run, source, target) === true

/**
 * As `missingAt`, for what nobody was told of: what the policy skips lacks attributes at most, and where it goes by content,
 * nothing else makes a copy of what has the size.
 */
export function missingFound(run: Run, source: Entry, target: Entry): ReturnType<typeof missingAt> {
  const missing = missingAt(run, source, target, false)
  const known = isKnownBefore(run, source, target)
  if (known === false) return missing
  if (known === 'unread' && (missing === 'copy' || missing === 'unknown')) return 'unknown'
  return skippedLacks(run, source, target, 'givable') === undefined ? 'nothing' : 'attributes'
}

/**
 * A large file is copied when nobody has written to it for a time that grows with its size: to begin at every write would
 * copy a growing file many times over.
 */
const quiet = { fromBytes: 1024 * 1024, bytesPerMs: 64 * 1024, maxMs: 2_000, stepMs: 50 } as const

/**
 * How long a file is to be left alone, in milliseconds; 0 when it can be copied now. Where times are in whole seconds, nobody
 * could prove until then that it was not written to while it was read.
 */
export function quietMs(run: Run, entry: Entry): number {
  if (!isWatched(run) || entry.type !== 'file' || entry.sizeBytes === 0) return 0
  return Math.max(unclearMs(run, entry), growingMs(entry))
}

function unclearMs({ source }: Run, { changedMs }: Entry): number {
  if (changedMs === undefined || changedMs > Date.now()) return 0
  const { tickMs } = source.capabilities.clock
  const itsTickMs = tickAt(changedMs, tickMs)
  return itsTickMs > tickMs ? stepsMs(changedMs + itsTickMs - Date.now()) : 0
}

function growingMs({ sizeBytes, modifiedMs }: Entry): number {
  if (sizeBytes < quiet.fromBytes || modifiedMs === undefined) return 0
  const ageMs = Date.now() - modifiedMs
  const leftMs = Math.min(sizeBytes / quiet.bytesPerMs, quiet.maxMs) - ageMs
  // A time to come was set by somebody.
  return ageMs < 0 ? 0 : stepsMs(leftMs)
}

const stepsMs = (leftMs: number): number =>
  leftMs <= 0 ? 0 : Math.ceil(leftMs / quiet.stepMs) * quiet.stepMs
