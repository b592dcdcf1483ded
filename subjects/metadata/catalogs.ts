import { type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { type Definition, resource } from '../kit/contract.ts'
import {
  EpochMillis,
  list,
  maxPathLength,
  maxTextLength,
  model,
  Name,
  Nothing,
  page,
  record,
  strict,
  Text,
} from '../kit/schemas.ts'
import { type CatalogKind, catalogKinds } from './kinds.ts'
import { Database, Partition, Table, TableSummary } from './objects.ts'

export const catalogId = Name('Name of the catalog')
const byId = strict({ catalogId })

/** A catalog is asked over a network and given time for it. */
const catalogDeadlineMs = 30_000

const maxProperties = 200

/** A catalog as callers see it: secrets masked, all options as text. */
export const Catalog = model('MetadataCatalog', {
  catalogId,
  kind: Type.String({ maxLength: 40, description: 'What it is, as in the paths' }),
  properties: record(Type.String({ maxLength: maxPathLength }), maxProperties, 'Options by name'),
})
export type Catalog = Type.Static<typeof Catalog>

/** What is tried of a catalog. */
const checkNames = ['reach', 'list', 'read'] as const

const Check = model('MetadataCatalogCheck', {
  ok: Type.Boolean({ description: 'Whether nothing failed' }),
  checks: list(
    strict({
      check: Type.Enum(checkNames, {
        description:
          'reach: something answers that is such a catalog, and takes the credentials. list: it tells which databases there are. read: a table can be read',
      }),
      result: Type.Enum(['yes', 'no', 'untried'], {
        description: 'untried: what is in it gives no occasion, or one before failed',
      }),
      detail: Type.Optional(Text('What is wrong and what to do, or what was found')),
    }),
  ),
})
export type CatalogCheck = Type.Static<typeof Check>

/** Longest name of a database or table: Hive takes 128 bytes, others 255 characters. */
const Identifier = (description: string) => Type.String({ minLength: 1, maxLength: 255, description })
const database = Identifier('Name of the database')
const table = Identifier('Name of the table')

const like = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: maxTextLength,
    description:
      'Only those whose names match: * stands for any text, | stands between alternatives; upper and lower case are the same',
  }),
)

const storeErrors = ['NOT_FOUND', 'STORE_REFUSED', 'STORE_UNREACHABLE'] as const
/** Questions to a catalog. */
const question = { errors: storeErrors, deadlineMs: catalogDeadlineMs } as const

/** The options of a kind, as the compiler knows them when the kind is a type parameter. */
type OptionsOf<K extends CatalogKind> = Extract<(typeof catalogKinds)[K]['options'], TProperties>

function createOf<K extends CatalogKind>(kind: K) {
  const { path, summary, example, options } = catalogKinds[kind]
  return {
    summary: `Add ${summary}`,
    description: 'It is asked first; nothing is kept when it cannot be reached.',
    input: strict<TProperties>({ catalogId, ...options }) as unknown as TObject<
      { catalogId: typeof catalogId } & OptionsOf<K>
    >,
    output: Catalog,
    errors: ['ALREADY_EXISTS', 'LIMIT_REACHED', 'STORE_REFUSED', 'STORE_UNREACHABLE'],
    audit: { object: 'catalogId' },
    http: [{ method: 'POST', path: `/api/v1/metadata/catalogs/${path}`, status: 201 }],
    cli: { args: ['catalogId'], example: `gantry metadata-catalogs create-${kind} warehouse ${example}` },
    deadlineMs: catalogDeadlineMs,
  } as const satisfies Definition
}

function updateOf<K extends CatalogKind>(kind: K) {
  const { path, summary, options } = catalogKinds[kind]
  const changes = Object.fromEntries(
    Object.entries(options).map(([name, schema]) => [name, Type.Optional(schema)]),
  )
  return {
    summary: `Change ${summary}`,
    description: 'What is not given stays. It is asked first.',
    input: strict<TProperties>({ catalogId, ...changes }) as unknown as TObject<
      { catalogId: typeof catalogId } & {
        [P in keyof OptionsOf<K>]: Type.TOptional<Extract<OptionsOf<K>[P], TSchema>>
      }
    >,
    output: Catalog,
    errors: ['CONFLICT', 'NOT_ALLOWED_IN_STATE', ...storeErrors],
    audit: { object: 'catalogId' },
    http: [{ method: 'PATCH', path: `/api/v1/metadata/catalogs/${path}/{catalogId}` }],
    cli: { args: ['catalogId'] },
    deadlineMs: catalogDeadlineMs,
  } as const satisfies Definition
}

/** Before it is added, and with no name. */
function checkOf<K extends CatalogKind>(kind: K) {
  const { path, summary, example, options } = catalogKinds[kind]
  return {
    summary: `Try what a migration needs of ${summary}`,
    description: 'Nothing is kept of it, and nothing is changed there.',
    input: strict<TProperties>({ ...options }) as unknown as TObject<OptionsOf<K>>,
    output: Check,
    errors: [],
    audit: {},
    http: [{ method: 'POST', path: `/api/v1/metadata/catalog-checks/${path}` }],
    cli: {
      example: `gantry metadata-catalogs check-${kind} ${example}`,
      failed: { field: 'ok', is: false },
    },
    deadlineMs: catalogDeadlineMs,
  } as const satisfies Definition
}

