import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PlanAction, PlanCount } from '../../../../subjects/plan-terms.ts'
import type { Entry, StoreError, StorePath } from '../../../drivers/driver.ts'
import { concurrently } from '../concurrently.ts'
import { exactMs, isKnown } from '../known.ts'
import { targetPath } from '../mappings.ts'
import { storeError, targetError } from '../outcome.ts'
import { isName, joinPath, textFromPath } from '../paths.ts'
import { isOutage } from '../retry.ts'
import { concurrencyOf, storePath, type Run } from '../run.ts'
import type { Collected } from './findings.ts'
import { mayDelete, verdictThere } from './only-target.ts'
import type { Pair } from './pairs.ts'
import { isTrash } from './trash.ts'
import { type Judge, requireRoot } from './walk.ts'
import { sideOf, type Side, type WalkFolder } from './walk-folder.ts'

/** One path and what would become of it. */
export interface PlannedPath {
  readonly action: PlanAction
  readonly path: string
  readonly reason?: string
}

/** Name of the lines with paths. */
export const plannedPaths = 'paths'

/** Paths of one action that a job tells of: a person looks at some, and counts tell of the others. */
const samplesInJob = 20

/** Says what a migration would do, by its policy, rules and mappings, and does nothing. */
export class Planner implements Judge {
  readonly #run: Run
  readonly #matchesTarget: boolean
  readonly #told = new Map<PlanAction, number>()
  readonly #grainMs: number

  /** @param matchesTarget whether what is only at the target is deleted */
  constructor(run: Run, matchesTarget: boolean) {
    this.#run = run
    this.#matchesTarget = matchesTarget
    const { source, target } = run
    this.#grainMs = Math.max(exactMs, source.features.timeGrainMs ?? 0, target.features.timeGrainMs ?? 0)
  }

  async pair(pair: Pair, path: StorePath, found: Collected): Promise<Side | undefined> {
    const { source, target, verdict } = pair
    if (target !== undefined) count(found, 'entriesAtTarget')
    if (typeof verdict === 'object') {
      this.#excluded(pair, path, verdict.excludedBy, found)
      return undefined
    }
    if (source === undefined) {
      requireRoot(path)
      return this.#onlyTarget(pair, path, found)
    }
    const refusal = this.#refusal(pair, path)
    if (refusal !== undefined) {
      count(found, 'pathsRefused')
      this.#tell('REFUSE', path, found, refusal)
      return undefined
    }
    if (source.type !== 'folder') this.#file(pair, source, path, found)
    else if (target === undefined && verdict === 'taken') {
      count(found, 'foldersToMake')
      this.#tell('COPY', path, found)
    }
    return sideOf(pair)
  }

  unreadable(path: StorePath, { message }: StoreError, found: Collected): void {
    count(found, 'unreadablePaths')
    this.#tell('UNREADABLE', path, found, message)
  }

  #file({ target }: Pair, source: Entry, path: StorePath, found: Collected): void {
    const { sizeBytes } = source
    const isHere = isKnown(this.#run.spec.policy, source, target, this.#grainMs)
    const counted = (files: PlanCount, bytes: PlanCount, action: PlanAction) => {
      count(found, files)
      count(found, bytes, sizeBytes)
      this.#tell(action, path, found)
    }
    if (target === undefined) counted('filesToCopy', 'bytesToCopy', 'COPY')
    else if (isHere === 'unread') counted('filesToCompare', 'bytesToCompare', 'COMPARE')
    else if (isHere) counted('filesToSkip', 'bytesToSkip', 'SKIP')
    else counted('filesToReplace', 'bytesToReplace', 'REPLACE')
  }

  #onlyTarget({ target, there }: Pair, path: StorePath, found: Collected): Side | undefined {
    if (target === undefined) return undefined
    if (!this.#matchesTarget || isTrash(there)) this.#keep(path, found)
    else if (target.type === 'folder') return 'target'
    else this.#delete(target, path, found)
    return undefined
  }

