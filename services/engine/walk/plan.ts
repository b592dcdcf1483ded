import type { PlanAction, PlanCount } from '../../../subjects/migrations/model/plan-terms.ts'
import type { Entry, StoreError, StorePath } from '../../drivers/contract/driver.ts'
import { isKnown } from '../compare/entries.ts'
import { isInTheWay } from '../tree/in-the-way.ts'
import { targetPath } from '../run/mappings.ts'
import { relativePath, textFromPath } from '../items/paths.ts'
import { isOutage } from '../run/retry.ts'
import { atTarget, grainMsOf, storePath, type Run } from '../run/run.ts'
import { Comparing, linkMissing, type Missing, sameBy, type Witness } from './comparing.ts'
import type { Collected } from './findings.ts'
import type { Pair } from './pairs.ts'
import type { PlanBy } from './plan-by.ts'
import { emptyFolder, mayDelete, type RemovalTrial, type Removed } from '../tree/remove-tree.ts'
import { skippedLacks } from '../tree/live.ts'
import { isKnownLink } from '../tree/same-content.ts'
import { isTrash } from '../tree/trash.ts'
import { type Judge, requireRoot } from './walk.ts'
import { sideOf, type Side, type WalkFolder } from './walk-folder.ts'

/** One path and what would become of it. */
export interface PlannedPath {
  readonly action: PlanAction
  readonly path: string
  readonly reason?: string
}

/** As a job tells it: folders come before what is in them, and must not be all that is told. */
export interface ToldPath extends PlannedPath {
  readonly of: PathKind
}
export type PathKind = 'file' | 'folder'

/** Names of the counts of what each exclusion leaves out. */
const byRule = /^excluded (?<of>file|folder) (?<id>.*)$/s

const countOfRule = (of: PathKind, id: string): string => `excluded ${of} ${id}`

/** What a count counts that is of one exclusion alone. */
export function ruleOfCount(name: string): { readonly of: PathKind; readonly id: string } | undefined {
  const { of, id } = byRule.exec(name)?.groups ?? {}
  return id === undefined ? undefined : { of: of as PathKind, id }
}

/** Name of the lines with paths. */
export const plannedPaths = 'paths'

/** Files of one action that a job tells of, and folders: a person looks at some, and counts tell of the others. */
const samplesInJob = 20

/** Says what a migration would do, by its policy, rules and mappings, and does nothing. */
export class Planner implements Judge {
  readonly #run: Run
  readonly #deletes: boolean
  readonly #comparing: Comparing | undefined
  readonly #told = new Map<string, number>()
  readonly #grainMs: number

  constructor(run: Run, by: PlanBy) {
    this.#run = run
    this.#deletes = by.as === 'match'
    this.#comparing = by.as === 'comparison' ? new Comparing(run, by) : undefined
    this.#grainMs = grainMsOf(run)
  }

  async pair(pair: Pair, path: StorePath, found: Collected): Promise<Side | undefined> {
    const { source, target, verdict } = pair
    if (target !== undefined) count(found, 'entriesAtTarget')
    if (typeof verdict === 'object') {
      await this.#cleared(pair, path, found)
      this.#excluded(pair, path, verdict.excludedBy, found)
      return undefined
    }
    if (source === undefined) {
      requireRoot(path)
      return this.#onlyTarget(pair, path, found)
    }
    const beside = await this.#cleared(pair, path, found)
    const refusal = this.#refusal({ ...pair, target: beside }, path)
    if (refusal !== undefined) {
      count(found, 'pathsRefused')
      this.#tell('REFUSE', path, found, { reason: refusal })
      return undefined
    }
    if (source.type !== 'folder') await this.#file(beside, source, path, found)
    else if (beside === undefined && verdict === 'taken') {
      count(found, 'foldersToMake')
      this.#tell('COPY', path, found, { of: 'folder' })
    }
    return sideOf({ source, target: beside })
  }

