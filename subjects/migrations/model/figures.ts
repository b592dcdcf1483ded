import { Type } from 'typebox'
import { conditions } from './conditions.ts'
import { changeFigures } from './changes.ts'
import { internalId, migratedPercentage, migrationId, migrationStates } from './model.ts'
import { type FileSizeClass, fileSizeClassNames } from './terms.ts'
import { Count, countFields, list, model, Path, strict, Timestamp } from '../../kit/schemas.ts'
import { supersededFigures, vanishedFigures } from './vanished.ts'

const Progress = model('Progress', {
  totalBytes: Count('Bytes found so far'),
  migratedBytes: Count('Bytes at the target, including files that were already there and files being copied'),
  excludedBytes: Count('Bytes of excluded files'),
  totalMigratedBytes: Count('Bytes copied, including files being copied'),
  totalScannedBytes: Count('Bytes found so far'),
  migratedPercentage,
  duration: strict({ inSeconds: Count('Seconds'), asText: Type.String({ maxLength: 60 }) }),
  etaEstimate: Type.Optional(strict({ inSeconds: Count('Seconds'), asText: Type.String({ maxLength: 60 }) })),
  filesScanned: Count(
    'Files found so far, in all scans; a rescanned folder is counted again. When nothing is pending, this is filesMigrated + filesSkipped + filesSuperseded + failed files',
  ),
  filesMigrated: Count('Files copied'),
  filesSkipped: Count('Files that were already at the target'),
  ...supersededFigures,
  foldersScanned: Count('Folders found so far'),
  failedPaths: Count('Paths that could not be copied'),
  filesDeleted: Count('Files deleted at the target because they are gone from the source'),
  foldersDeleted: Count('Folders deleted at the target because they are gone from the source'),
  ...vanishedFigures,
  ...changeFigures,
  migratedBytesByScan: Count('Bytes of files copied by the scan'),
  migratedBytesByChanges: Count('Bytes of files copied because of changes'),
})

export const Info = model('MigrationProgress', {
  id: migrationId,
  internalId,
  path: Path('Migrated folder'),
  pathRetryCount: Count('Total number of retries, for all paths'),
  state: Type.Enum(migrationStates),
  baseScanCompletionTime: Type.Optional(
    Timestamp(
      'Live migrations: when all existing files were found and copied; migratedPercentage is not meaningful after that',
    ),
  ),
  nextRecurrenceTime: Type.Optional(Timestamp('Start time of the next scan')),
  conditions,
  progress: Progress,
})
export const InfoList = model('MigrationList', {
  migrations: list(Info),
  count: Count('Number of migrations'),
})

const sizeLimits: Readonly<Record<FileSizeClass, string>> = {
  filesUpTo1KiB: 'Files of at most 1 KiB',
  filesUpTo1MiB: 'Files larger than 1 KiB, of at most 1 MiB',
  filesUpTo1GiB: 'Files larger than 1 MiB, of at most 1 GiB',
  filesLarger: 'Files larger than 1 GiB',
}
/** Files by their size; the existing product names no classes. */
export const FilesBySize = model('FilesBySize', countFields(sizeLimits))

/** Totals since the migration began; the wire's split of scan and client activity is by what caused the copy. */
export const Stats = model('Stats', {
  filesScanned: Count('Files found, in all scans'),
  dirsScanned: Count('Folders found'),
  filesExcluded: Count('Files excluded by rules'),
  dirsExcluded: Count('Folders excluded by rules'),
  bytesExcluded: Count('Bytes of files excluded by rules'),
  eventsExcluded: Count(
    'Changes excluded by rules (live migrations); changes inside excluded folders are not detected',
  ),
  filesMigrated: Count('Files copied'),
  fileCountBySize: FilesBySize,
  dirsMigrated: Count('Folders created'),
  filesMigratedClient: Count('Files copied because of changes (live migrations)'),
  dirsMigratedClient: Count('Folders created because of changes (live migrations)'),
  filesMigratedScan: Count('Files copied by the scan'),
  dirsMigratedScan: Count('Folders created by the scan'),
  rawBytesMigrated: Count('Bytes written, including repeated writes'),
  successfulBytesMigrated: Count('Bytes of files copied'),
  rawBytesMigratedClient: Count('Bytes written because of changes'),
  successfulBytesMigratedClient: Count('Bytes of files copied because of changes'),
  rawBytesMigratedScan: Count('Bytes written by the scan'),
  successfulBytesMigratedScan: Count('Bytes of files copied by the scan'),
})

export const MigrationRecord = model('MigrationRecord', {
  migrationId,
  timeStamp: Count('Milliseconds since 1970'),
  migrationStats: Stats,
  ...changeFigures,
})

/** What people are shown of a record. */
export const recordColumns = [
  'migrationId',
  'timeStamp',
  'migrationStats.filesScanned',
  'migrationStats.filesMigrated',
  'migrationStats.successfulBytesMigrated',
]

export const bucketPeriods = ['SECOND', 'MINUTE', 'HOUR', 'DAY'] as const

const sizeRates = Object.fromEntries(
  fileSizeClassNames.map((name) => [name, Type.Number({ minimum: 0 })]),
) as Record<FileSizeClass, ReturnType<typeof Type.Number>>

export const RollingStats = model('RollingStats', {
  bucketPeriod: Type.Enum(bucketPeriods),
  startOfBucketPeriodTimeStamp: Count('Milliseconds since 1970'),
  startOfBucketPeriodTimeDate: Timestamp('The same time as text'),
  timeStampLastUpdateInBucketPeriod: Count('Milliseconds since 1970'),
  timeStampLastUpdateInBucketDate: Timestamp('The same time as text'),
  migrationStats: Stats,
  filesPerSecondForPeriod: Type.Number({ minimum: 0 }),
  dirsPerSecondForPeriod: Type.Number({ minimum: 0 }),
  fileCountBySizePerSecondForPeriod: strict(sizeRates),
  rawBytesPerSecondForPeriod: Type.Number({ minimum: 0 }),
  successfulBytesPerSecondForPeriod: Type.Number({ minimum: 0 }),
})
