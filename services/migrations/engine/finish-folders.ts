import { StoreError, type StorePath } from '../../drivers/driver.ts'
import { nameOf, parentOf } from '../../drivers/local-root.ts'
import { ChangedNames } from './changed-folders.ts'
import { concurrently } from './concurrently.ts'
import type { ItemResult } from './counts.ts'
import type { Folders } from './items.ts'
import { targetPath } from './mappings.ts'
import { isDenied } from './match-folder.ts'
import { carried, countLosses, readOptions } from './metadata.ts'
import { Outcome, storeError, targetError } from './outcome.ts'
import { isWorthRetry } from './retry.ts'
import { concurrencyOf, storePath, type Run } from './run.ts'
import { foldersOf, groupsOf, type RegionFolder } from './scan.ts'

/**
 * Gives folders of the target the attributes that those of the source have now. Each is there with all that is in it: what
 * does not work in the end is no failure, but counted as a time that was not kept. In a live migration, what the source
 * denies us at the moment is looked at again.
 */
export async function finishFolders(run: Run, item: Folders): Promise<ItemResult> {
  const outcome = new Outcome(item.attempt)
  const again: RegionFolder[] = []
  const denied = new ChangedNames()
  await concurrently(foldersOf(item), concurrencyOf(run), async (folder) => {
    run.stop.check()
    const path = storePath(run, folder.path)
    try {
      await finish(run, path, outcome)
    } catch (error) {
      run.stop.check()
      const known = storeError(error)
      if (isDenied(run, known) && folder.path.length > 0)
        denied.add(parentOf(folder.path), nameOf(folder.path))
      else if (!isWorthRetry(known, item.attempt)) outcome.counts.timesNotKept++
      else if (outcome.failed(path, known)) again.push(folder)
    }
  })
  const result = outcome.result(again.length === 0 ? undefined : { ...item, ...groupsOf(item, again) })
  return run.spec.live === undefined ? result : { ...result, again: denied.items() }
}

async function finish(run: Run, path: StorePath, outcome: Outcome): Promise<void> {
  const { source, target, spec } = run
  const attributes = await source.attributesOf(path, readOptions(spec))
  if (attributes === undefined) return
  try {
    countLosses(outcome.counts, await target.setAttributes(targetPath(run, path), carried(spec, attributes)))
  } catch (error) {
    // Somebody removed it meanwhile: nothing is left to be finished.
    if (error instanceof StoreError && error.failure === 'gone') return
    throw targetError(error)
  }
}
