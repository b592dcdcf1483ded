import { Type } from 'typebox'
import { conditions } from './conditions.ts'
import { changeFigures } from './changes.ts'
import { internalId, migrationId, migrationStates } from './model.ts'
import { type FileSizeClass, fileSizeClassNames } from './terms.ts'
import { Count, countFields, list, model, Path, strict, Timestamp } from '../../kit/schemas.ts'
import { vanishedFigures } from './vanished.ts'

const Progress = model('Progress', {
  totalBytes: Count('Bytes found so far'),
  migratedBytes: Count(
    'Bytes at the target, those that were there already and those of files that are under way included',
  ),
  excludedBytes: Count('Bytes that are not to be copied'),
  totalMigratedBytes: Count('Bytes copied, those of files that are under way included'),
  totalScannedBytes: Count('Bytes found so far'),
  migratedPercentage: Type.Integer({
    minimum: 0,
    maximum: 100,
    description:
      'Share of what was found that is at the target, or was gone from the source before it was copied; below 100 while anything is left or has failed',
  }),
  duration: strict({ inSeconds: Count('Seconds'), asText: Type.String({ maxLength: 60 }) }),
  etaEstimate: Type.Optional(strict({ inSeconds: Count('Seconds'), asText: Type.String({ maxLength: 60 }) })),
  filesScanned: Count('Files found so far, in all scans: a folder that is scanned again is counted again'),
  filesMigrated: Count('Files copied'),
  filesSkipped: Count('Files that were at the target already'),
  foldersScanned: Count('Folders found so far'),
  failedPaths: Count('Paths that did not arrive'),
  ...vanishedFigures,
  ...changeFigures,
  migratedBytesByScan: Count('Bytes of files that arrived because the scan found them'),
  migratedBytesByChanges: Count('Bytes of files that arrived because changes told of them'),
})

export const Info = model('MigrationProgress', {
  id: migrationId,
  internalId,
  path: Path('Folder that is migrated'),
  pathRetryCount: Count('Tries after the first, of all paths together'),
  state: Type.Enum(migrationStates),
  baseScanCompletionTime: Type.Optional(
    Timestamp(
      'Live migrations: when all that was there was found and copied; migratedPercentage says nothing from then on',
    ),
  ),
  nextRecurrenceTime: Type.Optional(Timestamp('When the next scan is to begin')),
  conditions,
  progress: Progress,
})
export const InfoList = model('MigrationList', { migrations: list(Info), count: Count('How many') })

const sizeLimits: Readonly<Record<FileSizeClass, string>> = {
  filesUpTo1KiB: 'Files of 1 KiB at most',
  filesUpTo1MiB: 'Larger ones, of 1 MiB at most',
  filesUpTo1GiB: 'Larger ones, of 1 GiB at most',
  filesLarger: 'Still larger ones',
}
/** Files by their size; the existing product names no classes. */
export const FilesBySize = model('FilesBySize', countFields(sizeLimits))

/** Totals since the migration began; the wire's split of scan and client activity is by what caused the copy. */
export const Stats = model('Stats', {
  filesScanned: Count('Files found, in all scans together'),
  dirsScanned: Count('Folders found'),
  filesExcluded: Count('Files that rules left out'),
  dirsExcluded: Count('Folders that rules left out'),
  bytesExcluded: Count('Bytes of the files that rules left out'),
  eventsExcluded: Count(
    'Changes of live migrations that rules left out; in a folder that is left out nobody listens',
  ),
  filesMigrated: Count('Files copied'),
  fileCountBySize: FilesBySize,
  dirsMigrated: Count('Folders made'),
  filesMigratedClient: Count('Files copied because a change of a live migration told of them'),
  dirsMigratedClient: Count('Folders made because a change told of them'),
  filesMigratedScan: Count('Files copied because the scan found them'),
  dirsMigratedScan: Count('Folders made because the scan found them'),
  rawBytesMigrated: Count('Bytes written, repeated writes included'),
  successfulBytesMigrated: Count('Bytes of files that arrived'),
  rawBytesMigratedClient: Count('Bytes written because of changes'),
  successfulBytesMigratedClient: Count('Bytes of files that arrived because of changes'),
  rawBytesMigratedScan: Count('Bytes written because of the scan'),
  successfulBytesMigratedScan: Count('Bytes of files that arrived because of the scan'),
})

export const MigrationRecord = model('MigrationRecord', {
  migrationId,
  timeStamp: Count('Milliseconds since 1970'),
  migrationStats: Stats,
  ...changeFigures,
})

export const bucketPeriods = ['SECOND', 'MINUTE', 'HOUR', 'DAY'] as const

const sizeRates = Object.fromEntries(
  fileSizeClassNames.map((name) => [name, Type.Number({ minimum: 0 })]),
) as Record<FileSizeClass, ReturnType<typeof Type.Number>>

export const RollingStats = model('RollingStats', {
  bucketPeriod: Type.Enum(bucketPeriods),
  startOfBucketPeriodTimeStamp: Count('Milliseconds since 1970'),
  startOfBucketPeriodTimeDate: Timestamp('The same as text'),
  timeStampLastUpdateInBucketPeriod: Count('Milliseconds since 1970'),
  timeStampLastUpdateInBucketDate: Timestamp('The same as text'),
  migrationStats: Stats,
  filesPerSecondForPeriod: Type.Number({ minimum: 0 }),
  dirsPerSecondForPeriod: Type.Number({ minimum: 0 }),
  fileCountBySizePerSecondForPeriod: strict(sizeRates),
  rawBytesPerSecondForPeriod: Type.Number({ minimum: 0 }),
  successfulBytesPerSecondForPeriod: Type.Number({ minimum: 0 }),
})
