import { setImmediate as nextTurn } from 'node:timers/promises'
import { StoreError, type Entry, type StorePath } from '../../drivers/driver.ts'
import { concurrently } from './concurrently.ts'
import type { Counts } from './counts.ts'
import { isOwn } from './live.ts'
import { isTaken } from './mappings.ts'
import { storeError, targetError } from './outcome.ts'
import { joinPath } from './paths.ts'
import { atTarget, concurrencyOf, type Run } from './run.ts'

/** Which entries of the target may go, by their paths there. */
export type MayRemove = (path: StorePath, entry: Entry) => boolean | Promise<boolean>

/** All but what comes from elsewhere in the source, by a path mapping. */
export const mayRemoveAll =
  (run: Run): MayRemove =>
  (path) =>
    !isTaken(run, path)

/** What came to the target after the migration began; a folder that the store only knows by what is in it is decided there. */
export const mayRemoveOwn =
  (run: Run, own?: StorePath): MayRemove =>
  async (path, entry) => {
    if (isTaken(run, path, own)) return false
    if (entry.createdMs !== undefined) return isOwn(run, entry)
    if (entry.type === 'folder') return true
    // A listing tells little about what is neither file nor folder.
    const known = await atTarget(run.target.stat(path))
    return known !== undefined && isOwn(run, known)
  }

/**
 * Removes what stands at a path of the target, a folder with all that is in it. What may not go stays, and so do the
 * folders above it. Throws StoreErrors of the target: `changed` when somebody fills the folder meanwhile.
 * @param counts what was removed is added
 * @returns whether nothing is left
 */
export async function removeTree(
  run: Run,
  path: StorePath,
  entry: Entry,
  may: MayRemove,
  counts: Counts,
): Promise<boolean> {
  run.stop.check()
  if (!(await may(path, entry))) return false
  if (entry.type !== 'folder') {
    if (await atTarget(run.target.remove(path))) counts.filesRemoved++
    return true
  }
  if (!(await emptyFolder(run, path, may, counts))) return false
  try {
    if (await run.target.remove(path)) counts.foldersRemoved++
    return true
  } catch (error) {
    const known = storeError(error)
    if (known.failure !== 'unsupported') throw targetError(known)
    throw targetError(
      new StoreError('changed', 'the folder was filled while it was removed', { cause: error }),
    )
  }
}

/** Whether nothing is left in it. */
async function emptyFolder(run: Run, folder: StorePath, may: MayRemove, counts: Counts): Promise<boolean> {
  let isEmpty = true
  for await (const batch of listTarget(run, folder)) {
    await concurrently(batch, concurrencyOf(run), async (entry) => {
      const isGone = await removeTree(run, joinPath(folder, entry.name), entry, may, counts)
      isEmpty &&= isGone
    })
    await nextTurn()
  }
  return isEmpty
}

/** The entries of a folder of the target; none when it is not there. */
async function* listTarget({ target, stop }: Run, folder: StorePath): AsyncGenerator<Entry[]> {
  try {
    yield* target.list(folder, stop.signal)
  } catch (error) {
    const known = storeError(error)
    if (known.failure !== 'gone') throw targetError(known)
  }
}
