import { type Driver, type Entry, storeError, type StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { linksOf } from './metadata.ts'
import { requireSource, type Run } from './run.ts'

/** A name of a folder of the source, and what was found under it; undefined for nothing. */
export interface FoundName {
  readonly name: Buffer
  readonly type: Entry['type'] | undefined
}

/**
 * Looks once more at what is missing at the source, or is something else there, right before something is removed at the
 * target because of that. A volume may have gone after the last look and be back: what was found meanwhile was found below
 * its mount point. The folder is held open during the look, so that it is one of the source, whatever is unmounted then.
 * @param folder in the source
 * @returns those that are still what they were found to be. Throws StoreErrors, `unreachable` when the source is another one
 */
export async function confirmed<N extends FoundName>(
  run: Run,
  folder: StorePath,
  found: readonly N[],
): Promise<readonly N[]> {
  if (run.source.hold === undefined) {
    await requireSource(run)
    return found
  }
  const names = found.map(({ name }) => name)
  const types = await typesNow(run, run.source, folder, names)
  if (types === undefined) return []
  const follows = linksOf(run.spec) === 'follow'
  return found.filter(({ type }, index) => types[index] === type || (follows && types[index] === 'symlink'))
}

/** What stands under names of a folder; undefined where the folder is being replaced at this moment. Throws StoreErrors. */
async function typesNow(
  run: Run,
  source: Driver,
  folder: StorePath,
  names: readonly Buffer[],
): Promise<readonly (Entry['type'] | undefined)[] | undefined> {
  try {
    using held = source.hold?.(folder)
    await requireSource(run)
    return held?.isThere() === true ? names.map((name) => held.typeOf(name)) : undefined
  } catch (error) {
    if (storeError(error).failure !== 'gone') throw error
  }
  // It is no folder any more, so nothing is below it, if the folder that it was in says the same.
  if (folder.length === 0) return undefined
  const above = await typesNow(run, source, parentOf(folder), [nameOf(folder)])
  // Where a link leads that is followed may be there again.
  const mayBeThere = above?.[0] === 'folder' || (above?.[0] === 'symlink' && linksOf(run.spec) === 'follow')
  return above === undefined || mayBeThere ? undefined : names.map(() => undefined)
}
