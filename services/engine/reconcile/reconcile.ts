import { setImmediate as nextTurn } from 'node:timers/promises'
import { StoreError, type Entry } from '../../drivers/contract/driver.ts'
import { isTemporaryName } from '../../drivers/paths/temporary-names.ts'
import { lookBeside, type Beside } from '../tree/beside.ts'
import type { Children } from '../items/children.ts'
import type { Place } from './compared.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { addResult, type ItemResult } from '../run/counts.ts'
import { isFolder } from '../tree/folders.ts'
import { type ChangedFolder, encodeItem, type Reconcile } from '../items/items.ts'
import { storeError } from '../../drivers/contract/store-error.ts'
import { isName } from '../items/paths.ts'
import { Applying } from './apply.ts'
import { concurrencyOf, requireStore, storePath, type Run } from '../run/run.ts'
import { Trees } from './trees.ts'

/** After so long a comparison lets the thread's other job have a turn. */
const turnMs = 10

/**
 * Compares folders of source and target, and makes the target as the source is: copies what differs, removes what is gone.
 * From a source that is watched, it gives back what changed meanwhile, so that nothing is lost whatever else writes to the
 * target at the same time: after each write the source is looked at again.
 */
export async function reconcile(run: Run, item: Reconcile, children: Children): Promise<ItemResult> {
  const trees = new Trees(item, children)
  const result = await compareFolders(run, item, children, trees)
  const compared: Uint8Array[] = []
  for (let groups = trees.next(); groups.length > 0; groups = trees.next()) {
    const below = { kind: 'reconcile', attempt: 1, notBeforeMs: 0, groups } as const
    addResult(result, await compareFolders(run, below, children, trees))
    compared.push(encodeItem(below))
  }
  await children.sendAll()
  return compared.length === 0 ? result : { ...result, compared }
}

async function compareFolders(
  run: Run,
  { attempt, groups }: Pick<Reconcile, 'attempt' | 'groups'>,
  children: Children,
  trees: Trees,
): Promise<ItemResult> {
  const applying = new Applying(run, attempt, children, trees)
  await concurrently(groups, concurrencyOf(run), async (group) => {
    try {
      await compareFolder(run, group, applying, trees)
    } catch (error) {
      run.stop.check()
      applying.failedFolder(group, storeError(error))
    }
  })
  return applying.finish()
}

async function compareFolder(
  run: Run,
  group: ChangedFolder,
  applying: Applying,
  trees: Trees,
): Promise<void> {
  try {
    await reconcileNames(run, group, applying)
    if (group.scope !== 'names') await reconcileAll(run, group, applying, trees)
  } catch (error) {
    run.stop.check()
    const known = storeError(error)
    if (known.failure !== 'gone') throw known
    if (group.folder.length === 0) throw rootIsGone(known)
    await requireStore(run)
    // A folder that is a thing of the store is removed, or replaced, when the one above it is compared.
    if (run.source.capabilities.folders === 'implied') await reconcileEmptied(run, group, applying)
  }
}

/** A volume that is not mounted must not empty the target: the root's absence is no deletion. */
const rootIsGone = (cause: StoreError) =>
  new StoreError('unreachable', 'the folder of the migration is not there', { cause, side: 'source' })

/** Compares the names that somebody was told of. */
async function reconcileNames(run: Run, group: ChangedFolder, applying: Applying): Promise<void> {
  const path = storePath(run, group.folder)
  if (group.names.length + group.trees.length === 0) {
    // It was written into, and its time could not be given back to it.
    if (group.scope === 'names') applying.toMatch(group.folder)
    return
  }
  const there = await run.source.stat(path, run.stop.signal)
  // That a name is not there says something only while its folder is.
  if (there === undefined || (group.folder.length > 0 && !isFolder(run, there)))
    throw new StoreError('gone', 'the folder is no longer there', { side: 'source' })
  const place = await applying.place(group.folder, path)
  await concurrently(toldOf(group), concurrencyOf(run), async ({ name, isTree }) => {
    if (place === undefined) await applying.toldLeftOut(group.folder, path, name, isTree)
    else await applying.told(place, name, isTree)
  })
}

const toldOf = ({ names, trees }: ChangedFolder) => [
  ...names.map((name) => ({ name, isTree: false })),
  ...trees.map((name) => ({ name, isTree: true })),
]

/**
 * Removes at the target what has gone from a folder that went with the last of it. It may be back, with other things in it,
 * before the one above it is compared, and nobody would be told of these again.
 */
async function reconcileEmptied(run: Run, group: ChangedFolder, applying: Applying): Promise<void> {
  const place = await applying.emptied(group.folder)
  if (place === undefined) return
  await concurrently(toldOf(group), concurrencyOf(run), ({ name, isTree }) =>
    applying.told(place, name, isTree),
  )
  if (group.scope === 'names') return
  using beside = await lookBeside(run, place.path)
  if (beside !== undefined) await removeRest(place, beside, applying, async () => run.stop.check())
}

/** Compares all entries of a folder. */
async function reconcileAll(run: Run, group: ChangedFolder, applying: Applying, trees: Trees): Promise<void> {
  const path = storePath(run, group.folder)
  const place = await applying.place(group.folder, path)
  if (place === undefined) return
  const isReplaced = group.scope === 'content'
  const isTree = group.scope === 'tree' || isReplaced
  const pages = run.source.list(path, run.stop.signal)[Symbol.asyncIterator]()
  let turnEndsMs = performance.now() + turnMs
  const turn = async () => {
    run.stop.check()
    if (performance.now() < turnEndsMs) return
    await nextTurn()
    turnEndsMs = performance.now() + turnMs
  }
  try {
    // The first page proves that the folder is there, before it is made at the target.
    let page = await pages.next()
    const isEmpty = page.done === true
    using beside = await lookBeside(run, path)
    if (beside === undefined && place.isIncluded) await place.make()
    for (; page.done !== true; page = await pages.next()) {
      trees.count(page.value.entries.length)
      const entries = await applying.resolved(place, page.value.entries)
      const there = await beside?.find(entries)
      await concurrently(entries, concurrencyOf(run), async (entry) => {
        await applying.found(place, entry, there?.get(entry), { isTree, isReplaced })
        // Patterns of people may take their time.
        if (run.rules !== undefined) await turn()
      })
      await turn()
    }
    if (isEmpty && group.folder.length === 0) return await applying.refuseToEmpty(place, beside)
    await applying.removeMapped(place)
    if (beside !== undefined) await removeRest(place, beside, applying, turn)
  } finally {
    await pages.return?.()
  }
}

async function removeRest(
  place: Place,
  beside: Beside,
  applying: Applying,
  turn: () => Promise<void>,
): Promise<void> {
  const mayGo = ({ name }: Entry) => isName(name) && !isTemporaryName(name)
  for await (const batch of beside.rest()) {
    await applying.areOnly(place, batch.filter(mayGo))
    await turn()
  }
}