  /** What stays of the target's under a name that the source has: a live migration removes its own where it is in the way. */
  async #cleared(
    { source, target, there, error }: Pair,
    path: StorePath,
    found: Collected,
  ): Promise<Entry | undefined> {
    if (source === undefined || !isInTheWay(source, target)) return target
    if (error !== undefined || source.type === 'other') return target
    const at = { path: there, origin: storePath(this.#run, path) }
    const left = await this.#comparing?.leftInTheWay(at, target, this.#witness(found))
    return left === undefined || left === 'kept' ? target : undefined
  }

  unreadable(path: StorePath, { message }: StoreError, found: Collected): void {
    count(found, 'unreadablePaths')
    this.#tell('UNREADABLE', path, found, { reason: message })
  }

  async #file(target: Entry | undefined, source: Entry, path: StorePath, found: Collected): Promise<void> {
    const { sizeBytes } = source
    const counted = (files: PlanCount, bytes: PlanCount, action: PlanAction, reason?: string) => {
      count(found, files)
      count(found, bytes, sizeBytes)
      this.#tell(action, path, found, { reason })
    }
    if (target === undefined) return counted('filesToCopy', 'bytesToCopy', 'COPY')
    const { lacks, same } = await this.#missing(source, target, path)
    switch (lacks) {
      case 'unknown':
        return counted('filesToCompare', 'bytesToCompare', 'COMPARE')
      case 'nothing':
        return counted('filesToSkip', 'bytesToSkip', 'SKIP', same)
      case 'attributes':
        return counted('filesToSkip', 'bytesToSkip', 'SKIP', `${same}; its mode and owner are set`)
      case 'copy':
        return counted('filesToReplace', 'bytesToReplace', 'REPLACE')
    }
  }

  async #missing(source: Entry, target: Entry, path: StorePath): Promise<Missing> {
    if (this.#comparing !== undefined) return this.#comparing.missing(path, source, target)
    const { policy } = this.#run.spec
    if (source.type === 'symlink') {
      const at = storePath(this.#run, path)
      return linkMissing(await isKnownLink(this.#run, policy, at))
    }
    const isHere = isKnown(policy, source, target, this.#grainMs)
    if (isHere === 'unread') return { lacks: 'unknown' }
    if (!isHere) return { lacks: 'copy' }
    const lacks = skippedLacks(this.#run, source, target) === undefined ? 'nothing' : 'attributes'
    return { lacks, same: sameBy[policy] }
  }

  async #onlyTarget({ target, there }: Pair, path: StorePath, found: Collected): Promise<Side | undefined> {
    if (target === undefined) return undefined
    const stays = isTrash(there) || (this.#comparing === undefined && !this.#deletes)
    const reason = stays ? undefined : await this.#whyKept(path, there, target)
    if (stays || reason !== undefined) this.#keep(path, found, reason ?? 'only at the target', kindOf(target))
    else if (target.type === 'folder') return 'target'
    else this.#delete(target, path, found)
    return undefined
  }

  /** Why a comparison would leave what is only at the target; undefined where it would not, or not all that is in it. */
  async #whyKept(path: StorePath, there: StorePath, target: Entry): Promise<string | undefined> {
    if (this.#comparing === undefined) return undefined
    const may = await this.#comparing.mayGo(path, target)
    if (may === undefined) return 'the source is empty'
    const removable = await may({ path: there, origin: storePath(this.#run, path) }, target)
    const goes = removable === true || (removable === 'content' && target.type === 'folder')
    return goes ? undefined : 'it was there before the migration, or comes from elsewhere in the source'
  }

  /** Goes when nothing in it stays, as the match deletes, or a comparison. */
  async onlyTarget(
    { path, there = targetPath(this.#run, path) }: WalkFolder,
    found: Collected,
  ): Promise<void> {
    if (this.#comparing !== undefined) return this.#compared(this.#comparing, path, there, found)
    const run = this.#run
    const at = { path: there, origin: storePath(run, path) }
    const may = mayDelete(run, at)
    if (may === false) return
    const pathOf = ({ origin }: Removed) => relativePath(run.spec.root, origin)
    const witness = this.#witness(found)
    const mayRemove = (its: Removed) => {
      const mayGo = mayDelete(run, its)
      if (mayGo !== false) witness.looked()
      return mayGo
    }
    const trial: RemovalTrial = {
      stays: (its, rule) => {
        if (rule === undefined) this.#keep(pathOf(its), found, somethingStays, 'folder')
        else if (mayRemove(its) !== false)
          this.#keep(pathOf(its), found, excludedText(rule.excludedBy), 'file')
      },
      unreadable: (its, error) => {
        if (error.retryable || isOutage(error)) throw error
        this.unreadable(pathOf(its), error, found)
      },
    }
    const removal = {
      side: 'target',
      mayRemove,
      removed: () => undefined,
      held: witness.goes,
      trial,
    } as const
    const left = await emptyFolder(run, removal, at)
    this.#folderThere(left !== 'kept' && may === true, path, found)
  }

  async #compared(comparing: Comparing, path: StorePath, there: StorePath, found: Collected): Promise<void> {
    const target = await atTarget(this.#run.target.stat(there, this.#run.stop.signal))
    const may = target && (await comparing.mayGo(path, target))
    if (target === undefined || may === undefined) return
    const at = { path: there, origin: storePath(this.#run, path) }
    const left = await comparing.left(may, at, target, this.#witness(found))
    if (left === 'kept') this.#keep(path, found, somethingStays, 'folder')
  }

  #witness(found: Collected): Witness {
    return {
      goes: (entry, { origin }) => {
        const path = relativePath(this.#run.spec.root, origin)
        if (entry.type === 'folder') this.#folderThere(true, path, found)
        else this.#delete(entry, path, found)
      },
      looked: () => count(found, 'entriesAtTarget'),
    }
  }

  #folderThere(goes: boolean, path: StorePath, found: Collected): void {
    if (!goes) return this.#keep(path, found, somethingStays, 'folder')
    count(found, 'foldersToDelete')
    this.#tell('DELETE', path, found, { of: 'folder' })
  }

  #delete({ sizeBytes }: Entry, path: StorePath, found: Collected): void {
    count(found, 'filesToDelete')
    count(found, 'bytesToDelete', sizeBytes)
    this.#tell('DELETE', path, found)
  }

  #keep(path: StorePath, found: Collected, reason: string, of: PathKind): void {
    count(found, 'pathsKept')
    this.#tell('KEEP', path, found, { of, reason })
  }

  #excluded(
    { source, target }: Pair,
    path: StorePath,
    excludedBy: string | undefined,
    found: Collected,
  ): void {
    if (source === undefined) return this.#keep(path, found, excludedText(excludedBy), kindOf(target))
    if (source.type === 'folder') count(found, 'foldersExcluded')
    else {
      count(found, 'filesExcluded')
      count(found, 'bytesExcluded', source.sizeBytes)
    }
    if (excludedBy !== undefined) found.count(countOfRule(kindOf(source), excludedBy))
    this.#tell('EXCLUDE', path, found, { of: kindOf(source), reason: excludedText(excludedBy) })
  }

  #refusal({ source, target, there, error }: Pair, path: StorePath): string | undefined {
    if (error !== undefined) return error.message
    if (source === undefined) return undefined
    if (source.type === 'other') return 'it is neither a file nor a folder nor a symbolic link'
    if (isInTheWay(source, target)) return `the target has a ${target.type} there`
    // The root of a store is there, whatever its rules are.
    return path.length === 0 ? undefined : this.#run.target.refuses(there, source)
  }

  #tell(
    action: PlanAction,
    path: StorePath,
    found: Collected,
    { of = 'file', reason }: { readonly of?: PathKind; readonly reason?: string | undefined } = {},
  ): void {
    const told = this.#told.get(`${action} ${of}`) ?? 0
    if (told >= samplesInJob) return
    this.#told.set(`${action} ${of}`, told + 1)
    const text = textFromPath(storePath(this.#run, path))
    const line: ToldPath = { action, path: text, of, ...(reason === undefined ? {} : { reason }) }
    found.line(plannedPaths, `${JSON.stringify(line)}\n`)
  }
}

const kindOf = (entry: Entry | undefined): PathKind => (entry?.type === 'folder' ? 'folder' : 'file')

const somethingStays = 'something in it stays'

const excludedText = (excludedBy: string | undefined): string =>
  excludedBy === undefined ? 'no inclusion matches it' : `excluded by ${excludedBy}`

const count = (found: Collected, name: PlanCount, more = 1): void => found.count(name, more)
