import {
  isDiscrepancy,
  type ScanResult,
  type VerificationCount,
  type VerificationLevel,
  verificationReports,
} from '../../../../subjects/verification-terms.ts'
import type { Entry, Owner, StorePath } from '../../../drivers/driver.ts'
import { defaultMetadata } from '../../../../subjects/migration-metadata.ts'
import { csvLine } from '../../../../subjects/csv.ts'
import { targetPath } from '../mappings.ts'
import { textFromPath } from '../paths.ts'
import { storePath, type Run } from '../run.ts'
import { compareContent, compareLinks } from './content.ts'
import type { Collected } from './findings.ts'
import type { Pair } from './pairs.ts'
import type { Judge } from './walk.ts'
import { sideOf, type Side } from './walk-folder.ts'

/** What is to be compared. Plain data. */
export interface Comparison {
  readonly level: VerificationLevel
  /** Milliseconds since 1970; what was changed later is left out. Not there: nothing is. */
  readonly ignoreAfterMs?: number
}

/** Times are compared at microseconds: to set one loses up to 100 ns, and a double near today's steps by 244. */
const timeToleranceMs = 0.0015
/** Bits that a copy keeps. */
const comparedModeBits = 0o777

type Row = Readonly<Record<(typeof rowFields)[number], string | number | undefined>>
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
] as const

/** First line of the reports in CSV. */
export const csvHead = csvLine(rowFields)

/** What was found out about a path, and why. */
interface Verdict {
  readonly result: ScanResult
  readonly detail?: string
}

/** Compares what stands on both sides, and writes a row for each path. */
export class Comparer implements Judge {
  readonly #run: Run
  readonly #comparison: Comparison

  constructor(run: Run, comparison: Comparison) {
    this.#run = run
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

  unreadable(path: StorePath, reason: string, found: Collected): void {
    const verdict = { result: 'UNREADABLE', detail: reason } as const
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
    return Math.max(source?.modifiedMs ?? 0, target?.modifiedMs ?? 0) > ignoreAfterMs
  }

  async #verdict(pair: Pair, path: StorePath, found: Collected): Promise<Verdict> {
    const { source, target } = pair
    if (target === undefined) return { result: 'MISSING_ON_TARGET' }
    if (source === undefined) return { result: 'MISSING_ON_SOURCE' }
    if (source.type !== target.type)
      return { result: 'TYPE_MISMATCH', detail: `${source.type} at the source, ${target.type} at the target` }
    const { level } = this.#comparison
    if (level === 'existence') return { result: 'MATCH' }
    if (source.sizeBytes !== target.sizeBytes)
      return {
        result: 'SIZE_MISMATCH',
        detail: `${source.sizeBytes} bytes at the source, ${target.sizeBytes} at the target`,
      }
    switch (level) {
      case 'size':
        return { result: 'MATCH' }
      case 'time':
        return timeVerdict(source, target) ?? { result: 'MATCH' }
      case 'metadata':
        return timeVerdict(source, target) ?? this.#metadataVerdict(source, target) ?? { result: 'MATCH' }
      case 'digest':
        return this.#contentVerdict(path, { source, target, there: pair.there }, found)
    }
  }

  /** What the migration does not keep is not missed. */
  #metadataVerdict(source: Entry, target: Entry): Verdict | undefined {
    const { modes, owners } = this.#run.spec.metadata ?? defaultMetadata
    return (
      (modes ? modeVerdict(source, target) : undefined) ?? (owners ? ownerVerdict(source, target) : undefined)
    )
  }

  async #contentVerdict(
    path: StorePath,
    pair: { source: Entry; target: Entry; there: StorePath },
    found: Collected,
  ): Promise<Verdict> {
    const { source, there } = pair
    const at = storePath(this.#run, path)
    if (source.type !== 'file' && source.type !== 'symlink') return { result: 'MATCH' }
    const { difference, bytesRead } =
      source.type === 'file'
        ? await compareContent(this.#run, at, pair)
        : await compareLinks(this.#run, at, there)
    count(found, 'bytesRead', bytesRead)
    return difference === undefined ? { result: 'MATCH' } : { result: 'DIGEST_MISMATCH', detail: difference }
  }

  #row(
    path: StorePath,
    { source, target, there }: Pick<Pair, 'source' | 'target' | 'there'>,
    { result, detail }: Verdict,
    found: Collected,
  ): void {
    const row: Row = {
      scanResult: result,
      type: typeNames[(source ?? target)?.type ?? 'other'],
      sourcePath: textFromPath(storePath(this.#run, path)),
      targetPath: textFromPath(there),
      sourceSize: source?.sizeBytes,
      targetSize: target?.sizeBytes,
      sourceModified: momentOf(source),
      targetModified: momentOf(target),
      detail,
    }
    const line = `${JSON.stringify(row)}\n`
    found.line(verificationReports.FULL.file, line)
    if (!isDiscrepancy(result)) return
    count(found, 'totalDiscrepancies')
    found.line(verificationReports.DISCREPANCIES_JSON.file, line)
    found.line(verificationReports.DISCREPANCIES_CSV.file, csvLine(rowFields.map((field) => row[field])))
  }
}

const typeNames = { file: 'FILE', folder: 'DIRECTORY', symlink: 'LINK', other: 'OTHER' } as const

const isFolder = (entry: Entry | undefined): boolean => entry?.type === 'folder'

/** A store that gives no time says 0. */
const momentOf = (entry: Entry | undefined): string | undefined =>
  entry === undefined || entry.modifiedMs === 0 ? undefined : new Date(entry.modifiedMs).toISOString()

/** Times of folders and links are not carried over. */
function timeVerdict(source: Entry, target: Entry): Verdict | undefined {
  if (source.type !== 'file' || source.modifiedMs === 0 || target.modifiedMs === 0) return undefined
  if (Math.abs(source.modifiedMs - target.modifiedMs) <= timeToleranceMs) return undefined
  return {
    result: 'TIME_MISMATCH',
    detail: `${momentOf(source)} at the source, ${momentOf(target)} at the target`,
  }
}

function modeVerdict(source: Entry, target: Entry): Verdict | undefined {
  if (source.type === 'symlink' || source.mode === undefined || target.mode === undefined) return undefined
  const [one, other] = [source.mode & comparedModeBits, target.mode & comparedModeBits]
  return one === other
    ? undefined
    : {
        result: 'METADATA_MISMATCH',
        detail: `mode ${octal(one)} at the source, ${octal(other)} at the target`,
      }
}

function ownerVerdict({ owner }: Entry, { owner: its }: Entry): Verdict | undefined {
  if (owner === undefined || its === undefined) return undefined
  if (owner.uid === its.uid && owner.gid === its.gid) return undefined
  const text = ({ uid, gid }: Owner) => `${uid}:${gid}`
  return {
    result: 'METADATA_MISMATCH',
    detail: `owner ${text(owner)} at the source, ${text(its)} at the target`,
  }
}

const octal = (mode: number): string => mode.toString(8).padStart(3, '0')

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
    case 'FOUND_ON_BOTH':
    case 'EXCLUDED':
    case 'IGNORED':
    case 'MATCH':
  }
}
