import { setImmediate as nextTurn } from 'node:timers/promises'
import { StoreError, type Entry, type StorePath } from '../../../drivers/driver.ts'
import { isTemporaryName } from '../../../drivers/local-temporary.ts'
import { concurrently } from '../concurrently.ts'
import { noCounts } from '../counts.ts'
import { isTaken } from '../mappings.ts'
import { matchFolder } from '../match-folder.ts'
import { storeError, targetError } from '../outcome.ts'
import { isName, joinPath, textFromPath } from '../paths.ts'
import { atTarget, concurrencyOf, storePath, type Run } from '../run.ts'
import type { Collected } from './findings.ts'
import type { Pair } from './pairs.ts'
import { isTrash, moveToTrash } from './trash.ts'
import { type Judge, requireRoot } from './walk.ts'
import { sideOf, type Side } from './walk-folder.ts'

/** How the target is matched. Plain data. */
export interface Match {
  /** Folder in the trash that takes what is deleted; without one it is gone. */
  readonly trash?: string
}

/** Something that could not be deleted. */
export interface UndeletedPath {
  readonly path: string
  readonly message: string
}
/** Name of the lines with those. */
export const undeletedPaths = 'undeleted'

export type MatchCount = 'filesDeleted' | 'bytesDeleted' | 'foldersDeleted'

/**
 * Deletes what is only at the target. Nothing that a rule leaves out goes, nothing that comes from elsewhere in the source,
 * nothing that the source has by now, and no folder that one of these is in.
 */
export class Matcher implements Judge {
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
      (await this.#run.source.stat(this.#at(path))) === undefined
    )
      await this.#remove(target, path, there, found)
    return undefined
  }

  unreadable(path: StorePath, reason: string, found: Collected): void {
    const undeleted: UndeletedPath = { path: textFromPath(this.#at(path)), message: reason }
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

  /** @returns whether nothing is left */
  async #remove(entry: Entry, path: StorePath, there: StorePath, found: Collected): Promise<boolean> {
    const { target, stop, rules, spec } = this.#run
    stop.check()
    const { trash } = this.#match
    // A folder goes into the trash as it is when nothing in it can be meant to stay.
    if (trash !== undefined && (entry.type !== 'folder' || (rules ?? spec.mappings) === undefined)) {
      await atTarget(moveToTrash(target, there, trash))
      countDeleted(found, entry)
      return true
    }
    if (entry.type === 'folder' && !(await this.#empty(path, there, found))) return false
    try {
      if (await target.remove(there)) countDeleted(found, entry)
      return true
    } catch (error) {
      const { failure } = storeError(error)
      if (entry.type !== 'folder' || failure !== 'unsupported') throw targetError(error)
      throw targetError(
        new StoreError('changed', 'the folder was filled while it was deleted', { cause: error }),
      )
    }
  }

  /** Whether nothing is left in a folder. */
  async #empty(path: StorePath, there: StorePath, found: Collected): Promise<boolean> {
    const folderRules = this.#run.rules?.inFolder(this.#at(path))
    let isEmpty = true
    for await (const batch of this.#list(there)) {
      await concurrently(batch, concurrencyOf(this.#run), async (entry) => {
        const inside = joinPath(there, entry.name)
        const mayGo =
          isName(entry.name) &&
          !isTemporaryName(entry.name) &&
          !isTaken(this.#run, inside) &&
          typeof (folderRules?.verdict(entry) ?? 'taken') !== 'object'
        const isGone = mayGo && (await this.#remove(entry, joinPath(path, entry.name), inside, found))
        if (!isGone) isEmpty = false
      })
      await nextTurn()
    }
    return isEmpty
  }

  async *#list(there: StorePath): AsyncGenerator<Entry[]> {
    try {
      yield* this.#run.target.list(there, this.#run.stop.signal)
    } catch (error) {
      if (storeError(error).failure !== 'gone') throw targetError(error)
    }
  }
}

function countDeleted(found: Collected, entry: Entry): void {
  const count = (name: MatchCount, more = 1) => found.count(name, more)
  if (entry.type === 'folder') return count('foldersDeleted')
  count('filesDeleted')
  count('bytesDeleted', entry.sizeBytes)
}