const kinds = Object.keys(catalogKinds) as CatalogKind[]
const perKind = Object.fromEntries(
  kinds.flatMap((kind) => [
    [`create-${kind}`, createOf(kind)],
    [`update-${kind}`, updateOf(kind)],
    [`check-${kind}`, checkOf(kind)],
  ]),
) as { [K in CatalogKind as `create-${K}`]: ReturnType<typeof createOf<K>> } & {
  [K in CatalogKind as `update-${K}`]: ReturnType<typeof updateOf<K>>
} & { [K in CatalogKind as `check-${K}`]: ReturnType<typeof checkOf<K>> }

export const metadataCatalogs = resource('metadata-catalogs', {
  ...perKind,
  kinds: {
    summary: 'The kinds of catalog that exist',
    input: strict({}),
    output: list(
      strict({
        kind: Type.String({ maxLength: 40, description: 'As in the paths' }),
        description: Text('What it is'),
      }),
    ),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/metadata/catalog-kinds' }],
  },
  list: {
    summary: 'The catalogs',
    input: strict({ ...page }),
    output: list(Catalog),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/metadata/catalogs' }],
    cli: { columns: ['catalogId', 'kind', 'properties'] },
  },
  get: {
    summary: 'One catalog',
    input: byId,
    output: Catalog,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/metadata/catalogs/{catalogId}' }],
    cli: { args: ['catalogId'] },
  },
  delete: {
    summary: 'Forget a catalog; what is in it stays',
    input: byId,
    output: Nothing,
    errors: ['NOT_FOUND'],
    audit: { object: 'catalogId' },
    http: [{ method: 'DELETE', path: '/api/v1/metadata/catalogs/{catalogId}' }],
    cli: { args: ['catalogId'] },
  },
  'check-stored': {
    summary: 'Try what a migration needs of a catalog',
    description: 'Nothing is changed there.',
    input: byId,
    output: Check,
    errors: ['NOT_FOUND'],
    audit: { object: 'catalogId' },
    http: [{ method: 'POST', path: '/api/v1/metadata/catalogs/{catalogId}/check' }],
    cli: {
      args: ['catalogId'],
      example: 'gantry metadata-catalogs check-stored warehouse',
      failed: { field: 'ok', is: false },
    },
    deadlineMs: catalogDeadlineMs,
  },
  databases: {
    summary: 'The databases of a catalog',
    input: strict({ catalogId, like, ...page }),
    output: list(strict({ name: Text('Name') })),
    ...question,
    http: [{ method: 'GET', path: '/api/v1/metadata/catalogs/{catalogId}/databases' }],
    cli: { args: ['catalogId'] },
  },
  database: {
    summary: 'One database of a catalog',
    input: strict({ catalogId, database }),
    output: Database,
    ...question,
    http: [{ method: 'GET', path: '/api/v1/metadata/catalogs/{catalogId}/databases/{database}' }],
    cli: { args: ['catalogId', 'database'] },
  },
  tables: {
    summary: 'The tables and views of a database',
    input: strict({ catalogId, database, like, ...page }),
    output: list(TableSummary),
    ...question,
    http: [{ method: 'GET', path: '/api/v1/metadata/catalogs/{catalogId}/databases/{database}/tables' }],
    cli: { args: ['catalogId', 'database'], columns: ['name', 'type', 'comment'] },
  },
  table: {
    summary: 'One table or view',
    input: strict({ catalogId, database, table }),
    output: Table,
    ...question,
    http: [
      { method: 'GET', path: '/api/v1/metadata/catalogs/{catalogId}/databases/{database}/tables/{table}' },
    ],
    cli: { args: ['catalogId', 'database', 'table'] },
  },
  partitions: {
    summary: 'The partitions of a table',
    input: strict({
      catalogId,
      database,
      table,
      like,
      ...page,
      after: Type.Optional(
        Type.String({
          maxLength: maxTextLength,
          description: 'Name of the last partition of the page before',
        }),
      ),
    }),
    output: list(
      strict({
        name: Text('Name, such as year=2026/month=11'),
        location: Type.Optional(Type.String({ maxLength: maxPathLength, description: 'URI of its folder' })),
        createdMs: Type.Optional(EpochMillis('When it was made, in milliseconds since 1970')),
      }),
    ),
    ...question,
    http: [
      {
        method: 'GET',
        path: '/api/v1/metadata/catalogs/{catalogId}/databases/{database}/tables/{table}/partitions',
      },
    ],
    cli: { args: ['catalogId', 'database', 'table'], columns: ['name', 'location'] },
  },
  partition: {
    summary: 'One partition of a table',
    input: strict({
      catalogId,
      database,
      table,
      partition: Type.String({
        minLength: 1,
        maxLength: maxTextLength,
        description: 'Name, such as year=2026/month=11',
      }),
    }),
    output: Partition,
    ...question,
    http: [
      {
        method: 'GET',
        path: '/api/v1/metadata/catalogs/{catalogId}/databases/{database}/tables/{table}/partition',
      },
    ],
    cli: { args: ['catalogId', 'database', 'table', 'partition'] },
  },
})
