import { Type } from 'typebox'
import { events, resource } from '../kit/contract.ts'
import { failureClassNames } from '../migrations/model/failure-classes.ts'
import { Count, list, model, Name, Nothing, page, strict, Text, Timestamp, Uuid } from '../kit/schemas.ts'
import { catalogId } from './catalogs.ts'
import { ruleName } from './rules.ts'

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

const settings = {
  onConflict: Type.Optional(
    Type.Enum(['report', 'overwrite'], {
      description:
        'What becomes of an object that somebody else has made or changed at the target: reported and left alone, or overwritten; default report',
    }),
  ),
  comparisonPeriodSeconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 86_400,
      description: `Seconds from one comparison of all objects to the next, where the source does not tell of its changes (default ${defaultComparisonSeconds}), or does (default ${defaultHealingSeconds}: it finds what others have changed at the target)`,
    }),
  ),
  maxDrops: Type.Optional(
    Count(
      `Tables, views and databases that are dropped at the target without approval, as they are dropped at the source, in one comparison or within an hour; default ${defaultMaxDrops}`,
    ),
  ),
  maxDropPercent: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      description: `The same as a share of all objects, where they are more than ${fewDrops}; default ${defaultMaxDropPercent}`,
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
  kind: Type.Enum(objectKinds, { description: 'What it is' }),
  database: Text('Name of its database'),
  name: Type.Optional(Text('Its name; a database has none beside')),
  state: Type.Enum(objectStates, { description: 'What became of it' }),
  failureClass: Type.Optional(Type.Enum(failureClassNames, { description: 'Kind of the reason' })),
  message: Type.Optional(Text('Why it has not arrived')),
  partitions: Type.Optional(Count('Partitions that have arrived')),
  time: Timestamp('When that was found out'),
})
export type MetadataObject = Type.Static<typeof MetadataObject>

const counts = {
  databases: Count('Databases at the target'),
  tables: Count('Tables and views at the target'),
  partitions: Count('Partitions at the target'),
  functions: Count('Functions at the target'),
  failed: Count('Objects that did not arrive'),
  conflicts: Count('Objects that somebody else has made or changed at the target'),
  waiting: Count('Objects that wait for their files'),
  held: Count('Drops that wait for approval'),
}

export const MetadataMigration = model('MetadataMigration', {
  migrationName,
  internalId: Uuid('Another migration of the same name has another'),
  source: catalogId,
  target: catalogId,
  ruleNames: list(ruleName, maxRulesOfMigration),
  once: Type.Boolean({ description: 'Whether it brings what is there, and follows no changes' }),
  onConflict: Type.Enum(['report', 'overwrite'], { description: 'What becomes of conflicts' }),
  maxDrops: Count('Drops without approval'),
  maxDropPercent: Count('The same as a share of all objects'),
  comparisonPeriodSeconds: Type.Optional(
    Count('Seconds from one comparison to the next, where not as usual'),
  ),
  state: Type.Enum(metadataStates, { description: 'State' }),
  phase: Type.Optional(
    Type.Enum(phases, {
      description: 'Of one that runs: comparing all that is there, or following changes',
    }),
  ),
  reason: Type.Optional(Text('Why it does not get on, or has failed')),
  changeDetection: Type.Optional(
    Type.Enum(['events', 'comparison'], {
      description:
        'How changes become known: the catalog tells of them, or everything is compared from time to time',
    }),
  ),
  changeDetectionReason: Type.Optional(Text('Why')),
  lagSeconds: Type.Optional(Count('Seconds since the first change that is not at the target')),
  lagEvents: Type.Optional(Count('Events of the source that were not looked at')),
  created: Timestamp('When it was made'),
  started: Type.Optional(Timestamp('When it was started last')),
  compared: Type.Optional(Timestamp('When everything was compared last')),
  completed: Type.Optional(Timestamp('When it had nothing left to do')),
  ...counts,
})
export type MetadataMigration = Type.Static<typeof MetadataMigration>

