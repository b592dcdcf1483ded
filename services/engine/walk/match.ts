import type { Entry, StoreError, StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { type Failure, noCounts } from '../run/counts.ts'
import { matchFolder } from '../tree/match-folder.ts'
import { textFromPath } from '../items/paths.ts'
import { mayDelete, type Removed, removeTree } from '../tree/remove-tree.ts'
import { saidOn } from '../run/outcome.ts'
import { type RemovalBudget, RemovalBudgetView } from '../run/removal-budget.ts'
import { storePath, type Run } from '../run/run.ts'
import { confirmed } from '../run/second-look.ts'
import type { Collected } from './findings.ts'
import type { Pair } from './pairs.ts'
import { intoTrash, isTrash } from '../tree/trash.ts'
import { type Judge, requireRoot } from './walk.ts'
import { sideOf, type Side } from './walk-folder.ts'

/** How the target is matched. Plain data. */
export interface Match {
  /** Folder in the trash that takes what is deleted; without one it is gone. */
  readonly trash?: string
  /** What may be deleted; a folder that goes into the trash as a whole is none of it. Without one anything may. */
  readonly budget?: RemovalBudget
}

/** Name of the lines with what could not be deleted, each a `Failure`. */
export const undeletedPaths = 'undeleted'

export type MatchCount = 'filesDeleted' | 'bytesDeleted' | 'foldersDeleted' | 'deletionsHeld'

/**
 * Deletes what is only at the target. Nothing that a rule leaves out goes, nothing that comes from elsewhere in the source,
 * nothing that the source has by now, and no folder that one of these is in.
 */
export class Matcher implements Judge {
  readonly acts = true
  readonly #run: Run
  readonly #match: Match

  constructor(run: Run, match: Match) {
    this.#run = run
    this.#match = match
  }

  async pair(pair: Pair, path: StorePath, found: Collected): Promise<Side | undefined> {
    const { source, target, there, verdict } = pair
    if (typeof verdict === 'object') return undefined
    if (source !== undefined) return sideOf(pair) === 'both' ? 'both' : undefined
    requireRoot(path)
    // It may have come to the source since that was listed.
    if (
      target !== undefined &&
      !isTrash(there) &&
      (await this.#run.source.stat(this.#at(path), this.#run.stop.signal)) === undefined
    ) {
      const folder = parentOf(this.#at(path))
      const isGone = await confirmed(this.#run, folder, [{ name: nameOf(path), type: undefined }])
      if (isGone.length === 0) return undefined
      await this.#remove(target, path, there, found)
      // That has moved the time of the folder it was in.
      await matchFolder(this.#run, folder, noCounts())
    }
    return undefined
  }

  unreadable(path: StorePath, error: StoreError, found: Collected): void {
    const undeleted: Failure = {
      path: textFromPath(this.#at(path)),
      failure: error.failure,
      message: `${saidOn(error)}; not deleted`,
      attempts: 1,
      isRemoval: true,
    }
    found.line(undeletedPaths, `${JSON.stringify(undeleted)}\n`)
  }

  /** What was removed moved its time, be it by a process that died before it got here. */
  async left(path: StorePath): Promise<void> {
    // What the store does not keep was counted when the folder was finished.
    await matchFolder(this.#run, this.#at(path), noCounts())
  }

  #at(path: StorePath): StorePath {
    return storePath(this.#run, path)
  }

  async #remove(entry: Entry, path: StorePath, there: StorePath, found: Collected): Promise<void> {
    const { rules, spec, target } = this.#run
    const { trash, budget } = this.#match
    // A folder goes into the trash as it is when nothing in it can be meant to stay.
    const goesWhole = (rules ?? spec.mappings) === undefined
    const mayRemove = (at: Removed) => mayDelete(this.#run, at)
    const removed = (one: Entry) => countDeleted(found, one)
    const limited = budget && {
      budget: new RemovalBudgetView(budget),
      held: () => found.count('deletionsHeld' satisfies MatchCount),
    }
    const keeping = trash === undefined ? {} : { takeAway: intoTrash(target, trash, { goesWhole }) }
    const removal = { side: 'target', mayRemove, removed, ...keeping, ...limited } as const
    await removeTree(this.#run, removal, { path: there, origin: this.#at(path) }, entry)
  }
}

function countDeleted(found: Collected, entry: Entry): void {
  const count = (name: MatchCount, more = 1) => found.count(name, more)
  if (entry.type === 'folder') return count('foldersDeleted')
  count('filesDeleted')
  count('bytesDeleted', entry.sizeBytes)
}
