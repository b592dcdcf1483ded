import { type Entry, StoreError, type StorePath } from '../../drivers/contract/driver.ts'
import { parentOf } from '../../drivers/paths/path-text.ts'
import { type Counts, noCounts } from '../run/counts.ts'
import { isSameTime } from '../compare/entries.ts'
import { hasAttributes, isWatched, skippedLacks } from './live.ts'
import { targetPath } from '../run/mappings.ts'
import { carried, countLosses } from '../run/metadata.ts'
import { storeError } from '../../drivers/contract/store-error.ts'
import { isOutage } from '../run/retry.ts'
import { atTarget, grainMsOf, readOptionsOf, type Run } from '../run/run.ts'

/** Gives what the target has of a path of the source the attributes that it has there. Throws StoreErrors. */
export async function giveAttributes(run: Run, path: StorePath, counts: Counts): Promise<void> {
  const { source, target, spec } = run
  const attributes = await source.attributesOf(path, readOptionsOf(run))
  if (attributes === undefined) return
  const set = target.setAttributes(targetPath(run, path), carried(spec, attributes))
  countLosses(counts, await atTarget(set))
}

/** A file that is at the target already, so that its content is not copied. */
export interface Skipped {
  /** In the source. */
  readonly path: StorePath
  readonly source: Entry
  readonly target: Entry
}

/**
 * Gives a file that is skipped the mode and owner that the source's has, where it has others. Its time stays: only a copy
 * proves that the content is of that time. What the target refuses is counted. Throws StoreErrors of a target that fails as a
 * whole.
 * @param which as for `skippedLacks`
 */
export async function dressSkipped(
  run: Run,
  { path, source, target }: Skipped,
  counts: Counts,
  which: 'all' | 'givable' = 'all',
): Promise<void> {
  const lacks = skippedLacks(run, source, target, which)
  if (lacks === undefined) return
  const { modifiedMs: _, ...attributes } = carried(run.spec, source)
  try {
    countLosses(counts, await atTarget(run.target.setAttributes(targetPath(run, path), attributes)))
  } catch (error) {
    run.stop.check()
    const known = storeError(error)
    if (isOutage(known)) throw known
    countLosses(counts, [lacks])
  }
}

/**
 * Whether a source that is watched does not let us look at something. Nobody tells of it when it lets us, but of a folder
 * above it: what is looked at again by its name is among the failures until then.
 */
export const isDenied = (run: Run, { failure, isTargets }: StoreError): boolean =>
  isWatched(run) && failure === 'permission' && !isTargets

/**
 * Gives a folder of the target the attributes that the source's has, where something made in it moves its time: whoever
 * writes into a folder of a live migration does this afterwards. Resolves with what did not work, as the caller knows
 * whether there is another try; undefined when nothing is left to be finished.
 * @param path in the source
 */
export async function matchFolder(
  run: Run,
  path: StorePath,
  counts: Counts,
): Promise<StoreError | undefined> {
  const { source, target } = run
  if (!target.capabilities.folderTimesMove || path.length === 0) return undefined
  try {
    const there = targetPath(run, path)
    const [entry, its] = [
      await source.stat(path, run.stop.signal),
      await atTarget(target.stat(there, run.stop.signal)),
    ]
    if (entry?.type !== 'folder' || its?.type !== 'folder') return undefined
    const hasTime = isSameTime(entry, its, grainMsOf(run)) !== false
    if (hasTime && hasAttributes(run, entry, its, false)) return undefined
    await giveAttributes(run, path, counts)
    return undefined
  } catch (error) {
    run.stop.check()
    // Somebody removed it meanwhile: nothing is left to be finished.
    const known = storeError(error)
    const { failure, cause } = known
    const isGone = failure === 'gone' || (cause instanceof StoreError && cause.failure === 'gone')
    return isGone ? undefined : known
  }
}

/**
 * The same for a folder and those above it, where whoever had an item before may have been killed while it had lent itself
 * rights to them (`local-rights.ts`): of an item that tries a failure again, no folder is finished.
 * @param path in the source
 */
export async function matchAfterKill(run: Run, path: StorePath): Promise<void> {
  if (run.liveThreads === undefined) return
  for (let at = path; at.length > 0 && at.length >= run.spec.root.length; at = parentOf(at))
    await matchFolder(run, at, noCounts())
}

/** Folders whose time moved when a folder was made together with those above it, the uppermost of them `made`. */
export function changedBy(folder: StorePath, made: StorePath): StorePath[] {
  const changed = [folder]
  for (let at = folder; at.length >= made.length && at.length > 0; at = parentOf(at))
    changed.push(parentOf(at))
  return changed
}
