import { Type } from 'typebox'
import { conditions } from './conditions.ts'
import { changeFigures } from './migration-changes.ts'
import { internalId, migrationId, migrationStates } from './migration-model.ts'
import { Count, list, model, Path, strict, Timestamp } from './schemas.ts'

const Progress = model('Progress', {
  totalBytes: Count('Bytes found so far'),
  migratedBytes: Count(
    'Bytes at the target, those that were there already and those of files that are under way included',
  ),
  excludedBytes: Count('Bytes that are not to be copied'),
  totalMigratedBytes: Count('Bytes copied, those of files that are under way included'),
  totalScannedBytes: Count('Bytes found so far'),
  migratedPercentage: Type.Integer({ minimum: 0, maximum: 100 }),
  duration: strict({ inSeconds: Count('Seconds'), asText: Type.String({ maxLength: 60 }) }),
  etaEstimate: Type.Optional(strict({ inSeconds: Count('Seconds'), asText: Type.String({ maxLength: 60 }) })),
  filesScanned: Count('Files found so far'),
  filesMigrated: Count('Files copied'),
  filesSkipped: Count('Files that were at the target already'),
  foldersScanned: Count('Folders found so far'),
  failedPaths: Count('Paths that did not arrive'),
  ...changeFigures,
})

export const Info = model('MigrationProgress', {
  id: migrationId,
  internalId,
  path: Path('Folder that is migrated'),
  state: Type.Enum(migrationStates),
  nextRecurrenceTime: Type.Optional(Timestamp('When the next scan is to begin')),
  conditions,
  progress: Progress,
})
export const InfoList = model('MigrationList', { migrations: list(Info), count: Count('How many') })

/** Totals since the migration began; the wire's split of scan and client activity is by what caused the copy. */
export const Stats = model('Stats', {
  filesScanned: Count('Files found'),
  dirsScanned: Count('Folders found'),
  filesExcluded: Count('Files that rules left out'),
  dirsExcluded: Count('Folders that rules left out'),
  bytesExcluded: Count('Bytes of the files that rules left out'),
  filesMigrated: Count('Files copied'),
  dirsMigrated: Count('Folders made'),
  filesMigratedScan: Count('Files copied because the scan found them'),
  dirsMigratedScan: Count('Folders made because the scan found them'),
  rawBytesMigrated: Count('Bytes written, repeated writes included'),
  successfulBytesMigrated: Count('Bytes of files that arrived'),
  rawBytesMigratedScan: Count('Bytes written because of the scan'),
  successfulBytesMigratedScan: Count('Bytes of files that arrived because of the scan'),
})

export const bucketPeriods = ['SECOND', 'MINUTE', 'HOUR', 'DAY'] as const

export const RollingStats = model('RollingStats', {
  bucketPeriod: Type.Enum(bucketPeriods),
  startOfBucketPeriodTimeStamp: Count('Milliseconds since 1970'),
  startOfBucketPeriodTimeDate: Timestamp('The same as text'),
  timeStampLastUpdateInBucketPeriod: Count('Milliseconds since 1970'),
  timeStampLastUpdateInBucketDate: Timestamp('The same as text'),
  migrationStats: Stats,
  filesPerSecondForPeriod: Type.Number({ minimum: 0 }),
  dirsPerSecondForPeriod: Type.Number({ minimum: 0 }),
  rawBytesPerSecondForPeriod: Type.Number({ minimum: 0 }),
  successfulBytesPerSecondForPeriod: Type.Number({ minimum: 0 }),
})
