import { Type } from 'typebox'
import { events, resource } from '../kit/contract.ts'
import { failureClassNames } from '../migrations/model/failure-classes.ts'
import {
  Count,
  list,
  model,
  Name,
  Nothing,
  page,
  strict,
  Text,
  Timestamp,
  usually,
  Uuid,
} from '../kit/schemas.ts'
import { catalogId, ruleName } from './names.ts'

export const migrationName = Name('Name of the migration')
const byName = strict({ migrationName })

/**
 * CREATED: never started. RUNNING: brings what is there, and follows changes unless it is for once. PAUSED: nothing is done;
 * it goes on from its place. STOPPED: nothing is done, and it has no place; a start compares everything again. COMPLETED: one for once has
 * nothing left to do. FAILED: somebody has to decide before it goes on.
 */
export const metadataStates = ['CREATED', 'RUNNING', 'PAUSED', 'STOPPED', 'COMPLETED', 'FAILED'] as const
export type MetadataState = (typeof metadataStates)[number]

const phases = ['comparing', 'following'] as const

/** Rules of one migration: each is looked at for each table. */
export const maxRulesOfMigration = 100

/** Objects that are dropped at the target without approval: what a person can look through. */
export const defaultMaxDrops = 100
/** The same as a share of all: more look like a source that is not the one it was. */
export const defaultMaxDropPercent = 20
/** So many are dropped whatever share of all they are: of a few objects, each is a large share. */
export const fewDrops = 10

/** How often everything is compared where nothing tells of changes: each table is asked for at both catalogs. */
export const defaultComparisonSeconds = 300
/** The same where the source tells of them. */
export const defaultHealingSeconds = 86_400

/** Of what statistics are brought. */
export const statisticsOf = ['all', 'tables', 'none'] as const
export type StatisticsOf = (typeof statisticsOf)[number]

const settings = {
  onConflict: Type.Optional(
    Type.Enum(['report', 'overwrite'], {
      description:
        'What to do with an object that another program created or changed at the target: report it without changing it, or overwrite it; default: report',
      ...usually('report'),
    }),
  ),
  statistics: Type.Optional(
    Type.Enum(statisticsOf, {
      description:
        'Which column statistics to migrate: all, those of tables but not of partitions, or none (query engines can recompute them); default: all',
      ...usually('all'),
    }),
  ),
  privileges: Type.Optional(
    Type.Boolean({
      description:
        'Migrate the privileges of databases, tables and columns. On objects that the migration created, those of the source replace those of the target; on other objects only if onConflict is overwrite. Default: false',
    }),
  ),
  comparisonPeriodSeconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 86_400,
      description: `Seconds between full comparisons. Default: ${defaultComparisonSeconds} if the source does not report changes; ${defaultHealingSeconds} if it does, to find changes that others made at the target`,
    }),
  ),
  maxDrops: Type.Optional(
    Count(
      `Maximum number of tables, views and databases dropped at the target without approval, in one comparison or within one hour, after they were dropped at the source; default: ${defaultMaxDrops}`,
    ),
  ),
  maxDropPercent: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      description: `The same limit as a percentage of all objects, for more than ${fewDrops} drops; default: ${defaultMaxDropPercent}`,
    }),
  ),
}

export const objectKinds = ['database', 'table', 'view', 'function'] as const
export type ObjectKind = (typeof objectKinds)[number]

/**
 * `arrived`: the target has it. `failed`: with its reason. `conflict`: somebody else has made or changed it at the target.
 * `waiting`: until its files, or the tables that it reads, have arrived. `held`: it is gone at the source, and its drop waits for approval.
 */
export const objectStates = ['arrived', 'failed', 'conflict', 'waiting', 'held'] as const

const MetadataObject = model('MetadataObject', {
  kind: Type.Enum(objectKinds, { description: 'Kind of the object' }),
  database: Text('Name of the database'),
  name: Type.Optional(Text('Name of the object; absent for a database')),
  state: Type.Enum(objectStates, { description: 'State of the object' }),
  failureClass: Type.Optional(Type.Enum(failureClassNames, { description: 'Class of the failure' })),
  message: Type.Optional(Text('Why the object is not at the target')),
  partitions: Type.Optional(Count('Partitions at the target')),
  time: Timestamp('Time of this result'),
})
export type MetadataObject = Type.Static<typeof MetadataObject>

const counts = {
  databases: Count('Databases at the target'),
  tables: Count('Tables and views at the target'),
  partitions: Count('Partitions at the target'),
  functions: Count('Functions at the target'),
  failed: Count('Objects that could not be migrated'),
  conflicts: Count('Objects created or changed by another program at the target'),
  waiting: Count('Objects waiting for their files'),
  held: Count('Drops waiting for approval'),
}

