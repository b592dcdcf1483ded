import { StoreError, type Entry, type StorePath } from '../../drivers/contract/driver.ts'
import { mayReplace } from './in-the-way.ts'
import { isWatched } from './live.ts'
import { comingFrom } from './remove-tree.ts'
import { storeError } from '../../drivers/contract/store-error.ts'
import type { Run } from '../run/run.ts'

/**
 * The error of a copy from a source whose changes are told: `gone` or `changed` where it failed because the source was
 * changed meanwhile (it is not there any more, another type by now, or was a folder in between), else itself.
 * @param look says what is at the source after the failure
 */
export async function overtaken(
  run: Run,
  path: StorePath,
  error: unknown,
  look: () => Entry | undefined | Promise<Entry | undefined>,
): Promise<StoreError> {
  const known = storeError(error)
  try {
    const now = await look()
    if (now === undefined)
      return new StoreError('gone', 'it is no longer there', { cause: error, side: 'source' })
    if (known.failure !== 'unsupported' || now.type === 'other') return known
    const isOther =
      now.type === 'folder' ||
      ((await hasOwnFolder(run, path)) ?? (now.type === 'symlink' && run.target.capabilities.symlinks))
    return isOther
      ? new StoreError('changed', 'it became another type', { cause: error, side: 'source' })
      : known
  } catch {
    // What cannot be looked at failed for its own reason.
    run.stop.check()
    return known
  }
}

/**
 * Whether a folder that the target has there came by the migration, so that the source had one too: any other stays, and is
 * a failure. Undefined without a folder.
 */
async function hasOwnFolder(run: Run, path: StorePath): Promise<boolean | undefined> {
  const at = comingFrom(run, path)
  const there = await run.target.stat(at.path, run.stop.signal)
  if (there?.type !== 'folder') return undefined
  try {
    return (await mayReplace(run)(at, there)) === true
  } catch {
    // A folder that cannot be looked through is in the way as it is.
    run.stop.check()
    return false
  }
}

/** The result of a piece of work on a file of the source. Throws StoreErrors, as `overtaken` has them. */
export async function unlessOvertaken<T>(run: Run, path: StorePath, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    run.stop.check()
    throw isWatched(run)
      ? await overtaken(run, path, error, () => run.source.stat(path, run.stop.signal))
      : storeError(error)
  }
}