/** What became of each migration when a command was for several. */
const Outcomes = list(
  model('MetadataCommandOutcome', {
    migrationName,
    done: Type.Boolean({ description: 'Whether the command was carried out' }),
    state: Type.Enum(metadataStates, { description: 'State then' }),
    reason: Type.Optional(Text('Why it was not')),
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

/** Migrations of metadata: databases, tables and what belongs to them, from one catalog to another. */
export const metadataMigrations = resource('metadata-migrations', {
  create: {
    summary: 'Make a migration of the databases and tables that rules match, from one catalog to another',
    description:
      'It follows changes of the source unless it is for once. It never touches files; those of its tables are for a migration of files.',
    input: strict({
      migrationName,
      source: catalogId,
      target: catalogId,
      ruleNames: Type.Array(ruleName, {
        minItems: 1,
        maxItems: maxRulesOfMigration,
        description: 'What it is about: all that one of them matches',
      }),
      once: Type.Optional(
        Type.Boolean({ description: 'Bring what is there, and follow no changes; default false' }),
      ),
      autoStart: Type.Optional(Type.Boolean({ description: 'Start it at once; default false' })),
      ...settings,
    }),
    output: MetadataMigration,
    errors: ['ALREADY_EXISTS', 'LIMIT_REACHED', 'NOT_FOUND'],
    audit: { object: 'migrationName' },
    http: [{ method: 'POST', path: '/api/v1/metadata/migrations', status: 201 }],
    cli: {
      args: ['migrationName'],
      example:
        'gantry metadata-migrations create lake --source here --target there --rule-names sales --auto-start',
    },
  },
  update: {
    summary: 'Change what a migration is about, or how it deals with conflicts and drops',
    description: 'What is not given stays. One that runs compares everything again.',
    input: strict({
      migrationName,
      ruleNames: Type.Optional(
        Type.Array(ruleName, { minItems: 1, maxItems: maxRulesOfMigration, description: 'Rules' }),
      ),
      ...settings,
    }),
    output: MetadataMigration,
    errors: ['NOT_FOUND'],
    audit: { object: 'migrationName' },
    http: [{ method: 'PATCH', path: '/api/v1/metadata/migrations/{migrationName}' }],
    cli: { args: ['migrationName'] },
  },
  list: {
    summary: 'The migrations of metadata',
    input: strict({ ...page }),
    output: list(MetadataMigration),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/metadata/migrations' }],
    cli: {
      columns: ['migrationName', 'state', 'source', 'target', 'databases', 'tables', 'failed', 'reason'],
    },
  },
  get: {
    summary: 'One migration of metadata, with its figures',
    input: byName,
    output: MetadataMigration,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/metadata/migrations/{migrationName}' }],
    cli: { args: ['migrationName'] },
  },
  objects: {
    summary: 'What became of each database, table, view and function',
    input: strict({
      migrationName,
      state: Type.Optional(Type.Enum(objectStates, { description: 'Only those in this state' })),
      limit: page.limit,
      after: Type.Optional(
        Text('Last object of the page before: its kind, database and name with a / between them'),
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
      'Start a migration',
      'All that its rules match is compared first; what the target has already stays.',
    ),
    input: strict({
      migrationName,
      once: Type.Optional(
        Type.Boolean({
          description: 'Whether it brings what is there, and follows no changes; default as before',
        }),
      ),
    }),
  },
  pause: commandOf('pause', 'Pause a migration', 'It keeps its place; resume goes on from there.'),
  resume: commandOf('resume', 'Go on with a paused migration', 'From where it was.'),
  stop: commandOf('stop', 'Stop a migration', 'A later start compares everything again.'),
  reset: {
    ...commandOf(
      'reset',
      'Forget what a migration has done; what it brought stays',
      'It is CREATED then, and what it meets at the target is compared as if it had never been there.',
    ),
    input: strict({
      migrationName,
      forceStop: Type.Optional(Type.Boolean({ description: 'Stop it first if it runs; default false' })),
    }),
  },
  'approve-drops': commandOf(
    'approve-drops',
    'Approve of the drops at the target that wait for it',
    'Those that are held now; they happen with the next comparison, which begins at once.',
  ),
  'start-all': commandToAll('start', 'Start all migrations that can be started'),
  'pause-all': commandToAll('pause', 'Pause all migrations that run'),
  'resume-all': commandToAll('resume', 'Go on with all paused migrations'),
  'stop-all': commandToAll('stop', 'Stop all migrations that run or are paused'),
  delete: {
    summary: 'Forget a migration that is not running; what it brought stays',
    input: strict({
      migrationName,
      forceStop: Type.Optional(Type.Boolean({ description: 'Stop it first if it runs; default false' })),
    }),
    output: Nothing,
    ...command,
    http: [{ method: 'DELETE', path: '/api/v1/metadata/migrations/{migrationName}' }],
    cli: { args: ['migrationName'] },
  },
})

const fact = {
  migrationName,
  internalId: Uuid('Another migration of the same name has another'),
  state: Type.Enum(metadataStates),
}
const change = { ...fact, previous: Type.Enum(metadataStates, { description: 'State before' }) }

export const metadataMigrationEvents = events('metadata-migrations', {
  created: { summary: 'A migration of metadata was defined', payload: strict(fact) },
  updated: { summary: 'What a migration of metadata is about was changed', payload: strict(fact) },
  changed: {
    summary: 'A migration of metadata was started, paused, stopped or reset, is completed or has failed',
    payload: strict({ ...change, reason: Type.Optional(Text('Why it has failed')) }),
  },
  compared: {
    summary: 'A migration of metadata has compared all that its rules match',
    payload: strict({ ...fact, ...counts }),
  },
  deleted: { summary: 'A migration of metadata was forgotten', payload: strict(fact) },
})
