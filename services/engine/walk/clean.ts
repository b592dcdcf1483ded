import {
  type CleanupCount,
  cleanupReports,
  type CleanupResult,
} from '../../../subjects/migrations/model/cleanup-terms.ts'
import { type Entry, StoreError, type StorePath } from '../../drivers/contract/driver.ts'
import { cleaningUp } from '../../drivers/http/job-signal.ts'
import { temporaryName } from '../../drivers/paths/temporary-names.ts'
import type { Versions } from '../compare/content.ts'
import { contentDiffersBy } from '../compare/entries.ts'
import { targetPath } from '../run/mappings.ts'
import { storeError } from '../../drivers/contract/store-error.ts'
import { joinPath, textFromPath } from '../items/paths.ts'
import { type Removed, removeTree } from '../tree/remove-tree.ts'
import { atTarget, storePath, type Run } from '../run/run.ts'
import { contentDifference, sizesText, typesText } from './differences.ts'
import type { Collected } from './findings.ts'
import type { Pair } from './pairs.ts'
import { reportRows, typeNames } from './report-rows.ts'
import type { Judge } from './walk.ts'
import { sideOf, type Side } from './walk-folder.ts'

/**
 * What a walk of a cleanup does. Plain data. Files go while all is walked through, folders once there is nothing left in
 * them: in a walk of their own, as a walk is in a folder before it is in what the folder has.
 */
export type CleaningStep = 'look' | 'files' | 'folders'

/** A line of the report. */
export interface CleanupRow {
  readonly result: CleanupResult
  readonly type: (typeof typeNames)[Entry['type']]
  readonly sourcePath: string
  readonly targetPath: string
  readonly sizeBytes: number
  readonly detail?: string
}
const rows = reportRows(['result', 'type', 'sourcePath', 'targetPath', 'sizeBytes', 'detail'])

export const cleanupHead = rows.head

/** The lines of the reports, and what is counted, for a path. */
export function reported(row: CleanupRow, found: Pick<Collected, 'line' | 'count'>): void {
  const { result, type, sizeBytes } = row
  const table = result === 'REMOVED' ? cleanupReports.REMOVED_CSV : cleanupReports.KEPT_CSV
  const csv = result === 'REMOVABLE' ? undefined : table
  rows.add(row, { json: [cleanupReports.FULL], csv }, found)
  const count = (name: CleanupCount, more = 1) => found.count(name, more)
  if (result === 'UNREADABLE') return count('unreadablePaths')
  const fates = type === 'DIRECTORY' ? folderCounts : fileCounts
  const name = fates[result]
  if (name !== undefined) count(name)
  if (type === 'DIRECTORY') return
  if (result === 'REMOVED') return count('bytesRemoved', sizeBytes)
  if (result === 'REMOVABLE') return count('bytesRemovable', sizeBytes)
  count('filesKept')
  count('bytesKept', sizeBytes)
}

type Counted = Readonly<Partial<Record<CleanupResult, CleanupCount>>>
const fileCounts: Counted = {
  REMOVED: 'filesRemoved',
  REMOVABLE: 'filesRemovable',
  EXCLUDED: 'filesExcluded',
  NOT_AT_TARGET: 'filesNotAtTarget',
  DIFFERENT: 'filesDifferent',
  CHANGED: 'filesChanged',
  SAME: 'filesSame',
  NOT_REMOVED: 'filesNotRemoved',
}
const folderCounts: Counted = {
  REMOVED: 'foldersRemoved',
  EXCLUDED: 'foldersExcluded',
  NOT_AT_TARGET: 'foldersNotAtTarget',
  NOT_REMOVED: 'foldersNotRemoved',
}

interface Fate {
  readonly result: CleanupResult
  readonly detail?: string
}

/** Removes at the source what is proven to be at the target at that very moment, and keeps everything else. */
export class Cleaner implements Judge {
  readonly acts = true
  readonly #run: Run
  readonly #step: CleaningStep

  constructor(run: Run, step: CleaningStep) {
    this.#run = run
    this.#step = step
  }

