import type { PlanAction, PlanCount } from '../../../../subjects/plan-terms.ts'
import type { Entry, StorePath } from '../../../drivers/driver.ts'
import { exactMs, isKnown } from '../known.ts'
import { textFromPath } from '../paths.ts'
import { storePath, type Run } from '../run.ts'
import type { Collected } from './findings.ts'
import type { Pair } from './pairs.ts'
import { isTrash } from './trash.ts'
import { type Judge, requireRoot } from './walk.ts'
import { sideOf, type Side } from './walk-folder.ts'

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
    if (typeof verdict === 'object') return this.#excluded(pair, path, verdict.excludedBy, found)
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

  unreadable(path: StorePath, reason: string, found: Collected): void {
    count(found, 'unreadablePaths')
    this.#tell('UNREADABLE', path, found, reason)
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
    if (!this.#matchesTarget || isTrash(there)) {
      count(found, 'pathsKept')
      this.#tell('KEEP', path, found)
      return undefined
    }
    if (target.type === 'folder') count(found, 'foldersToDelete')
    else {
      count(found, 'filesToDelete')
      count(found, 'bytesToDelete', target.sizeBytes)
    }
    this.#tell('DELETE', path, found)
    return target.type === 'folder' ? 'target' : undefined
  }

  #excluded({ source }: Pair, path: StorePath, excludedBy: string | undefined, found: Collected): undefined {
    if (source === undefined) {
      count(found, 'pathsKept')
      this.#tell('KEEP', path, found, excludedBy === undefined ? noInclusion : `excluded by ${excludedBy}`)
      return
    }
    if (source.type === 'folder') count(found, 'foldersExcluded')
    else {
      count(found, 'filesExcluded')
      count(found, 'bytesExcluded', source.sizeBytes)
    }
    this.#tell('EXCLUDE', path, found, excludedBy === undefined ? noInclusion : `excluded by ${excludedBy}`)
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

const noInclusion = 'no inclusion matches it'

const count = (found: Collected, name: PlanCount, more = 1): void => found.count(name, more)
