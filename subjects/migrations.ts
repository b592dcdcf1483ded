import { Type } from 'typebox'
import { resource } from './contract.ts'
import { failureContracts } from './migration-failures.ts'
import { Info, InfoList, RollingStats } from './migration-figures.ts'
import { actionPolicy, Migration, migrationId } from './migration-model.ts'
import { Count, list, Name, Nothing, page, Path, strict } from './schemas.ts'

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
  ...failureContracts,
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
