import { Type } from 'typebox'
import { movedBy } from './agents.ts'
import { resource } from '../kit/contract.ts'
import { commandDeadlineMs, migrationCommands } from './commands.ts'
import { comparisonPeriodSeconds } from './model/changes.ts'
import { failureContracts } from './failures.ts'
import { Info, InfoList, MigrationRecord, RollingStats } from './model/figures.ts'
import { LinkPolicy, MetadataChoice } from './model/metadata.ts'
import {
  actionPolicy,
  additionalProperties,
  Migration,
  migrationId,
  migrationPriority,
} from './model/model.ts'
import { recurringPeriod, recurringSchedule, recurringTimeZone, recurringWindow } from './model/recurrence.ts'
import { targetMatchFields } from './model/target-match.ts'
import { cleanupFields } from './model/source-cleanup.ts'
import { migrationPlan } from './plan.ts'
import { migrationWork } from './work.ts'
import { Count, GivenPath, list, Name, page, strict, Uuid } from '../kit/schemas.ts'
import { migrationRules } from './model/rules.ts'

const audit = { object: 'migrationId' } as const
const byId = strict({ migrationId })

export const migrations = resource('migrations', {
  create: {
    summary: 'Define a migration, and start it if asked',
    input: strict({
      migrationId: Type.Optional(Name('Name of the migration; default: a generated one')),
      path: GivenPath('Folder to migrate; the same at the target, unless a path mapping leads elsewhere'),
      source: Type.Optional(Name('Source filesystem; default: the only one there is')),
      target: Name('Target filesystem'),
      actionPolicy: actionPolicy('Overwrite'),
      movedBy: Type.Optional(movedBy),
      ...targetMatchFields,
      ...cleanupFields,
      autoSourceCleanupEnabled: Type.Optional(
        Type.Boolean({ description: 'The same as deletionMode IMMEDIATE_DELETION, where that is not given' }),
      ),
      metadata: Type.Optional(MetadataChoice),
      links: Type.Optional(LinkPolicy),
      autoStart: Type.Optional(Type.Boolean({ description: 'Start at once; default false' })),
      scanOnlyMigration: Type.Optional(
        Type.Boolean({
          description:
            'Copy what is there and be done (true), or go on to follow changes (false: a live migration); default: as the source says (its scanOnly)',
        }),
      ),
      recurringMigration: Type.Optional(Type.Boolean({ description: 'Scan again and again; default false' })),
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
    audit,
    http: [{ method: 'POST', path: '/api/v1/migrations', status: 201 }],
    cli: { example: 'gantry migrations create --path / --source here --target there --auto-start' },
    deadlineMs: commandDeadlineMs,
  },
  list: {
    summary: 'All migrations',
    input: strict({
      ...page,
      fileSystemId: Type.Optional(Name('Only those from or to this filesystem')),
      internalId: Type.Optional(Uuid('Only the one with this internal id')),
    }),
    output: list(Migration),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/migrations' }],
    cli: { columns: ['migrationId', 'state', 'path', 'source', 'target', 'failedPathCount', 'stateText'] },
  },
  get: {
    summary: 'One migration',
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
    summary: 'How far a migration is',
    input: byId,
    output: Info,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/progress' }],
    cli: { args: ['migrationId'] },
  },
  stats: {
    summary: 'What was moved in the current second, minute, hour and day',
    input: strict({}),
    output: list(RollingStats),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/stats' }],
  },
  summary: {
    summary: 'All migrations by state, with their progress',
    description:
      'A list has 1,000 at most, and all of them what fits into a reply (some 3,000), those that are under way first. Each count is of all: where it is larger than its list, the list of migrations has the others, page by page.',
    input: strict({}),
    output: strict({
      overallCount: Count('All migrations'),
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
  },
})
