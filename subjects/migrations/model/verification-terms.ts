/** Words of verifications, as plain data: the engine's threads use them without the schemas. */

import { csvReport, jsonReport, reportsOf } from './report-terms.ts'

/** What is compared, each with its cost. */
export const verificationLevels = {
  existence: 'paths and their types',
  size: 'existence, and sizes of files',
  time: 'size, and times of the last change',
  metadata:
    'time, also of folders and links, permission bits, owners, extended attributes, and where links lead, as far as the migration keeps them and both stores can hold them',
  digest: 'size, and content: by the digest that a store keeps, else every byte is read',
} as const
export type VerificationLevel = keyof typeof verificationLevels

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
  filesOnSource: 'Files at the source, without what is excluded',
  directoriesOnSource: 'Folders there',
  bytesOnSource: 'Bytes of the files there',
  filesOnTarget: 'Files at the target, without what is excluded',
  directoriesOnTarget: 'Folders there',
  bytesOnTarget: 'Bytes of the files there',
  filesExcluded: 'Files that an exclusion leaves out',
  filesExcludedExistsOnTarget: 'Of those, at the target all the same',
  filesExcludedNotExistsOnTarget: 'Of those, not at the target',
  bytesExcluded: 'Bytes of the excluded files',
  bytesExcludedExistsOnTarget: 'Of those, of files that are at the target all the same',
  bytesExcludedNotExistsOnTarget: 'Of those, of files that are not at the target',
  directoriesExcluded: 'Folders that an exclusion leaves out; what is in them is not looked at',
  directoriesExcludedExistsOnTarget: 'Of those, at the target all the same',
  directoriesExcludedNotExistsOnTarget: 'Of those, not at the target',
  filesIgnored: 'Files that were changed after ignoreAfterTimestamp',
  filesMissingOnTarget: 'Files that are not at the target',
  directoriesMissingOnTarget: 'Folders that are not at the target',
  filesMissingOnSource: 'Files that are at the target only',
  directoriesMissingOnSource: 'Folders that are at the target only',
  typeMismatches: 'Paths that are a file on one side and something else on the other',
  fileSizeMismatches: 'Files with another size',
  fileDigestMismatches: 'Files with other content, and links that lead elsewhere',
  fileTimeMismatches: 'Files with another time of the last change',
  metadataMismatches:
    'Paths with other permission bits, another owner or other extended attributes, and folders and links with another time',
  matchedPathCount: 'Paths that are the same on both sides, as far as the level looks',
  unreadablePaths: 'Paths that could not be compared',
  totalDiscrepancies: 'All that is not as it should be: the rows of the discrepancy reports',
  bytesRead: 'Bytes of content that were read',
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
