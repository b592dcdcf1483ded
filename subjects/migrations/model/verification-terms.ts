/** Words of verifications, as plain data: the engine's threads use them without the schemas. */

import { csvReport, jsonReport, reportsOf } from './report-terms.ts'

/** What is compared, each with its cost. */
export const verificationLevels = {
  existence: 'paths and their types',
  size: 'existence, and sizes of files',
  time: 'size, and modification times',
  metadata:
    'time (also of folders and links), permission bits, owners, extended attributes and link targets, if the migration keeps them and both stores can hold them',
  digest: 'size, and content (by the digest that a store keeps, otherwise by reading every byte)',
} as const
export type VerificationLevel = keyof typeof verificationLevels
export const usualLevel: VerificationLevel = 'size'

/** What was found out about a path; everything but the last three is a discrepancy. */
export const scanResults = [
  'MISSING_ON_TARGET',
  'MISSING_ON_SOURCE',
  'TYPE_MISMATCH',
  'SIZE_MISMATCH',
  'DIGEST_MISMATCH',
  'TIME_MISMATCH',
  'METADATA_MISMATCH',
  /** At the target although it is excluded. */
  'FOUND_ON_BOTH',
  /** A store did not let it be looked at. */
  'UNREADABLE',
  'EXCLUDED',
  /** Changed after `ignoreAfterTimestamp`. */
  'IGNORED',
  'MATCH',
] as const
export type ScanResult = (typeof scanResults)[number]

const harmless: ReadonlySet<ScanResult> = new Set(['EXCLUDED', 'IGNORED', 'MATCH'])
export const isDiscrepancy = (result: ScanResult): boolean => !harmless.has(result)

/** What a verification counts; symbolic links are counted with the files. */
export const verificationCounts = {
  filesOnSource: 'Files at the source, without excluded ones',
  directoriesOnSource: 'Folders at the source, without excluded ones',
  bytesOnSource: 'Bytes of the files at the source',
  filesOnTarget: 'Files at the target, without excluded ones',
  directoriesOnTarget: 'Folders at the target, without excluded ones',
  bytesOnTarget: 'Bytes of the files at the target',
  filesExcluded: 'Excluded files',
  filesExcludedExistsOnTarget: 'Excluded files that are at the target',
  filesExcludedNotExistsOnTarget: 'Excluded files that are not at the target',
  bytesExcluded: 'Bytes of the excluded files',
  bytesExcludedExistsOnTarget: 'Bytes of excluded files that are at the target',
  bytesExcludedNotExistsOnTarget: 'Bytes of excluded files that are not at the target',
  directoriesExcluded: 'Excluded folders; their contents are not checked',
  directoriesExcludedExistsOnTarget: 'Excluded folders that are at the target',
  directoriesExcludedNotExistsOnTarget: 'Excluded folders that are not at the target',
  filesIgnored: 'Files changed after ignoreAfterTimestamp',
  filesMissingOnTarget: 'Files missing at the target',
  directoriesMissingOnTarget: 'Folders missing at the target',
  filesMissingOnSource: 'Files that exist only at the target',
  directoriesMissingOnSource: 'Folders that exist only at the target',
  typeMismatches: 'Paths with different types at source and target',
  fileSizeMismatches: 'Files with different sizes',
  fileDigestMismatches: 'Files with different content, and links with different targets',
  fileTimeMismatches: 'Files with different modification times',
  metadataMismatches:
    'Paths with different permission bits, owners or extended attributes, and folders and links with different times',
  matchedPathCount: 'Paths that are equal at source and target, at this level of verification',
  unreadablePaths: 'Paths that could not be compared',
  totalDiscrepancies: 'Total number of discrepancies: the rows of the discrepancy reports',
  failedPaths:
    'Paths that the migration could not copy, when the verification ended; they are listed by its failures, and usually are discrepancies',
  bytesRead: 'Bytes of content read',
} as const
export type VerificationCount = keyof typeof verificationCounts

export const verificationReports = reportsOf({
  DISCREPANCIES_JSON: jsonReport('discrepancies'),
  DISCREPANCIES_CSV: csvReport('discrepancies'),
})
export type VerificationReport = keyof typeof verificationReports
export const verificationReportNames = Object.keys(verificationReports) as VerificationReport[]

/** `reportId` of all of them in one archive, and its media type. */
export const allReports = { name: 'ALL', type: 'application/x-tar' } as const
