import { setImmediate as nextTurn } from 'node:timers/promises'
import { StoreError, type StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { ChangedNames } from '../items/changed-folders.ts'
import type { Children } from '../items/children.ts'
import { noCounts, type ItemResult } from '../run/counts.ts'
import { Descent, groupsOf, type RegionFolder } from '../items/descent.ts'
import type { Folders } from '../items/items.ts'
import { isExcluded, judgeFolder } from '../tree/judge.ts'
import { withLinks } from '../tree/links.ts'
import { targetPath } from '../run/mappings.ts'
import { isDenied } from '../tree/match-folder.ts'
import { carried, countLosses } from '../run/metadata.ts'
import { Outcome } from '../run/outcome.ts'
import { storeError, targetError } from '../../drivers/contract/store-error.ts'
import { isWorthRetry } from '../run/retry.ts'
import { atTarget, concurrencyOf, readOptionsOf, storePath, type Run } from '../run/run.ts'

/**
 * Gives folders of the target the attributes that those of the source have now, and where the item is deep those below them.
 * Each is there with all that is in it: what does not work in the end is no failure, but counted as a time that was not kept.
 * In a live migration, what the source denies us at the moment is looked at again.
 */
export async function finishFolders(run: Run, item: Folders, children: Children): Promise<ItemResult> {
  const outcome = new Outcome(item.attempt)
  const again: RegionFolder[] = []
  const denied = new ChangedNames()
  const descent = new Descent(item, (parent, name) => children.finish('trees', parent, name))
  await descent.each(concurrencyOf(run), async (folder, turn) => {
    run.stop.check()
    const path = storePath(run, folder.path)
    try {
      if (item.isDeep !== true) await finish(run, path, outcome)
      else if (await isFolderThere(run, path)) {
        await finish(run, path, outcome)
        await turn
        await findFolders(run, folder, descent)
        await children.sendFullBatch()
      }
    } catch (error) {
      await turn
      run.stop.check()
      const known = storeError(error)
      if (isDenied(run, known) && folder.path.length > 0) {
        denied.add(parentOf(folder.path), nameOf(folder.path))
        return
      }
      if (isWorthRetry(known, item.attempt) && descent.pass(folder)) return
      if (outcome.unfinished(path, known)) again.push(folder)
    }
  })
  await children.sendAll()
  const result = outcome.result(again.length === 0 ? undefined : { ...item, ...groupsOf(item, again) })
  return run.spec.live === undefined ? result : { ...result, again: denied.items() }
}

/** Whether a folder was made by the scan: nobody has noted which. */
async function isFolderThere(run: Run, path: StorePath): Promise<boolean> {
  return (await atTarget(run.target.stat(targetPath(run, path), run.stop.signal)))?.type === 'folder'
}

/** Finds the folders in one as a scan does. One that is gone has none. */
async function findFolders(run: Run, { path: folder }: RegionFolder, descent: Descent): Promise<void> {
  const path = storePath(run, folder)
  const { excludedBy, judge } = judgeFolder(run, path)
  if (excludedBy !== undefined) return
  // What becomes of links was told by the scan.
  const told = { counts: noCounts(), refused: [] }
  try {
    for await (const page of run.source.list(path, run.stop.signal)) {
      const entries = await withLinks(run, path, page.entries, told, (link) => isExcluded(judge(link)))
      descent.count(entries.length)
      for (const entry of entries) {
        if (entry.type !== 'folder') continue
        const judgement = judge(entry)
        if (judgement === 'taken' || judgement === 'walked') descent.found(folder, entry.name, entry.mode)
      }
      await nextTurn()
      run.stop.check()
    }
  } catch (error) {
    if (storeError(error).failure !== 'gone') throw error
  }
}

async function finish(run: Run, path: StorePath, outcome: Outcome): Promise<void> {
  const { source, target, spec } = run
  const attributes = await source.attributesOf(path, readOptionsOf(run))
  if (attributes === undefined) return
  try {
    countLosses(outcome.counts, await target.setAttributes(targetPath(run, path), carried(spec, attributes)))
  } catch (error) {
    // Somebody removed it meanwhile: nothing is left to be finished.
    if (error instanceof StoreError && error.failure === 'gone') return
    throw targetError(error)
  }
}