export const MetadataMigration = model('MetadataMigration', {
  migrationName,
  internalId: Uuid('Unique id of the migration; a new migration with the same name has another one'),
  source: catalogId,
  target: catalogId,
  ruleNames: list(ruleName, maxRulesOfMigration),
  once: Type.Boolean({ description: 'Whether the migration runs once, without following changes' }),
  onConflict: Type.Enum(['report', 'overwrite'], { description: 'What to do with conflicts' }),
  statistics: Type.Optional(
    Type.Enum(statisticsOf, { description: 'Which column statistics are migrated; absent: all' }),
  ),
  privileges: Type.Optional(
    Type.Boolean({ description: 'Whether privileges are migrated; absent: they are not' }),
  ),
  maxDrops: Count('Maximum number of drops without approval'),
  maxDropPercent: Count('The same limit as a percentage of all objects'),
  comparisonPeriodSeconds: Type.Optional(Count('Seconds between full comparisons; absent: the default')),
  state: Type.Enum(metadataStates, { description: 'State of the migration' }),
  phase: Type.Optional(
    Type.Enum(phases, {
      description: 'Phase of a running migration: comparing all objects, or following changes',
    }),
  ),
  reason: Type.Optional(Text('Why the migration makes no progress, retries objects, or has failed')),
  changeDetection: Type.Optional(
    Type.Enum(['events', 'comparison'], {
      description:
        'How changes are detected: by events of the catalog, or by comparing everything at intervals',
    }),
  ),
  changeDetectionReason: Type.Optional(Text('Why changes are detected in this way')),
  lagSeconds: Type.Optional(Count('Age of the oldest change that is not at the target yet, in seconds')),
  lagEvents: Type.Optional(Count('Events of the source that were not processed yet')),
  created: Timestamp('Creation time'),
  started: Type.Optional(Timestamp('Time of the last start')),
  compared: Type.Optional(Timestamp('Time of the last full comparison')),
  completed: Type.Optional(Timestamp('Completion time')),
  ...counts,
})
export type MetadataMigration = Type.Static<typeof MetadataMigration>

/** What became of each migration when a command was for several. */
const Outcomes = list(
  model('MetadataCommandOutcome', {
    migrationName,
    done: Type.Boolean({ description: 'Whether the command was carried out' }),
    state: Type.Enum(metadataStates, { description: 'State after the command' }),
    reason: Type.Optional(Text('Why the command was not carried out')),
  }),
)

const command = {
  errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE'],
  audit: { object: 'migrationName' },
} as const

function commandOf<V extends string>(verb: V, summary: string, description: string) {
  return {
    summary,
    description,
    input: byName,
    output: MetadataMigration,
    ...command,
    http: [{ method: 'POST', path: `/api/v1/metadata/migrations/{migrationName}/${verb}` }],
    cli: { args: ['migrationName'], example: `gantry metadata-migrations ${verb} lake` },
  } as const
}

function commandToAll<V extends string>(verb: V, summary: string) {
  return {
    summary,
    input: strict({}),
    output: Outcomes,
    errors: [],
    audit: {},
    http: [{ method: 'POST', path: `/api/v1/metadata/migrations/${verb}` }],
  } as const
}

const once = Type.Optional(
  Type.Boolean({
    description: 'Run once, without following changes; default: as before',
  }),
)

