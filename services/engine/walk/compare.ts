import {
  isDiscrepancy,
  type ScanResult,
  type VerificationCount,
  type VerificationLevel,
  verificationReports,
} from '../../../subjects/migrations/model/verification-terms.ts'
import { type Entry, type StoreError, type StorePath, timeOf } from '../../drivers/contract/driver.ts'
import type { Both } from '../compare/content.ts'
import { contentDiffersBy } from '../compare/entries.ts'
import { stated } from '../compare/stated.ts'
import { targetPath } from '../run/mappings.ts'
import { textFromPath } from '../items/paths.ts'
import { grainMsOf, storePath, type Run } from '../run/run.ts'
import {
  attributesDifference,
  contentDifference,
  momentsOf,
  sizesText,
  timesText,
  typesText,
} from './differences.ts'
import type { Collected } from './findings.ts'
import type { Pair } from './pairs.ts'
import { reportRows, typeNames } from './report-rows.ts'
import type { Judge } from './walk.ts'
import { sideOf, type Side } from './walk-folder.ts'

/** What is to be compared. Plain data. */
export interface Comparison {
  readonly level: VerificationLevel
  /** Milliseconds since 1970; what was changed later is left out. Not there: nothing is. */
  readonly ignoreAfterMs?: number
}

/** All fields are in each row: programs that read one break where a key is missing. `timestamp` is when the path was compared, in milliseconds since 1970. */
type Row = Readonly<Record<(typeof rowFields)[number], string | number | null>>
const rowFields = [
  'scanResult',
  'type',
  'sourcePath',
  'targetPath',
  'sourceSize',
  'targetSize',
  'sourceModified',
  'targetModified',
  'detail',
  'timestamp',
] as const

const rows = reportRows(rowFields)

export const csvHead = rows.head

/** What was found out about a path, and why. */
interface Verdict {
  readonly result: ScanResult
  readonly detail?: string
}

const match: Verdict = { result: 'MATCH' }

/** Compares what stands on both sides, and writes a row for each path. */
export class Comparer implements Judge {
  readonly #run: Run
  readonly #comparison: Comparison
  readonly #grainMs: number

  constructor(run: Run, comparison: Comparison) {
    this.#run = run
    this.#grainMs = grainMsOf(run)
    this.#comparison = comparison
  }

  async pair(pair: Pair, path: StorePath, found: Collected): Promise<Side | undefined> {
    const { source, target, verdict: rule } = pair
    if (typeof rule === 'object') return this.#excluded(pair, path, rule.excludedBy, found)
    if (this.#isIgnored(pair)) {
      count(found, 'filesIgnored')
      this.#row(path, pair, { result: 'IGNORED' }, found)
      return undefined
    }
    // Only on the way to what is included: nobody said that it should be there.
    if (rule === 'walked') return sideOf(pair)
    if (source !== undefined) countSide(found, source, 'Source')
    if (target !== undefined) countSide(found, target, 'Target')
    const verdict = await this.#verdict(pair, path, found)
    countVerdict(found, verdict, isFolder(source ?? target))
    this.#row(path, pair, verdict, found)
    return sideOf(pair)
  }

  unreadable(path: StorePath, { message }: StoreError, found: Collected): void {
    const verdict = { result: 'UNREADABLE', detail: message } as const
    countVerdict(found, verdict, false)
    const there = targetPath(this.#run, storePath(this.#run, path))
    this.#row(path, { source: undefined, target: undefined, there }, verdict, found)
  }

  /** What is in an excluded folder is not looked at. */
  #excluded(pair: Pair, path: StorePath, excludedBy: string | undefined, found: Collected): undefined {
    const { source, target } = pair
    const isBoth = source !== undefined && target !== undefined
    countExcluded(found, pair)
    const detail = excludedBy === undefined ? 'no inclusion matches it' : `excluded by ${excludedBy}`
    this.#row(path, pair, { result: isBoth ? 'FOUND_ON_BOTH' : 'EXCLUDED', detail }, found)
  }

