import { type Static, Type } from 'typebox'
import { resource } from './contract.ts'
import { Count, list, model, Name, Nothing, page, Path, strict, Text, Timestamp, Uuid } from './schemas.ts'

const migrationId = Name('Name of the migration')
const internalId = Uuid('Another migration of the same name has another')

/**
 * What happens to a file that is at the target already. The long names are those of the existing product's API, so that
 * its scripts work; the short ones are ours.
 */
export const actionPolicies = {
  Overwrite: 'com.wandisco.livemigrator2.migration.OverwriteActionPolicy',
  SkipIfSizeMatch: 'com.wandisco.livemigrator2.migration.SkipIfSizeMatchActionPolicy',
} as const
export type ActionPolicy = keyof typeof actionPolicies

const policyNames = Object.keys(actionPolicies) as ActionPolicy[]
const actionPolicy = Type.Optional(
  Type.Enum([...policyNames, ...Object.values(actionPolicies)], {
    description: 'What happens to a file that is at the target already; default Overwrite',
  }),
)

/** Wire states. This release makes one-time migrations; those of live and recurring ones come with them. */
export const migrationStates = ['NONSCHEDULED', 'RUNNING', 'STOPPING', 'STOPPED', 'COMPLETED'] as const
export type MigrationState = (typeof migrationStates)[number]

const Matrix = strict({
  byteCount: Count('Bytes'),
  fileCount: Count('Files and symbolic links'),
  directoryCount: Count('Folders'),
})

export const Migration = model('Migration', {
  migrationId,
  internalId,
  path: Path('Folder that is migrated, the same in source and target'),
  source: Name('Source filesystem'),
  target: Name('Target filesystem'),
  state: Type.Enum(migrationStates),
  resumable: Type.Boolean({ description: 'Whether a stopped migration can go on where it was' }),
  abortReason: Type.Optional(Type.Enum(['AUTO_ABORTED', 'MANUALLY_ABORTED_BY_USER'])),
  scanOnlyMigration: Type.Boolean({ description: 'One-time: what is there is copied once' }),
  targetActionPolicy: Type.Enum(Object.values(actionPolicies)),
  migrationCreatedTime: Timestamp('When it was made'),
  migrationStartTime: Type.Optional(Timestamp('When it was started first')),
  migrationCompleteTime: Type.Optional(Timestamp('When it was completed')),
  scannerSummary: strict({
    progressSummary: strict({
      filesScanned: Count('Files found'),
      directoriesScanned: Count('Folders found'),
      bytesScanned: Count('Their bytes'),
    }),
    contentSummary: Matrix,
  }),
  clientActivitySummary: Matrix,
  failedPathCount: Count('Paths that did not arrive; see failures'),
})
export type Migration = Static<typeof Migration>

const Progress = model('Progress', {
  totalBytes: Count('Bytes found so far'),
  migratedBytes: Count('Bytes at the target, those that were there already included'),
  excludedBytes: Count('Bytes that are not to be copied'),
  totalMigratedBytes: Count('Bytes copied'),
  totalScannedBytes: Count('Bytes found so far'),
  migratedPercentage: Type.Integer({ minimum: 0, maximum: 100 }),
  duration: strict({ inSeconds: Count('Seconds'), asText: Type.String({ maxLength: 60 }) }),
  etaEstimate: Type.Optional(strict({ inSeconds: Count('Seconds'), asText: Type.String({ maxLength: 60 }) })),
  filesScanned: Count('Files found so far'),
  filesMigrated: Count('Files copied'),
  filesSkipped: Count('Files that were at the target already'),
  foldersScanned: Count('Folders found so far'),
  failedPaths: Count('Paths that did not arrive'),
})

const Info = model('MigrationProgress', {
  id: migrationId,
  internalId,
  path: Path('Folder that is migrated'),
  state: Type.Enum(migrationStates),
  progress: Progress,
})
const InfoList = model('MigrationList', { migrations: list(Info), count: Count('How many') })

