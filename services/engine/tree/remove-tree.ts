import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { StoreError, type Entry, type Page, type StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { isOwn } from './live.ts'
import { takenAt, targetPath } from '../run/mappings.ts'
import { storeError, targetError } from '../../drivers/contract/store-error.ts'
import { isName, joinPath } from '../items/paths.ts'
import { RemovalBudgetView } from '../run/removal-budget.ts'
import { atTarget, concurrencyOf, type Run } from '../run/run.ts'
import { intoTrash } from './trash.ts'

/** Whether an entry of a store may go; `content`: not the folder itself, but what in it may. */
export type Removable = boolean | 'content'

export type MayRemove = (at: Removed, entry: Entry) => Removable | Promise<Removable>

/** All but what comes from elsewhere in the source, by a path mapping, and the folders above that. */
export const mayRemoveAll =
  (run: Run) =>
  ({ path, origin }: Removed): Removable => {
    const taken = takenAt(run, path, origin)
    return taken === 'below' ? 'content' : taken === undefined
  }

/** What came to the target after the migration began; a folder that the store only knows by what is in it is decided there. */
export const mayRemoveOwn =
  (run: Run): MayRemove =>
  async (at, entry) => {
    const may = mayRemoveAll(run)(at)
    if (may === false) return false
    if (entry.createdMs !== undefined) return isOwn(run, entry) && may
    if (entry.type === 'folder') return may
    // A listing tells little about what is neither file nor folder.
    const known = await atTarget(run.target.stat(at.path))
    // What somebody else has removed meanwhile is in nobody's way.
    return (known === undefined || isOwn(run, known)) && may
  }

/** Where something is that is removed. */
export interface Removed {
  /** In the store that it goes from. */
  readonly path: StorePath
  /** Where it would be in the source, which rules are for. */
  readonly origin: StorePath
}

/** What comes from a path of the source. */
export const comingFrom = (run: Run, origin: StorePath): Removed => ({
  path: targetPath(run, origin),
  origin,
})

/** How a tree is removed. */
export interface Removal {
  /** The store that it goes from. */
  readonly side: 'source' | 'target'
  readonly mayRemove: MayRemove
  /** Takes something away as it is, a folder with all that is in it; false for what is to be removed entry by entry. */
  readonly takeAway?: (path: StorePath, entry: Entry) => Promise<boolean>
  /** Called for each entry that is gone because of this. */
  readonly removed: (entry: Entry, path: StorePath) => void
  /**
   * Each entry is charged before it goes, but what `takeAway` takes with others in it: where the budget is for that too, it
   * is to take none.
   */
  readonly budget?: Pick<RemovalBudgetView, 'charge' | 'isUnsettled' | 'settle'>
  /** Called for each entry that waits for a larger budget. */
  readonly held?: (entry: Entry, at: Removed) => void
}

/** How a migration removes at its target: within its budget, and into its trash, as far as it has them. */
export function removalAt({ spec: { live }, target }: Run): Pick<Removal, 'side' | 'budget' | 'takeAway'> {
  const { budget, trash } = live ?? {}
  return {
    side: 'target',
    ...(budget === undefined ? {} : { budget: new RemovalBudgetView(budget) }),
    // One by one, as each is charged, and what is not the migration's own stays.
    ...(trash === undefined ? {} : { takeAway: intoTrash(target, trash, { goesWhole: false }) }),
  }
}

/**
 * What is left of a tree: `held`, only what waits for a larger budget, and the folders that it is in; `kept`, something
 * that is not to go.
 */
export type Left = 'nothing' | 'held' | 'kept'

/** What a removal needs of a job. */
export type RemovalRun = Pick<Run, 'source' | 'target' | 'rules' | 'stop'>

/**
 * Removes what stands at a path of a store, a folder with all that is in it. What may not go, or is left out by a rule,
 * stays, and so do the folders above it. Throws StoreErrors: `changed` when somebody fills the folder meanwhile.
 */
export async function removeTree(
  run: RemovalRun,
  removal: Removal,
  at: Removed,
  entry: Entry,
): Promise<Left> {
  const { mayRemove, takeAway, removed } = removal
  const { path } = at
  run.stop.check()
  const may = !isLeftOut(run, at, entry) && (await mayRemove(at, entry))
  if (may === false) return 'kept'
  const isFolder = entry.type === 'folder'
  if (may === 'content') {
    if (isFolder) await emptyFolder(run, removal, at)
    return 'kept'
  }
  if (isFolder) {
    if (await takeAway?.(path, entry)) {
      removed(entry, path)
      return 'nothing'
    }
    const left = await emptyFolder(run, removal, at)
    if (left === 'held') removal.held?.(entry, at)
    if (left !== 'nothing') return left
  }
  return removeEntry(run, removal, at, entry)
}

/** Removes a file or an empty folder. */
async function removeEntry(run: RemovalRun, removal: Removal, at: Removed, entry: Entry): Promise<Left> {
  const { side, takeAway, removed, budget } = removal
  const { path } = at
  const isFolder = entry.type === 'folder'
  if (budget !== undefined && !(await isCharged(run, budget))) {
    // What two came upon at once, one of them has removed.
    if ((await run[side].stat(path)) === undefined) return 'nothing'
    removal.held?.(entry, at)
    return 'held'
  }
  let isRemoved = false
  try {
    isRemoved = (!isFolder && (await takeAway?.(path, entry)) === true) || (await run[side].remove(path))
    if (isRemoved) removed(entry, path)
    return 'nothing'
  } catch (error) {
    const known = storeError(error)
    if (!isFolder || known.failure !== 'unsupported') throw errorAt(side, known)
    const filled = new StoreError('changed', 'the folder was filled while it was removed', { cause: error })
    throw errorAt(side, filled)
  } finally {
    budget?.settle(isRemoved)
  }
}

/** Looks so often, and so long, whether what others have charged was removed: a store answers in that time. */
const settling = { stepMs: 5, longestMs: 1_000 } as const

/** Whether the budget allows it, also when what others have charged turns out to be gone already. */
async function isCharged(
  { stop }: Pick<Run, 'stop'>,
  budget: NonNullable<Removal['budget']>,
): Promise<boolean> {
  const endsMs = performance.now() + settling.longestMs
  while (!budget.charge()) {
    if (!budget.isUnsettled || performance.now() > endsMs) return false
    await delay(settling.stepMs)
    stop.check()
  }
  return true
}

function isLeftOut({ rules }: Pick<Run, 'rules'>, { origin }: Removed, entry: Entry): boolean {
  const verdict = rules?.inFolder(parentOf(origin)).verdict({ ...entry, name: nameOf(origin) })
  return typeof verdict === 'object'
}

/** What is left in it. */
async function emptyFolder(run: RemovalRun, removal: Removal, { path, origin }: Removed): Promise<Left> {
  let left: Left = 'nothing'
  for await (const { entries } of listThere(run, removal.side, path)) {
    await concurrently(entries, concurrencyOf(run), async (entry) => {
      const { name } = entry
      const at = () => ({ path: joinPath(path, name), origin: joinPath(origin, name) })
      const its = isName(name) ? await removeTree(run, removal, at(), entry) : 'kept'
      if (its === 'kept' || left === 'nothing') left = its
    })
    await nextTurn()
  }
  return left
}

/** The pages of a folder; none when it is not there. */
export async function* listThere(
  run: Pick<Run, 'source' | 'target' | 'stop'>,
  side: Removal['side'],
  folder: StorePath,
): AsyncGenerator<Page> {
  try {
    yield* run[side].list(folder, run.stop.signal)
  } catch (error) {
    const known = storeError(error)
    if (known.failure !== 'gone') throw errorAt(side, known)
  }
}

/** The target's errors say that they are the target's. */
const errorAt = (side: Removal['side'], error: StoreError): StoreError =>
  side === 'target' && !error.isTargets ? targetError(error) : error

/** What goes wrong with a removal at the target, marked as such. */
export async function asRemoval<T>(removal: Promise<T>): Promise<T> {
  try {
    return await removal
  } catch (error) {
    const { failure, message, retryAfterMs, side } = storeError(error)
    const options = { cause: error, side, isRemoval: true }
    throw new StoreError(failure, message, {
      ...options,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    })
  }
}