  /** Folders never are: their time tells nothing of what is in them. */
  #isIgnored({ source, target }: Pair): boolean {
    const { ignoreAfterMs } = this.#comparison
    if (ignoreAfterMs === undefined || isFolder(source) || isFolder(target)) return false
    return isLater(source, ignoreAfterMs) || isLater(target, ignoreAfterMs)
  }

  async #verdict(pair: Pair, path: StorePath, found: Collected): Promise<Verdict> {
    if (pair.target === undefined) return { result: 'MISSING_ON_TARGET' }
    if (pair.source === undefined) return { result: 'MISSING_ON_SOURCE' }
    const { level } = this.#comparison
    const listed = {
      source: pair.source,
      target: pair.target,
      at: storePath(this.#run, path),
      there: pair.there,
    }
    const needsMore = level === 'time' || level === 'metadata' || level === 'digest'
    const both = { ...listed, ...(needsMore && (await stated(this.#run, listed))) }
    const { source, target } = both
    const differs = contentDiffersBy(source, target, this.#grainMs)
    if (differs === 'type') return { result: 'TYPE_MISMATCH', detail: typesText(source, target) }
    if (level === 'existence') return match
    if (differs === 'size') return { result: 'SIZE_MISMATCH', detail: sizesText(source, target) }
    // Times of folders and links are metadata like others: they tell nothing of content.
    const isTimed = (level === 'time' || level === 'metadata') && source.type === 'file'
    if (isTimed && differs === 'time') return { result: 'TIME_MISMATCH', detail: timesText(source, target) }
    switch (level) {
      case 'size':
      case 'time':
        return match
      case 'metadata':
        return this.#metadataVerdict(both, found)
      case 'digest':
        return this.#contentVerdict(both, found)
    }
  }

  async #metadataVerdict(both: Both, found: Collected): Promise<Verdict> {
    // Where a link leads is what it has for content, which no time tells.
    const verdict = both.source.type === 'symlink' ? await this.#contentVerdict(both, found) : match
    if (verdict !== match) return verdict
    const detail = await attributesDifference(this.#run, both)
    return detail === undefined ? match : { result: 'METADATA_MISMATCH', detail }
  }

  async #contentVerdict(both: Both, found: Collected): Promise<Verdict> {
    const { type } = both.source
    if (type !== 'file' && type !== 'symlink') return match
    const { difference, bytesRead } = await contentDifference(this.#run, both)
    count(found, 'bytesRead', bytesRead)
    return difference === undefined ? match : { result: 'DIGEST_MISMATCH', detail: difference }
  }

  #row(
    path: StorePath,
    { source, target, there }: Pick<Pair, 'source' | 'target' | 'there'>,
    { result, detail }: Verdict,
    found: Collected,
  ): void {
    const modified = momentsOf(source, target)
    const row: Row = {
      scanResult: result,
      type: typeNames[(source ?? target)?.type ?? 'other'],
      sourcePath: textFromPath(storePath(this.#run, path)),
      targetPath: textFromPath(there),
      sourceSize: source?.sizeBytes ?? null,
      targetSize: target?.sizeBytes ?? null,
      sourceModified: modified.source ?? null,
      targetModified: modified.target ?? null,
      detail: detail ?? null,
      timestamp: Date.now(),
    }
    const { FULL, DISCREPANCIES_JSON, DISCREPANCIES_CSV } = verificationReports
    if (!isDiscrepancy(result)) return rows.add(row, { json: [FULL] }, found)
    count(found, 'totalDiscrepancies')
    rows.add(row, { json: [FULL, DISCREPANCIES_JSON], csv: DISCREPANCIES_CSV }, found)
  }
}

const isLater = (entry: Entry | undefined, ms: number): boolean =>
  entry !== undefined && (timeOf(entry) ?? ms) > ms

const isFolder = (entry: Entry | undefined): boolean => entry?.type === 'folder'

const count = (found: Collected, name: VerificationCount, more = 1): void => found.count(name, more)

function countSide(found: Collected, entry: Entry, side: 'Source' | 'Target'): void {
  if (isFolder(entry)) return count(found, `directoriesOn${side}`)
  count(found, `filesOn${side}`)
  count(found, `bytesOn${side}`, entry.sizeBytes)
}

/** Of what is only at the target, nothing is left out. */
function countExcluded(found: Collected, { source, target }: Pair): void {
  const where = target === undefined ? 'NotExistsOnTarget' : 'ExistsOnTarget'
  if (source === undefined) return
  if (isFolder(source)) {
    count(found, 'directoriesExcluded')
    return count(found, `directoriesExcluded${where}`)
  }
  count(found, 'filesExcluded')
  count(found, `filesExcluded${where}`)
  count(found, 'bytesExcluded', source.sizeBytes)
  count(found, `bytesExcluded${where}`, source.sizeBytes)
}

function countVerdict(found: Collected, { result }: Verdict, isFolder: boolean): void {
  switch (result) {
    case 'MISSING_ON_TARGET':
      return count(found, isFolder ? 'directoriesMissingOnTarget' : 'filesMissingOnTarget')
    case 'MISSING_ON_SOURCE':
      return count(found, isFolder ? 'directoriesMissingOnSource' : 'filesMissingOnSource')
    case 'TYPE_MISMATCH':
      return count(found, 'typeMismatches')
    case 'SIZE_MISMATCH':
      return count(found, 'fileSizeMismatches')
    case 'DIGEST_MISMATCH':
      return count(found, 'fileDigestMismatches')
    case 'TIME_MISMATCH':
      return count(found, 'fileTimeMismatches')
    case 'METADATA_MISMATCH':
      return count(found, 'metadataMismatches')
    case 'UNREADABLE':
      return count(found, 'unreadablePaths')
    case 'MATCH':
      return count(found, 'matchedPathCount')
    case 'FOUND_ON_BOTH':
    case 'EXCLUDED':
    case 'IGNORED':
  }
}
