import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import { type Entry, StoreError, type StorePath } from '../../drivers/contract/driver.ts'
import { compareContent } from '../compare/content.ts'
import { isKnown } from '../compare/entries.ts'
import type { Counts } from '../run/counts.ts'
import { targetPath } from '../run/mappings.ts'
import { atTarget, type Run } from '../run/run.ts'
import { hasSameLink } from './live.ts'
import { dressSkipped } from './match-folder.ts'

/** Read from each side at once: as much as a store gives with one request at little cost. */
const chunkBytes = 4 * 1024 * 1024

/** Whether the content of both sides is looked at before a file is copied. */
export const readsFirst = (policy: ActionPolicy): boolean => policy === 'SkipIfDigestMatch'

/**
 * Size of a file whose content the target has already; undefined when it is to be copied. Throws StoreErrors of the source;
 * a target that cannot be read says so when it is written to.
 */
export const sizeOfSame = async (run: Run, path: StorePath): Promise<number | undefined> =>
  (await sameFile(run, path))?.source.sizeBytes

/**
 * The same of a file that is not copied then: the target's is given the mode and owner of the source's.
 * @param counts what is not kept is added to them
 */
export async function sizeOfSkipped(run: Run, path: StorePath, counts: Counts): Promise<number | undefined> {
  const same = await sameFile(run, path)
  if (same === undefined) return undefined
  await dressSkipped(run, { path, ...same }, counts)
  return same.source.sizeBytes
}

async function sameFile(
  run: Run,
  path: StorePath,
): Promise<{ readonly source: Entry; readonly target: Entry } | undefined> {
  const there = targetPath(run, path)
  const target = await atTarget(run.target.stat(there, run.stop.signal))
  if (target?.type !== 'file') return undefined
  const source = await run.source.stat(path, run.stop.signal)
  if (source === undefined || isKnown('SkipIfDigestMatch', source, target) !== 'unread') return undefined
  try {
    const { difference } = await compareContent(
      run,
      { source, target, at: path, there },
      { chunkBytes, same: (file) => file.verifyUnchanged() },
    )
    return difference === undefined ? { source, target } : undefined
  } catch (error) {
    run.stop.check()
    if (error instanceof StoreError && error.isTargets) return undefined
    throw error
  }
}

/**
 * Whether the target has a symbolic link of the source already, so that the policy leaves it alone: one that leads to the
 * same place, with the same time and owner. What cannot be looked at is copied, which tells why it cannot be.
 */
export async function isKnownLink(run: Run, policy: ActionPolicy, path: StorePath): Promise<boolean> {
  if (policy === 'Overwrite') return false
  try {
    return await hasSameLink(run, path, false)
  } catch (error) {
    run.stop.check()
    if (error instanceof StoreError) return false
    throw error
  }
}
