import { type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { type Definition, resource } from '../kit/contract.ts'
import { form } from '../kit/forms.ts'
import {
  EpochMillis,
  list,
  maxPathLength,
  maxTextLength,
  model,
  Nothing,
  page,
  record,
  strict,
  Text,
} from '../kit/schemas.ts'
import { type CatalogKind, catalogKinds } from './kinds.ts'
import { catalogId } from './names.ts'
import { Database, Partition, Setting, Table, TableIndex, TableSummary } from './objects.ts'

const byId = strict({ catalogId })

/** A catalog is asked over a network and given time for it. */
const catalogDeadlineMs = 30_000

const maxProperties = 200

/** A catalog as callers see it: secrets masked, all options as text. */
export const Catalog = model('MetadataCatalog', {
  catalogId,
  kind: Type.String({ maxLength: 40, description: 'Kind of catalog, as in the paths of the API' }),
  properties: record(Type.String({ maxLength: maxPathLength }), maxProperties, 'Options by name'),
})
export type Catalog = Type.Static<typeof Catalog>

/** What is tried of a catalog. */
const checkNames = ['reach', 'list', 'read', 'write'] as const

const Check = model('MetadataCatalogCheck', {
  ok: Type.Boolean({ description: 'Whether no check failed' }),
  checks: list(
    strict({
      check: Type.Enum(checkNames, {
        description:
          'reach: a catalog of this kind answers and accepts the credentials. list: databases can be listed. read: a table can be read. write: the catalog can be written to',
      }),
      result: Type.Enum(['yes', 'no', 'untried'], {
        description: 'untried: not applicable to the contents of the catalog, or an earlier check failed',
      }),
      detail: Type.Optional(Text('Problem and how to fix it, or what was found')),
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
      'Only names that match this pattern: * matches any text, | separates alternatives; not case-sensitive',
  }),
)

const storeErrors = ['NOT_FOUND', 'STORE_REFUSED', 'STORE_UNREACHABLE'] as const
/** Questions to a catalog. */
const question = { errors: [...storeErrors, 'UNSUPPORTED'], deadlineMs: catalogDeadlineMs } as const

/** The options of a kind, as the compiler knows them when the kind is a type parameter. */
type OptionsOf<K extends CatalogKind> = Extract<(typeof catalogKinds)[K]['options'], TProperties>

const isKeptOnly = (kind: CatalogKind): boolean => 'isKeptOnly' in catalogKinds[kind]

function createOf<K extends CatalogKind>(kind: K) {
  const { path, summary, example, options } = catalogKinds[kind]
  return {
    summary: `Add ${summary}`,
    description: isKeptOnly(kind)
      ? 'The options are only stored: this release cannot read or write such a catalog, or use it in a migration.'
      : 'Gantry connects to the catalog first. If the catalog cannot be reached, nothing is saved.',
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
  const { path, summary, example, options } = catalogKinds[kind]
  const changes = Object.fromEntries(
    Object.entries(options).map(([name, schema]) => [name, Type.Optional(schema)]),
  )
  return {
    summary: `Change options of ${summary}`,
    description: `Omitted options keep their values.${isKeptOnly(kind) ? '' : ' Gantry connects to the catalog first.'}`,
    input: strict<TProperties>({ catalogId, ...changes }) as unknown as TObject<
      { catalogId: typeof catalogId } & {
        [P in keyof OptionsOf<K>]: Type.TOptional<Extract<OptionsOf<K>[P], TSchema>>
      }
    >,
    output: Catalog,
    errors: ['CONFLICT', 'NOT_ALLOWED_IN_STATE', ...storeErrors],
    audit: { object: 'catalogId' },
    http: [{ method: 'PATCH', path: `/api/v1/metadata/catalogs/${path}/{catalogId}` }],
    cli: { args: ['catalogId'], example: `gantry metadata-catalogs update-${kind} warehouse ${example}` },
    deadlineMs: catalogDeadlineMs,
  } as const satisfies Definition
}

/** Before it is added, and with no name. */
function checkOf<K extends CatalogKind>(kind: K) {
  const { path, summary, example, options } = catalogKinds[kind]
  return {
    summary: `Check ${summary}, without saving it`,
    description: isKeptOnly(kind)
      ? 'Reports what this release cannot do with such a catalog, without connecting to it.'
      : 'Nothing is saved, and the catalog is not changed.',
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
    summary: 'List the kinds of catalog',
    input: strict({}),
    output: list(
      strict({
        kind: Type.String({ maxLength: 40, description: 'Kind, as in the paths of the API' }),
        description: Text('Description of the kind'),
      }),
    ),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/metadata/catalog-kinds' }],
  },
  list: {
    summary: 'List catalogs',
    input: strict({ ...page }),
    output: list(Catalog),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/metadata/catalogs' }],
    cli: { columns: ['catalogId', 'kind', 'properties'] },
  },
  get: {
    summary: 'Show a catalog',
    input: byId,
    output: Catalog,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/metadata/catalogs/{catalogId}' }],
    cli: { args: ['catalogId'] },
  },
  delete: {
    summary: 'Delete a catalog from Gantry (its contents stay)',
    description: 'Refused while migrations use the catalog.',
    input: byId,
    output: Nothing,
    errors: ['NOT_FOUND', 'IN_USE'],
    audit: { object: 'catalogId' },
    http: [{ method: 'DELETE', path: '/api/v1/metadata/catalogs/{catalogId}' }],
    cli: { args: ['catalogId'] },
  },
  'check-stored': {
    summary: 'Check a saved catalog',
    description: 'The catalog is not changed.',
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
    summary: 'List the databases of a catalog',
    input: strict({ catalogId, like, ...page }),
    output: list(strict({ name: Text('Name') })),
    ...question,
    http: [{ method: 'GET', path: '/api/v1/metadata/catalogs/{catalogId}/databases' }],
    cli: { args: ['catalogId'] },
  },
  database: {
    summary: 'Show a database of a catalog',
    input: strict({ catalogId, database }),
    output: Database,
    ...question,
    http: [{ method: 'GET', path: '/api/v1/metadata/catalogs/{catalogId}/databases/{database}' }],
    cli: { args: ['catalogId', 'database'] },
  },
  tables: {
    summary: 'List the tables and views of a database',
    input: strict({ catalogId, database, like, ...page }),
    output: list(TableSummary),
    ...question,
    http: [{ method: 'GET', path: '/api/v1/metadata/catalogs/{catalogId}/databases/{database}/tables' }],
    cli: { args: ['catalogId', 'database'], columns: ['name', 'type', 'comment'] },
  },
  table: {
    summary: 'Show a table or view',
    input: strict({ catalogId, database, table }),
    output: Table,
    ...question,
    http: [
      { method: 'GET', path: '/api/v1/metadata/catalogs/{catalogId}/databases/{database}/tables/{table}' },
    ],
    cli: { args: ['catalogId', 'database', 'table'] },
  },
  partitions: {
    summary: 'List the partitions of a table',
    input: strict({
      catalogId,
      database,
      table,
      like,
      ...page,
      after: Type.Optional(
        Type.String({
          maxLength: maxTextLength,
          description: 'Name of the last partition of the previous page',
        }),
      ),
    }),
    output: list(
      strict({
        name: Text('Name, such as year=2026/month=11'),
        location: Type.Optional(Type.String({ maxLength: maxPathLength, description: 'URI of its folder' })),
        createdMs: Type.Optional(EpochMillis('Creation time, in milliseconds since 1970')),
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
    summary: 'Show a partition of a table',
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
  indexes: {
    summary: 'List the indexes of a table',
    description: 'Only Hive before release 3 has indexes. For other catalogs, the list is empty.',
    input: strict({ catalogId, database, table }),
    output: list(TableIndex),
    ...question,
    http: [
      {
        method: 'GET',
        path: '/api/v1/metadata/catalogs/{catalogId}/databases/{database}/tables/{table}/indexes',
      },
    ],
    cli: { args: ['catalogId', 'database', 'table'], columns: ['name', 'columns', 'handler', 'indexTable'] },
  },
  conf: {
    summary: 'Show configuration parameters of a metastore',
    description:
      'Shows one parameter, or those that are relevant for migrations. Only for Hive metastores. A parameter without a value is not set.',
    input: strict({
      catalogId,
      parameter: Type.Optional(
        Type.String({
          ...form(
            '^[A-Za-z][A-Za-z0-9._-]{0,254}$',
            'a letter, then up to 254 letters, digits, dots, hyphens and underscores',
          ),
          description: 'Name of a parameter, such as hive.metastore.warehouse.dir',
        }),
      ),
      like,
    }),
    output: list(Setting),
    ...question,
    http: [{ method: 'GET', path: '/api/v1/metadata/catalogs/{catalogId}/conf' }],
    cli: { args: ['catalogId'], columns: ['name', 'value'] },
  },
})