  /** Goes when nothing in it stays, as the match deletes. */
  async onlyTarget(
    { path, there = targetPath(this.#run, path) }: WalkFolder,
    found: Collected,
  ): Promise<void> {
    const may = mayDelete(this.#run, { path: there, origin: storePath(this.#run, path) })
    if (may === false) return
    const goes = (await this.#isEmptied(path, there, found)) && may === true
    this.#folderThere(goes, path, found)
  }

  /** Whether nothing of a folder of the target stays. Throws what is worth another try, and `gone`. */
  async #isEmptied(path: StorePath, there: StorePath, found: Collected): Promise<boolean> {
    const { target, pace, stop } = this.#run
    await pace.pay(0)
    let isEmptied = true
    for await (const batch of target.list(there, stop.signal)) {
      await concurrently(batch, concurrencyOf(this.#run), async (entry) => {
        stop.check()
        const [at, itsThere] = [joinPath(path, entry.name), joinPath(there, entry.name)]
        const goes = isName(entry.name) && (await this.#goes(entry, at, itsThere, found))
        isEmptied &&= goes
      })
      await nextTurn()
    }
    return isEmptied
  }

  async #goes(entry: Entry, path: StorePath, there: StorePath, found: Collected): Promise<boolean> {
    const at = { path: there, origin: storePath(this.#run, path) }
    const may = mayDelete(this.#run, at)
    if (may === false) return false
    const verdict = verdictThere(this.#run, at, entry)
    count(found, 'entriesAtTarget')
    if (typeof verdict === 'object') {
      this.#keep(path, found, excludedText(verdict.excludedBy))
      return false
    }
    if (entry.type !== 'folder') {
      // A mapping leads below it, where nothing can be.
      if (may === 'content') return false
      this.#delete(entry, path, found)
      return true
    }
    try {
      const goes = (await this.#isEmptied(path, there, found)) && may === true
      this.#folderThere(goes, path, found)
      return goes
    } catch (error) {
      const known = storeError(error)
      if (known.retryable || isOutage(known)) throw known
      // Somebody else has removed it meanwhile.
      if (known.failure === 'gone') return true
      this.unreadable(path, targetError(known), found)
      return false
    }
  }

  #folderThere(goes: boolean, path: StorePath, found: Collected): void {
    if (!goes) return this.#keep(path, found, 'something in it stays')
    count(found, 'foldersToDelete')
    this.#tell('DELETE', path, found)
  }

  #delete({ sizeBytes }: Entry, path: StorePath, found: Collected): void {
    count(found, 'filesToDelete')
    count(found, 'bytesToDelete', sizeBytes)
    this.#tell('DELETE', path, found)
  }

  #keep(path: StorePath, found: Collected, reason?: string): void {
    count(found, 'pathsKept')
    this.#tell('KEEP', path, found, reason)
  }

  #excluded({ source }: Pair, path: StorePath, excludedBy: string | undefined, found: Collected): void {
    if (source === undefined) return this.#keep(path, found, excludedText(excludedBy))
    if (source.type === 'folder') count(found, 'foldersExcluded')
    else {
      count(found, 'filesExcluded')
      count(found, 'bytesExcluded', source.sizeBytes)
    }
    this.#tell('EXCLUDE', path, found, excludedText(excludedBy))
  }

  #refusal({ source, target, there, error }: Pair, path: StorePath): string | undefined {
    if (error !== undefined) return error.message
    if (source === undefined) return undefined
    if (source.type === 'other') return 'it is neither a file nor a folder nor a symbolic link'
    if (target !== undefined && (source.type === 'folder') !== (target.type === 'folder'))
      return `the target has a ${target.type} there`
    // The root of a store is there, whatever its rules are.
    return path.length === 0 ? undefined : this.#run.target.refuses(there, source)
  }

  #tell(action: PlanAction, path: StorePath, found: Collected, reason?: string): void {
    const told = this.#told.get(action) ?? 0
    if (told >= samplesInJob) return
    this.#told.set(action, told + 1)
    const text = textFromPath(storePath(this.#run, path))
    const planned: PlannedPath = { action, path: text, ...(reason === undefined ? {} : { reason }) }
    found.line(plannedPaths, `${JSON.stringify(planned)}\n`)
  }
}

const excludedText = (excludedBy: string | undefined): string =>
  excludedBy === undefined ? 'no inclusion matches it' : `excluded by ${excludedBy}`

const count = (found: Collected, name: PlanCount, more = 1): void => found.count(name, more)