/** Migrations of metadata: databases, tables and what belongs to them, from one catalog to another. */
export const metadataMigrations = resource('metadata-migrations', {
  create: {
    summary: 'Create a metadata migration of the databases and tables that match rules',
    description:
      'The migration follows changes of the source unless once is set. It never changes files: migrate the files of the tables with a file migration.',
    input: strict({
      migrationName,
      source: catalogId,
      target: catalogId,
      ruleNames: Type.Array(ruleName, {
        minItems: 1,
        maxItems: maxRulesOfMigration,
        description: 'Rules; everything that matches one of them is migrated',
      }),
      once: Type.Optional(
        Type.Boolean({ description: 'Run once, without following changes; default: false' }),
      ),
      autoStart: Type.Optional(Type.Boolean({ description: 'Start the migration now; default: false' })),
      ...settings,
    }),
    output: MetadataMigration,
    errors: ['ALREADY_EXISTS', 'LIMIT_REACHED', 'NOT_FOUND', 'UNSUPPORTED'],
    audit: { object: 'migrationName' },
    http: [{ method: 'POST', path: '/api/v1/metadata/migrations', status: 201 }],
    cli: {
      args: ['migrationName'],
      example:
        'gantry metadata-migrations create lake --source here --target there --rule-names sales --auto-start',
    },
  },
  update: {
    summary: 'Change the rules or settings of a metadata migration',
    description: 'Omitted settings keep their values. A running migration compares everything again.',
    input: strict({
      migrationName,
      ruleNames: Type.Optional(
        Type.Array(ruleName, {
          minItems: 1,
          maxItems: maxRulesOfMigration,
          description: 'Rules; they replace the current ones',
        }),
      ),
      ...settings,
    }),
    output: MetadataMigration,
    errors: ['NOT_FOUND'],
    audit: { object: 'migrationName' },
    http: [{ method: 'PATCH', path: '/api/v1/metadata/migrations/{migrationName}' }],
    cli: {
      args: ['migrationName'],
      example: 'gantry metadata-migrations update lake --rule-names sales',
    },
  },
  list: {
    summary: 'List metadata migrations',
    input: strict({ ...page }),
    output: list(MetadataMigration),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/metadata/migrations' }],
    cli: {
      columns: ['migrationName', 'state', 'source', 'target', 'databases', 'tables', 'failed', 'reason'],
    },
  },
  get: {
    summary: 'Show a metadata migration and its progress',
    input: byName,
    output: MetadataMigration,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/metadata/migrations/{migrationName}' }],
    cli: { args: ['migrationName'] },
  },
  objects: {
    summary: 'List the databases, tables, views and functions of a metadata migration, with their states',
    input: strict({
      migrationName,
      state: Type.Optional(Type.Enum(objectStates, { description: 'Only objects in this state' })),
      limit: page.limit,
      after: Type.Optional(
        Text('Last object of the previous page: its kind, database and name, separated by /'),
      ),
    }),
    output: list(MetadataObject),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/metadata/migrations/{migrationName}/objects' }],
    cli: {
      args: ['migrationName'],
      columns: ['kind', 'database', 'name', 'state', 'message'],
      example: 'gantry metadata-migrations objects lake --state failed',
    },
  },
  start: {
    ...commandOf(
      'start',
      'Start a metadata migration',
      'Everything that matches the rules is compared first. Existing objects at the target stay.',
    ),
    input: strict({ migrationName, once }),
  },
  pause: commandOf(
    'pause',
    'Pause a metadata migration',
    'The migration keeps its position; resume continues from there.',
  ),
  resume: commandOf(
    'resume',
    'Resume a paused metadata migration',
    'The migration continues from its position.',
  ),
  stop: commandOf('stop', 'Stop a metadata migration', 'A later start compares everything again.'),
  reset: {
    ...commandOf(
      'reset',
      'Reset a metadata migration to start over (objects at the target stay)',
      'The state becomes CREATED. After the next start, objects at the target are compared as if the migration had never run.',
    ),
    input: strict({
      migrationName,
      forceStop: Type.Optional(
        Type.Boolean({ description: 'Stop the migration first if it is running; default: false' }),
      ),
    }),
  },
  'approve-drops': commandOf(
    'approve-drops',
    'Approve the pending drops at the target',
    'Approves the drops that are held now. They are carried out by the next comparison, which starts immediately.',
  ),
  'start-all': {
    ...commandToAll('start', 'Start all metadata migrations that can be started'),
    input: strict({ once }),
  },
  'pause-all': commandToAll('pause', 'Pause all running metadata migrations'),
  'resume-all': commandToAll('resume', 'Resume all paused metadata migrations'),
  'stop-all': commandToAll('stop', 'Stop all running and paused metadata migrations'),
  delete: {
    summary: 'Delete a metadata migration that is not running (objects at the target stay)',
    input: strict({
      migrationName,
      forceStop: Type.Optional(
        Type.Boolean({ description: 'Stop the migration first if it is running; default: false' }),
      ),
    }),
    output: Nothing,
    ...command,
    http: [{ method: 'DELETE', path: '/api/v1/metadata/migrations/{migrationName}' }],
    cli: { args: ['migrationName'] },
  },
})

const fact = {
  migrationName,
  internalId: Uuid('Unique id of the migration; a new migration with the same name has another one'),
  state: Type.Enum(metadataStates),
}
const change = { ...fact, previous: Type.Enum(metadataStates, { description: 'Previous state' }) }

export const metadataMigrationEvents = events('metadata-migrations', {
  created: { summary: 'A metadata migration was created', payload: strict(fact) },
  updated: { summary: 'The rules or settings of a metadata migration were changed', payload: strict(fact) },
  changed: {
    summary: 'A metadata migration was started, paused, stopped or reset, or it completed or failed',
    payload: strict({ ...change, reason: Type.Optional(Text('Why the migration failed')) }),
  },
  compared: {
    summary: 'A metadata migration completed a full comparison',
    payload: strict({ ...fact, ...counts }),
  },
  deleted: { summary: 'A metadata migration was deleted', payload: strict(fact) },
})
