import { Type } from 'typebox'
import { movedByOrSetting } from './agents.ts'
import { resource } from '../kit/contract.ts'
import { commandDeadlineMs, migrationCommands, watchNext } from './commands.ts'
import { comparisonPeriodSeconds } from './model/changes.ts'
import { failureContracts } from './failures.ts'
import { Info, InfoList, MigrationRecord, recordColumns, RollingStats } from './model/figures.ts'
import { LinkPolicy, MetadataChoice } from './model/metadata.ts'
import {
  actionPolicy,
  additionalProperties,
  EnteredState,
  maxKeptStates,
  Migration,
  migrationId,
  migrationPriority,
} from './model/model.ts'
import { recurringPeriod, recurringSchedule, recurringTimeZone, recurringWindow } from './model/recurrence.ts'
import { targetMatchFields } from './model/target-match.ts'
import { cleanupFields } from './model/source-cleanup.ts'
import { migrationPlan } from './plan.ts'
import { migrationWork } from './work.ts'
import { Count, GivenPath, list, maxPageLength, Name, page, strict, Uuid } from '../kit/schemas.ts'
import { migrationRules } from './model/rules.ts'

const audit = { object: 'migrationId' } as const
const byId = strict({ migrationId })

export const migrations = resource('migrations', {
  create: {
    summary: 'Create a migration, and optionally start it',
    input: strict({
      migrationId: Type.Optional(Name('Migration name (generated if omitted)')),
      path: GivenPath(
        'Folder to migrate; its path at the target is the same unless a path mapping changes it',
      ),
      source: Type.Optional(Name('Source filesystem; may be omitted if there is only one')),
      target: Name('Target filesystem'),
      actionPolicy: actionPolicy('Overwrite'),
      movedBy: Type.Optional(movedByOrSetting),
      ...targetMatchFields,
      ...cleanupFields,
      autoSourceCleanupEnabled: Type.Optional(
        Type.Boolean({
          description:
            'Clean up the source immediately after completion, the same as deletionMode IMMEDIATE_DELETION; default: false',
        }),
      ),
      metadata: Type.Optional(MetadataChoice),
      links: Type.Optional(LinkPolicy),
      autoStart: Type.Optional(Type.Boolean({ description: 'Start the migration now; default false' })),
      scanOnlyMigration: Type.Optional(
        Type.Boolean({
          description:
            'Copy what the scan finds, and complete; otherwise the migration is live and keeps following changes. Default: the setting of the source (scanOnly)',
        }),
      ),
      recurringMigration: Type.Optional(
        Type.Boolean({ description: 'Repeat the scan by a period or a schedule; default: false' }),
      ),
      recurringPeriod,
      recurringSchedule,
      recurringTimeZone,
      recurringWindow,
      migrationPriority: migrationPriority('NORMAL'),
      comparisonPeriodSeconds,
      additionalProperties,
      ...migrationRules,
    }),
    output: Migration,
    errors: [
      'ALREADY_EXISTS',
      'LIMIT_REACHED',
      'NOT_FOUND',
      'UNSUPPORTED',
      'STORE_REFUSED',
      'STORE_UNREACHABLE',
    ],
    audit: {
      ...audit,
      details: [
        'source',
        'target',
        'path',
        'actionPolicy',
        'targetMatch',
        'scanOnlyMigration',
        'recurringMigration',
        'recurringPeriod',
        'recurringSchedule',
        'migrationPriority',
      ],
    },
    http: [{ method: 'POST', path: '/api/v1/migrations', status: 201 }],
    cli: {
      example: 'gantry migrations create --path / --source here --target there --auto-start',
      next: [
        { command: 'gantry migrations start {migrationId}', when: { field: 'state', is: 'NONSCHEDULED' } },
        watchNext,
      ],
    },
    deadlineMs: commandDeadlineMs,
  },
  list: {
    summary: 'List migrations',
    input: strict({
      ...page,
      fileSystemId: Type.Optional(Name('Only migrations from or to this filesystem')),
      internalId: Type.Optional(Uuid('Only the migration with this internal id')),
      migrationIds: Type.Optional(
        Type.Array(Name('A migration'), {
          maxItems: maxPageLength,
          description: 'Only these migrations, as far as they exist',
        }),
      ),
    }),
    output: list(Migration),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/migrations' }],
    cli: { columns: ['migrationId', 'state', 'path', 'source', 'target', 'failedPathCount', 'stateText'] },
  },
  get: {
    summary: 'Show a migration',
    input: byId,
    output: Migration,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}' }],
    cli: { args: ['migrationId'] },
  },
  ...migrationCommands,
  ...migrationWork,
  ...failureContracts,
  ...migrationPlan,
  progress: {
    summary: 'Show the progress of a migration',
    input: byId,
    output: Info,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/progress' }],
    cli: { args: ['migrationId'] },
  },
  states: {
    summary: 'Show when a migration entered its states, oldest first',
    description: `The last ${maxKeptStates} changes of state are kept. A migration stays in a state until it enters the next one.`,
    input: byId,
    output: list(EnteredState, maxKeptStates),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/states' }],
    cli: { args: ['migrationId'] },
  },
  stats: {
    summary: 'Show what was migrated in the current second, minute, hour and day',
    input: strict({}),
    output: list(RollingStats),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/stats' }],
    cli: {
      columns: [
        'bucketPeriod',
        'startOfBucketPeriodTimeDate',
        'migrationStats.filesMigrated',
        'migrationStats.successfulBytesMigrated',
        'filesPerSecondForPeriod',
        'successfulBytesPerSecondForPeriod',
      ],
    },
  },
  summary: {
    summary: 'Show all migrations by state, with their progress',
    description:
      'A list contains at most 1,000 migrations, and the whole reply about 3,000; active migrations come first. Counts include all migrations: if a count is larger than its list, use the list of migrations for the others, page by page.',
    input: strict({}),
    output: strict({
      overallCount: Count('Number of all migrations'),
      ready: InfoList,
      running: InfoList,
      stopped: InfoList,
      completed: InfoList,
      live: InfoList,
      waitingForNextRecurrence: InfoList,
      recurrenceScheduled: InfoList,
      migrationStats: list(MigrationRecord),
    }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/stats/migrations' }],
    cli: {
      columns: [
        'id',
        'progress.migratedPercentage',
        'progress.filesMigrated',
        'progress.migratedBytes',
        'progress.failedPaths',
        ...recordColumns,
      ],
    },
  },
})
