import type {
  Column,
  Database,
  Owner,
  Parameters,
  Storage,
  Table,
} from '../../../../subjects/metadata/objects.ts'
import type { TableName } from '../contract/catalog.ts'
import { failed } from './errors.ts'
import { type Json, listOf, objectOf, textOf, textsOf } from './json.ts'
import { hiveType } from './types.ts'

/** Parameters of Hive that make a table one of Iceberg. */
export const tableType = 'table_type'
export const iceberg = 'ICEBERG'
export const metadataLocation = 'metadata_location'

/** What Hive's parameters have of an Iceberg table beyond: its metadata say it, or whoever wrote it last. */
const derived: ReadonlySet<string> = new Set([
  ...['previous_metadata_location', 'uuid', 'current-schema', 'default-partition-spec', 'default-sort-order'],
  ...['current-snapshot-id', 'current-snapshot-summary', 'current-snapshot-timestamp-ms', 'snapshot-count'],
  ...['numFiles', 'numRows', 'totalSize', 'transient_lastDdlTime', 'storage_handler'],
])
export const isDerived = (parameter: string): boolean => derived.has(parameter)

/** Properties of namespaces that have fields of their own. */
export const databaseProperties = { description: 'comment', location: 'location', owner: 'owner' } as const

/** How Hive keeps a table that engines with Iceberg's library read. */
const storageClasses = {
  inputFormat: 'org.apache.hadoop.mapred.FileInputFormat',
  outputFormat: 'org.apache.hadoop.mapred.FileOutputFormat',
  serde: { library: 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe', parameters: {} },
} as const

export function databaseOf(name: string, namespace: Json): Database {
  const properties = textsOf(namespace['properties'])
  const { comment, location, owner, ...parameters } = properties
  return {
    name,
    ...given('description', comment),
    ...given('location', location),
    ...ownerOf(owner),
    parameters,
  }
}

/** A table in Hive's words, of what the catalog says when it loads it. Throws `unsupported`. */
export function tableOf({ database, name }: TableName, loaded: Json): Table {
  const what = `table ${database}.${name}`
  const at = metadataLocationOf(loaded)
  const metadata = objectOf(loaded['metadata'])
  if (at === undefined)
    throw failed('unsupported', what, 'the catalog does not return the location of its metadata')
  const properties = textsOf(metadata['properties'])
  const { location } = metadata
  return {
    database,
    name,
    type: 'EXTERNAL_TABLE',
    ...ownerOf(properties['owner']),
    columns: columnsOf(currentSchema(metadata), what),
    partitionKeys: [],
    storage: {
      ...noStorage,
      ...given('location', typeof location === 'string' ? location : ''),
      ...storageClasses,
    },
    parameters: sorted({ ...properties, EXTERNAL: 'TRUE', [tableType]: iceberg, [metadataLocation]: at }),
  }
}

/** A view in Hive's words: its first text of SQL, in whatever dialect that is. Throws `unsupported`. */
export function viewOf({ database, name }: TableName, loaded: Json): Table {
  const what = `view ${database}.${name}`
  const metadata = objectOf(loaded['metadata'])
  const version = listOf(metadata['versions']).find(
    (one) => one['version-id'] === metadata['current-version-id'],
  )
  const [text] = listOf(version?.['representations']).filter(({ type }) => type === 'sql')
  const sql = text?.['sql']
  if (typeof sql !== 'string') throw failed('unsupported', what, 'has no SQL text')
  const schema = listOf(metadata['schemas']).find((one) => one['schema-id'] === version?.['schema-id'])
  const properties = textsOf(metadata['properties'])
  return {
    database,
    name,
    type: 'VIRTUAL_VIEW',
    ...ownerOf(properties['owner']),
    columns: columnsOf(schema, what),
    partitionKeys: [],
    storage: noStorage,
    parameters: sorted(properties),
    view: { originalText: sql, expandedText: sql, rewriteEnabled: false },
  }
}

export function metadataLocationOf(loaded: Json): string | undefined {
  const at = loaded['metadata-location']
  return typeof at === 'string' && at !== '' ? at : undefined
}

/** As format versions 2 and 1 have it. */
const currentSchema = (metadata: Json): Json | undefined =>
  listOf(metadata['schemas']).find((one) => one['schema-id'] === metadata['current-schema-id']) ??
  (metadata['schema'] === undefined ? undefined : objectOf(metadata['schema']))

function columnsOf(schema: Json | undefined, what: string): Column[] {
  if (schema === undefined) throw failed('unsupported', what, 'its metadata have no current schema')
  return listOf(schema['fields']).map(({ name, type, doc }) => ({
    name: textOf(name, what),
    type: hiveType(type),
    ...(typeof doc === 'string' && doc !== '' && { comment: doc }),
  }))
}

const noStorage: Storage = {
  compressed: false,
  bucketCount: 0,
  bucketColumns: [],
  sortColumns: [],
  parameters: {},
}

const sorted = (all: Record<string, string>): Parameters =>
  Object.fromEntries(Object.entries(all).toSorted(([one], [other]) => (one < other ? -1 : 1)))

const ownerOf = (name: string | undefined): { owner?: Owner } =>
  name === undefined || name === '' ? {} : { owner: { name } }

const given = <N extends string>(name: N, value: string | undefined) =>
  (value === undefined || value === '' ? {} : { [name]: value }) as { readonly [K in N]?: string }
