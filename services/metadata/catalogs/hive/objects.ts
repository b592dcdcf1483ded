import type { Value } from '../../thrift/types.ts'
import type {
  Column,
  Database,
  Owner,
  Parameters,
  Partition,
  Storage,
  Table,
} from '../../../../subjects/metadata/objects.ts'
import type * as idl from './idl.ts'

type HiveStorage = Value<typeof idl.StorageDescriptor>

/** Numbers of `PrincipalType`. */
const ownerTypes: Readonly<Record<number, Owner['type']>> = { 1: 'user', 2: 'role', 3: 'group' }
/** Of `Order.order`. */
const ascending = 1

export function databaseOf(hive: Value<typeof idl.Database>): Database {
  const { name = '', description, locationUri, managedLocationUri, ownerName, ownerType } = hive
  return {
    name,
    ...given('description', description),
    ...given('location', locationUri),
    ...given('managedLocation', managedLocationUri),
    ...ownerOf(ownerName, ownerType),
    parameters: parametersOf(hive.parameters),
  }
}

export function tableOf(hive: Value<typeof idl.Table>): Table {
  const { dbName = '', tableName = '', tableType = '', owner, ownerType, sd = {}, createTime = 0 } = hive
  const { viewOriginalText, viewExpandedText, rewriteEnabled = false } = hive
  const view = {
    originalText: viewOriginalText ?? '',
    expandedText: viewExpandedText ?? '',
    rewriteEnabled,
  }
  return {
    database: dbName,
    name: tableName,
    type: tableType,
    ...ownerOf(owner, ownerType),
    columns: columnsOf(sd.cols),
    partitionKeys: columnsOf(hive.partitionKeys),
    storage: storageOf(sd),
    parameters: parametersOf(hive.parameters),
    ...(view.originalText !== '' && { view }),
    ...createdAt(createTime),
  }
}

export function partitionOf(hive: Value<typeof idl.Partition>): Partition {
  const { values = [], sd = {}, createTime = 0 } = hive
  return {
    values: [...values],
    columns: columnsOf(sd.cols),
    storage: storageOf(sd),
    parameters: parametersOf(hive.parameters),
    ...createdAt(createTime),
  }
}

function storageOf(hive: HiveStorage): Storage {
  const { location, inputFormat, outputFormat, serdeInfo, skewedInfo, compressed = false } = hive
  const { numBuckets = -1, bucketCols = [], sortCols = [], storedAsSubDirectories = false } = hive
  const { columns = [], values = [], locations = new Map<readonly string[], string>() } = skewedInfo ?? {}
  return {
    ...given('location', location),
    ...given('inputFormat', inputFormat),
    ...given('outputFormat', outputFormat),
    ...(serdeInfo !== undefined && {
      serde: {
        ...given('name', serdeInfo.name),
        ...given('library', serdeInfo.serializationLib),
        parameters: parametersOf(serdeInfo.parameters),
      },
    }),
    compressed,
    bucketCount: numBuckets,
    bucketColumns: [...bucketCols],
    sortColumns: sortCols.map(({ col = '', order }) => ({
      name: col,
      order: order === ascending ? 'ascending' : 'descending',
    })),
    ...(columns.length > 0 && {
      skew: {
        columns: [...columns],
        values: values.map((one) => [...one]),
        locations: [...locations].map(([skewed, at]) => ({ values: [...skewed], location: at })),
        inSubfolders: storedAsSubDirectories,
      },
    }),
    parameters: parametersOf(hive.parameters),
  }
}

const columnsOf = (columns: readonly Value<typeof idl.FieldSchema>[] = []): Column[] =>
  columns.map(({ name = '', type = '', comment }) => ({ name, type, ...given('comment', comment) }))

function ownerOf(name: string | undefined, type: number | undefined): { owner?: Owner } {
  if (name === undefined || name === '') return {}
  const known = type === undefined ? undefined : ownerTypes[type]
  return { owner: { name, ...(known !== undefined && { type: known }) } }
}

/** In the order of their names, so that two that are equal look equal. */
function parametersOf(parameters: ReadonlyMap<string, string> = new Map()): Parameters {
  const sorted = [...parameters].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(sorted)
}

/** @param seconds since 1970; 0 where the server does not know */
const createdAt = (seconds: number) => (seconds > 0 ? { createdMs: seconds * 1_000 } : {})

/** What servers leave empty is not there. */
const given = <N extends string>(name: N, value: string | undefined) =>
  (value === undefined || value === '' ? {} : { [name]: value }) as { readonly [K in N]?: string }