  async pair(pair: Pair, path: StorePath, found: Collected): Promise<Side | undefined> {
    const { source } = pair
    if (source === undefined) return undefined
    const at = storePath(this.#run, path)
    if (path.length === 0 && this.#step !== 'look') await this.#requireTwo(pair, at)
    if (this.#step === 'folders') return this.#folder(pair, source, at, found)
    const fate = await this.#fate(pair, source, at, found)
    if (fate !== undefined) this.#tell(fate, source, at, pair.there, found)
    return typeof pair.verdict === 'object' || source.type !== 'folder' ? undefined : sideOf(pair)
  }

  unreadable(path: StorePath, { message }: StoreError, found: Collected): void {
    const at = storePath(this.#run, path)
    const entry = { type: 'other', sizeBytes: 0 } as const
    this.#tell({ result: 'UNREADABLE', detail: message }, entry, at, targetPath(this.#run, at), found)
  }

  /**
   * A store that is reached in two ways may give one file two versions; what comes to one of two stores does not come to the
   * other. Throws when it does.
   */
  async #requireTwo({ target, there }: Pair, at: StorePath): Promise<void> {
    const { source: from, target: to } = this.#run
    if (target?.type !== 'folder') return
    const name = temporaryName('probe')
    const probe = joinPath(there, name)
    const before = await atTarget(to.attributesOf(there))
    await atTarget(to.put(probe, Buffer.alloc(0), { modifiedMs: Date.now() }))
    try {
      if ((await from.stat(joinPath(at, name))) !== undefined)
        throw new StoreError('unsupported', 'source and target are one folder')
    } finally {
      await cleaningUp(async () => {
        await atTarget(to.remove(probe))
        if (to.capabilities.folderTimesMove && before !== undefined)
          await atTarget(to.setAttributes(there, before))
      })
    }
  }

  /** Nothing of a folder that is as it should be: that it goes is found out when it is empty. */
  async #fate(pair: Pair, source: Entry, at: StorePath, found: Collected): Promise<Fate | undefined> {
    const { target, there, verdict, error } = pair
    if (typeof verdict === 'object') return { result: 'EXCLUDED', ...detailOf(verdict.excludedBy) }
    if (error !== undefined) return { result: 'NOT_AT_TARGET', detail: error.message }
    if (source.type !== 'folder') return this.#file(source, at, there, found)
    if (target?.type === 'folder' || verdict === 'walked') return undefined
    return { result: 'NOT_AT_TARGET', ...detailOf(target && `the target has a ${target.type} there`) }
  }

  /**
   * Versions are asked for before anything is read of either side. The target's is looked at once more after that, and its
   * content is made to outlive a loss of power, before the source's file goes, if it is still of its version.
   */
  async #file(listed: Entry, at: StorePath, there: StorePath, found: Collected): Promise<Fate> {
    const { source: from, target: to } = this.#run
    if (listed.type === 'other') return { result: 'NOT_AT_TARGET', detail: 'it is neither a file nor a link' }
    const [version, itsVersion] = await Promise.all([from.version(at), atTarget(to.version(there))])
    if (version === undefined) return { result: 'CHANGED', detail: 'it is gone from the source' }
    if (itsVersion === undefined) return { result: 'NOT_AT_TARGET' }
    // A store that is mounted twice, or two names of one store: no copy has its original's version.
    if (version === itsVersion) return { result: 'SAME' }
    const unlike = await this.#unlike(at, there, { source: version, target: itsVersion }, found)
    if (unlike !== undefined) return unlike
    if (this.#step === 'look') return { result: 'REMOVABLE' }
    await atTarget(to.persist?.(there) ?? Promise.resolve())
    if ((await atTarget(to.version(there))) !== itsVersion)
      return { result: 'CHANGED', detail: 'the target’s was changed meanwhile' }
    this.#run.stop.check()
    try {
      const isRemoved = await from.removeVersion(at, version)
      return isRemoved ? { result: 'REMOVED' } : { result: 'CHANGED', detail: 'it is gone from the source' }
    } catch (error) {
      // Told though the job is to end: nobody else knows of what was broken off, or where a store has put it aside.
      const isBrokenOff = this.#run.stop.signal.aborted && !(error instanceof StoreError)
      if (isBrokenOff) return { result: 'NOT_REMOVED', detail: brokenOff }
      const { failure, message } = storeError(error)
      return { result: failure === 'changed' ? 'CHANGED' : 'NOT_REMOVED', detail: message }
    }
  }

  /** Undefined where the two are the same. */
  async #unlike(
    at: StorePath,
    there: StorePath,
    versions: Versions,
    found: Collected,
  ): Promise<Fate | undefined> {
    try {
      const difference = await this.#difference(at, there, versions, found)
      return difference === undefined ? undefined : { result: 'DIFFERENT', detail: difference }
    } catch (error) {
      this.#run.stop.check()
      const known = storeError(error)
      if (known.failure !== 'changed') throw known
      return { result: 'CHANGED', detail: known.message }
    }
  }

  async #difference(
    at: StorePath,
    there: StorePath,
    versions: Versions,
    found: Collected,
  ): Promise<string | undefined> {
    const run = this.#run
    // What a listing said may be of an older version, its digest too.
    const [source, target] = await Promise.all([
      run.source.stat(at, run.stop.signal),
      atTarget(run.target.stat(there, run.stop.signal)),
    ])
    if (source === undefined || target === undefined) return 'it has gone meanwhile'
    const differs = contentDiffersBy(source, target)
    if (differs === 'type') return typesText(source, target)
    if (differs === 'size') return sizesText(source, target)
    const { difference, bytesRead } = await contentDifference(run, { source, target, at, there }, versions)
    found.count('bytesRead' satisfies CleanupCount, bytesRead)
    return difference
  }

  /** Removes the empty folders of a tree. The folder of the migration itself stays. */
  async #folder(pair: Pair, source: Entry, at: StorePath, found: Collected): Promise<Side | undefined> {
    if (source.type !== 'folder' || typeof pair.verdict === 'object') return undefined
    if (at.length === this.#run.spec.root.length) return sideOf(pair)
    const mayRemove = async ({ path }: Removed, entry: Entry) =>
      entry.type === 'folder' &&
      (await atTarget(this.#run.target.stat(targetPath(this.#run, path), this.#run.stop.signal)))?.type ===
        'folder'
    const removed = (entry: Entry, path: StorePath) =>
      this.#tell({ result: 'REMOVED' }, entry, path, targetPath(this.#run, path), found)
    try {
      await removeTree(this.#run, { side: 'source', mayRemove, removed }, { path: at, origin: at }, source)
    } catch (error) {
      this.#run.stop.check()
      this.#tell({ result: 'NOT_REMOVED', detail: storeError(error).message }, source, at, pair.there, found)
    }
    return undefined
  }

  #tell(
    { result, detail }: Fate,
    { type, sizeBytes }: Pick<Entry, 'type' | 'sizeBytes'>,
    at: StorePath,
    there: StorePath,
    found: Collected,
  ): void {
    const paths = { sourcePath: textFromPath(at), targetPath: textFromPath(there) }
    reported({ result, type: typeNames[type], ...paths, sizeBytes, ...detailOf(detail) }, found)
  }
}

const brokenOff = 'the cleanup was stopped before the store answered: the file may be gone'

const detailOf = (detail: string | undefined) => (detail === undefined ? {} : { detail })
