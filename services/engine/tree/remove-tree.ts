import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { StoreError, type Entry, type Page, type StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { isTemporaryName } from '../../drivers/paths/temporary-names.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { isOwn } from './live.ts'
import { takenAt, targetPath } from '../run/mappings.ts'
import { storeError, targetError } from '../../drivers/contract/store-error.ts'
import { isName, joinPath } from '../items/paths.ts'
import type { Verdict } from '../run/rules.ts'
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

/**
 * What came to the target after the migration began; a folder that the store only knows by what is in it is decided there.
 * What the migration has under construction came so too: a writer that was killed may not have noted when it made it.
 */
export const mayRemoveOwn =
  (run: Run): MayRemove =>
  async (at, entry) => {
    const may = mayRemoveAll(run)(at)
    if (may === false) return false
    if (isUnderConstruction(run, at.path)) return may
    if (entry.createdMs !== undefined) return isOwn(run, entry) && may
    if (entry.type === 'folder' && run.target.capabilities.folders === 'implied') return may
    // A listing tells little about what is neither file nor folder.
    const known = await atTarget(run.target.stat(at.path, run.stop.signal))
    // What somebody else has removed meanwhile is in nobody's way.
    return (known === undefined || isOwn(run, known)) && may
  }

/** Whether this migration makes it: a file, or a folder of parts and what is in it. */
const isUnderConstruction = ({ spec: { id } }: Run, path: StorePath): boolean =>
  isTemporaryName(nameOf(path), id) || isTemporaryName(nameOf(parentOf(path)), id)

/** Where something is that is removed. */
export interface Removed {
  /** In the store that it goes from. */
  readonly path: StorePath
  /** Where it would be in the source, which rules are for. */
  readonly origin: StorePath
}

/** What may be deleted by paths: no file under construction, and nothing that comes from elsewhere in the source. */
export const mayDelete = (run: Run, at: Removed): Removable =>
  !isTemporaryName(nameOf(at.path)) && mayRemoveAll(run)(at)

/** What the rules say of an entry of the target that the source has not, as for its removal. */
export const verdictThere = ({ rules }: Pick<Run, 'rules'>, { origin }: Removed, entry: Entry): Verdict =>
  rules?.inFolder(parentOf(origin)).verdict({ ...entry, name: nameOf(origin) }) ?? 'taken'

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
  /** Called for each entry that waits for a larger budget; in a trial for each that would go. */
  readonly held?: (entry: Entry, at: Removed) => void
  /** Nothing goes, and nothing is asked but listings. */
  readonly trial?: RemovalTrial
}

/** Who is told what would stay. */
export interface RemovalTrial {
  /** What a rule leaves out, with the rule, and each folder that something stays in. */
  readonly stays?: (at: Removed, rule?: Extract<Verdict, object>) => void
  /** What could not be looked through stays. Throws what is worth another try; without this, all of it is thrown. */
  readonly unreadable?: (at: Removed, error: StoreError) => void
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
export type RemovalRun = Pick<Run, 'source' | 'target' | 'rules' | 'stop'> & Partial<Pick<Run, 'pace'>>

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
  const { mayRemove, takeAway, removed, trial } = removal
  const { path } = at
  run.stop.check()
  const verdict = verdictThere(run, at, entry)
  if (typeof verdict === 'object') {
    trial?.stays?.(at, verdict)
    return 'kept'
  }
  const may = await mayRemove(at, entry)
  if (may === false) return 'kept'
  const isFolder = entry.type === 'folder'
  if (may === 'content') {
    if (isFolder) {
      await emptyFolder(run, removal, at)
      trial?.stays?.(at)
    }
    return 'kept'
  }
  if (isFolder) {
    if (trial === undefined && (await takeAway?.(path, entry))) {
      removed(entry, path)
      return 'nothing'
    }
    const left = await emptyFolder(run, removal, at)
    if (left === 'held') removal.held?.(entry, at)
    else if (left === 'kept') trial?.stays?.(at)
    if (left !== 'nothing') return left
  }
  return removeEntry(run, removal, at, entry)
}

/** Removes a file or an empty folder. */
async function removeEntry(run: RemovalRun, removal: Removal, at: Removed, entry: Entry): Promise<Left> {
  const { side, takeAway, removed, budget } = removal
  const { path } = at
  const isFolder = entry.type === 'folder'
  if (removal.trial !== undefined) {
    removal.held?.(entry, at)
    return 'held'
  }
  if (budget !== undefined && !(await isCharged(run, budget))) {
    // What two came upon at once, one of them has removed.
    if ((await run[side].stat(path, run.stop.signal)) === undefined) return 'nothing'
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

/** Removes what is in a folder, as `removeTree` does. Returns what is left in it. */
export async function emptyFolder(
  run: RemovalRun,
  removal: Removal,
  { path, origin }: Removed,
): Promise<Left> {
  const { trial } = removal
  if (trial !== undefined) await run.pace?.pay(0)
  let left: Left = 'nothing'
  for await (const { entries } of listThere(run, removal.side, path)) {
    await concurrently(entries, concurrencyOf(run), async (entry) => {
      const { name } = entry
      const at = () => ({ path: joinPath(path, name), origin: joinPath(origin, name) })
      let its: Left = 'kept'
      try {
        if (isName(name)) its = await removeTree(run, removal, at(), entry)
      } catch (error) {
        run.stop.check()
        if (trial?.unreadable === undefined) throw error
        trial.unreadable(at(), storeError(error))
      }
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