/** Totals since the migration began; the wire's split of scan and client activity is by what caused the copy. */
const Stats = model('Stats', {
  filesScanned: Count('Files found'),
  dirsScanned: Count('Folders found'),
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

const RollingStats = model('RollingStats', {
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

/** Longest page of failures, as the existing product keeps. */
const maxFailures = 10_000

const Failures = model('Failures', {
  migrationId,
  internalId,
  failedPathCount: Count('All, not this page alone'),
  failedPaths: list(
    strict({
      id: Count('Grows; the id of the last one of a page is `after` of the next'),
      path: Path('Path in the source; what is not printable is percent-encoded'),
      failureMessage: Text('Why it did not arrive'),
      failureClass: Type.String({ maxLength: 40, description: 'gone, permission, name, unsupported …' }),
      attempts: Count('Tries'),
      action: Type.Enum(['MIGRATION']),
      dateFailed: Timestamp('When it was given up'),
      timeStamp: Count('The same in milliseconds since 1970'),
    }),
    maxFailures,
  ),
})

const audit = { object: 'migrationId' } as const
const stateErrors = ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE'] as const
const byId = strict({ migrationId })

/** Making a queue and asking both stores takes longer than a look at a record. */
const commandDeadlineMs = 30_000
/** What the commands to one migration have in common. */
const command = { errors: stateErrors, audit, deadlineMs: commandDeadlineMs } as const

export const migrations = resource('migrations', {
  create: {
    summary: 'Define a migration, and start it if asked',
    input: strict({
      migrationId: Type.Optional(Name('Name of the migration; default: one is made')),
      path: Path('Folder to migrate, the same in source and target'),
      source: Type.Optional(Name('Source filesystem; default: the only one there is')),
      target: Name('Target filesystem'),
      actionPolicy,
      autoStart: Type.Optional(Type.Boolean({ description: 'Start at once; default false' })),
      scanOnlyMigration: Type.Optional(
        Type.Boolean({
          description: 'Copy once, without watching for changes; default: as the source is (local: true)',
        }),
      ),
    }),
    output: Migration,
    errors: ['ALREADY_EXISTS', 'NOT_FOUND', 'UNSUPPORTED', 'STORE_REFUSED', 'STORE_UNREACHABLE'],
    audit,
    http: [
      { server: 'migrator', method: 'PUT', path: '/migrations/{migrationId}', query: 'all', status: 201 },
      { server: 'platform', method: 'POST', path: '/api/v1/migrations', status: 201 },
    ],
    cli: { example: 'gantry migrations create --path / --source here --target there --auto-start' },
    deadlineMs: commandDeadlineMs,
  },
  list: {
    summary: 'All migrations',
    input: strict({ ...page, fileSystemId: Type.Optional(Name('Only those from or to this filesystem')) }),
    output: list(Migration),
    errors: [],
    http: [
      { server: 'migrator', method: 'GET', path: '/migrations' },
      { server: 'platform', method: 'GET', path: '/api/v1/migrations' },
    ],
    cli: { columns: ['migrationId', 'state', 'path', 'source', 'target', 'failedPathCount'] },
  },
  get: {
    summary: 'One migration',
    input: byId,
    output: Migration,
    errors: ['NOT_FOUND'],
    http: [
      { server: 'migrator', method: 'GET', path: '/migrations/{migrationId}' },
      { server: 'platform', method: 'GET', path: '/api/v1/migrations/{migrationId}' },
    ],
    cli: { args: ['migrationId'] },
  },
  start: {
    summary: 'Start a migration that was never started, or go on with a stopped one',
    input: byId,
    output: Migration,
    ...command,
    http: [
      { server: 'migrator', method: 'POST', path: '/migrations/{migrationId}/start' },
      { server: 'platform', method: 'POST', path: '/api/v1/migrations/{migrationId}/start' },
    ],
    cli: { args: ['migrationId'], example: 'gantry migrations start nightly' },
  },
  stop: {
    summary: 'Stop a migration',
    description:
      'Work in hand is finished. With resumable=false what is left of it is forgotten, and it cannot go on.',
    input: strict({
      migrationId,
      resumable: Type.Optional(Type.Boolean({ description: 'Whether it can go on later; default true' })),
    }),
    output: Migration,
    ...command,
    http: [
      { server: 'migrator', method: 'POST', path: '/migrations/{migrationId}/stop', query: ['resumable'] },
      { server: 'platform', method: 'POST', path: '/api/v1/migrations/{migrationId}/stop' },
    ],
    cli: { args: ['migrationId'] },
  },
  resume: {
    summary: 'Go on with a stopped migration',
    input: byId,
    output: Migration,
    ...command,
    http: [
      { server: 'migrator', method: 'POST', path: '/migrations/{migrationId}/resume' },
      { server: 'platform', method: 'POST', path: '/api/v1/migrations/{migrationId}/resume' },
    ],
    cli: { args: ['migrationId'] },
  },
  delete: {
    summary: 'Forget a migration that is not running; what it copied stays',
    input: byId,
    output: Nothing,
    ...command,
    http: [
      { server: 'migrator', method: 'DELETE', path: '/migrations/{migrationId}' },
      { server: 'platform', method: 'DELETE', path: '/api/v1/migrations/{migrationId}' },
    ],
    cli: { args: ['migrationId'] },
  },
  failures: {
    summary: 'The paths that did not arrive, each with its reason',
    input: strict({
      migrationId,
      since: Type.Optional(Timestamp('Only those given up after this moment')),
      after: Type.Optional(Count('Only those with a higher id')),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: maxFailures, description: 'Longest page; default 1000' }),
      ),
    }),
    output: Failures,
    errors: ['NOT_FOUND'],
    http: [
      { server: 'migrator', method: 'GET', path: '/migrations/{migrationId}/failures' },
      { server: 'platform', method: 'GET', path: '/api/v1/migrations/{migrationId}/failures' },
    ],
    cli: { args: ['migrationId'], columns: ['id', 'path', 'failureClass', 'failureMessage'] },
  },
  progress: {
    summary: 'How far a migration is',
    input: byId,
    output: Info,
    errors: ['NOT_FOUND'],
    http: [
      { server: 'migrator', method: 'GET', path: '/stats/migrationInfo/{migrationId}' },
      { server: 'platform', method: 'GET', path: '/api/v1/migrations/{migrationId}/progress' },
    ],
    cli: { args: ['migrationId'] },
  },
  stats: {
    summary: 'What was moved in the current second, minute, hour and day',
    input: strict({}),
    output: list(RollingStats),
    errors: [],
    http: [
      { server: 'migrator', method: 'GET', path: '/stats' },
      { server: 'platform', method: 'GET', path: '/api/v1/stats' },
    ],
  },
  summary: {
    summary: 'All migrations by state, with their progress',
    input: strict({}),
    output: strict({
      overallCount: Count('All migrations'),
      ready: InfoList,
      running: InfoList,
      stopped: InfoList,
      completed: InfoList,
      live: InfoList,
    }),
    errors: [],
    http: [
      { server: 'migrator', method: 'GET', path: '/stats/migrationSummary' },
      { server: 'platform', method: 'GET', path: '/api/v1/stats/migrations' },
    ],
  },
})
