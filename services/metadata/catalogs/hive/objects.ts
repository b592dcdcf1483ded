import { unnamed, type Value } from '../../thrift/types.ts'
import type {
  CatalogFunction,
  Column,
  Database,
  Owner,
  Parameters,
  Partition,
  Principal,
  Storage,
  Table,
} from '../../../../subjects/metadata/objects.ts'
import type { TableName } from '../contract/catalog.ts'
import { hiveOwnParameters } from '../own-parameters.ts'
import type * as idl from './idl.ts'

type HiveDatabase = Value<typeof idl.Database>
type HiveTable = Value<typeof idl.Table>
type HivePartition = Value<typeof idl.Partition>
type HiveStorage = Value<typeof idl.StorageDescriptor>
type HiveFunction = Value<typeof idl.Function>

/** Of owners of tables, where nothing else is said: release 2 has no others. */
const userType = 1
/** Numbers of `PrincipalType`. */
const ownerTypes = { 1: 'user', 2: 'role', 3: 'group' } as const
/** Numbers of `ResourceType`. */
const resourceTypes = { 1: 'jar', 2: 'file', 3: 'archive' } as const
/** Number of `FunctionType`; there is no other. */
const javaFunction = 1
/** Of `Order.order`. */
const ascending = 1
const descending = 0

/** Types of tables that a metastore keeps. */
export const tableTypes: readonly string[] = [
  'MANAGED_TABLE',
  'EXTERNAL_TABLE',
  'VIRTUAL_VIEW',
  'MATERIALIZED_VIEW',
]

const ownParameters: ReadonlySet<string> = new Set(hiveOwnParameters)
/** Whether it is one in which a metastore keeps account of what it has done. */
export const isOwnParameter = (name: string): boolean => ownParameters.has(name)

/**
 * What release 4 makes of a managed table that is not transactional: one of type EXTERNAL_TABLE with these. It stands for what
 * was asked for.
 */
const translated = 'TRANSLATED_TO_EXTERNAL'
const translation: ReadonlyMap<string, string> = new Map([
  ['EXTERNAL', 'TRUE'],
  ['external.table.purge', 'TRUE'],
  [translated, 'TRUE'],
])

export function databaseOf(hive: HiveDatabase): Database {
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

/** @param before what the server has of it, and keeps where the model has no word for it */
export function hiveDatabaseOf(database: Database, before: HiveDatabase = {}): HiveDatabase {
  const { name, description, location, managedLocation, owner, parameters } = database
  const { catalogName, createTime } = before
  return {
    ...present({ catalogName, createTime, [unnamed]: before[unnamed] }),
    name,
    // A server leaves as it is what it is not told.
    description: description ?? '',
    ...present({ locationUri: location, managedLocationUri: managedLocation }),
    ...present({ ownerName: owner?.name, ownerType: ownerNumber(owner) }),
    parameters: parametersFrom(parameters, before.parameters),
  }
}

const isTranslated = ({ parameters }: HiveTable): boolean =>
  parameters?.get(translated)?.toUpperCase() === 'TRUE'

export function tableOf(hive: HiveTable): Table {
  const { dbName = '', tableName = '', tableType = '', owner, ownerType, sd = {}, createTime = 0 } = hive
  const { viewOriginalText, viewExpandedText, rewriteEnabled = false, retention = 0, creationMetadata } = hive
  const view = {
    originalText: viewOriginalText ?? '',
    expandedText: viewExpandedText ?? '',
    rewriteEnabled,
    ...(creationMetadata !== undefined && { sources: (creationMetadata.tablesUsed ?? []).toSorted() }),
  }
  const parameters = parametersOf(hive.parameters)
  if (isTranslated(hive)) for (const name of translation.keys()) delete parameters[name]
  return {
    database: dbName,
    name: tableName,
    type: isTranslated(hive) ? 'MANAGED_TABLE' : tableType,
    ...ownerOf(owner, ownerType ?? userType),
    columns: columnsOf(sd.cols),
    partitionKeys: columnsOf(hive.partitionKeys),
    storage: storageOf(sd),
    parameters,
    ...(view.originalText !== '' && { view }),
    ...(retention !== 0 && { retention }),
    ...createdAt(createTime),
  }
}

/** @param before what the server has of it, and keeps where the model has no word for it */
export function hiveTableOf(table: Table, before: HiveTable = {}): HiveTable {
  const { owner, view, retention = 0 } = table
  const { catName, createTime, lastAccessTime } = before
  const parameters = new Map(parametersFrom(table.parameters, before.parameters))
  const staysTranslated = table.type === 'MANAGED_TABLE' && isTranslated(before)
  const tableType = staysTranslated ? 'EXTERNAL_TABLE' : table.type
  if (staysTranslated) for (const [name, value] of translation) parameters.set(name, value)
  else if (tableType === 'EXTERNAL_TABLE') parameters.set('EXTERNAL', 'TRUE')
  else parameters.delete('EXTERNAL')
  return {
    ...present({ catName, createTime, lastAccessTime, [unnamed]: before[unnamed] }),
    dbName: table.database,
    tableName: table.name,
    tableType,
    ...present({ owner: owner?.name, ownerType: ownerNumber(owner) }),
    sd: hiveStorageOf(table.storage, table.columns, before.sd),
    partitionKeys: table.partitionKeys,
    parameters,
    retention,
    ...(view !== undefined && {
      viewOriginalText: view.originalText,
      viewExpandedText: view.expandedText,
      rewriteEnabled: view.rewriteEnabled,
    }),
  }
}

/** What a materialized view is made of, as a server is told it with a new one. */
export function creationOf({ database, name, view }: Table, catalog: string): HiveTable {
  if (view?.sources === undefined) return {}
  const creation = { catName: catalog, dbName: database, tblName: name, tablesUsed: view.sources }
  return { creationMetadata: creation }
}

export function partitionOf(hive: HivePartition): Partition {
  const { values = [], sd = {}, createTime = 0 } = hive
  return {
    values: [...values],
    columns: columnsOf(sd.cols),
    storage: storageOf(sd),
    parameters: parametersOf(hive.parameters),
    ...createdAt(createTime),
  }
}

/** @param before what the server has of it, and keeps where the model has no word for it */
export function hivePartitionOf(
  { database, name }: TableName,
  { values, columns, storage, parameters }: Partition,
  before: HivePartition = {},
): HivePartition {
  const { catName, createTime, lastAccessTime } = before
  return {
    ...present({ catName, createTime, lastAccessTime, [unnamed]: before[unnamed] }),
    values,
    dbName: database,
    tableName: name,
    sd: hiveStorageOf(storage, columns, before.sd),
    parameters: parametersFrom(parameters, before.parameters),
  }
}

export function functionOf(hive: HiveFunction): CatalogFunction {
  const { dbName = '', functionName = '', className = '', ownerName, ownerType } = hive
  const { resourceUris = [], createTime = 0 } = hive
  return {
    database: dbName,
    name: functionName,
    className,
    ...ownerOf(ownerName, ownerType),
    resources: resourceUris.map(({ resourceType = 0, uri = '' }) => ({
      type: resourceTypes[resourceType as keyof typeof resourceTypes] ?? 'file',
      uri,
    })),
    ...createdAt(createTime),
  }
}

/** @param before what the server has of it, and keeps where the model has no word for it */
export function hiveFunctionOf(made: CatalogFunction, before: HiveFunction = {}): HiveFunction {
  const { database, name, className, owner, resources } = made
  return {
    ...present({ createTime: before.createTime, [unnamed]: before[unnamed] }),
    dbName: database,
    // Some releases find none whose name has upper case.
    functionName: name.toLowerCase(),
    className,
    ...present({ ownerName: owner?.name, ownerType: ownerNumber(owner) }),
    functionType: before.functionType ?? javaFunction,
    resourceUris: resources.map(({ type, uri }) => ({ resourceType: numberOf(resourceTypes, type), uri })),
  }
}

function hiveStorageOf(storage: Storage, columns: readonly Column[], before: HiveStorage = {}): HiveStorage {
  const { location, inputFormat, outputFormat, serde, compressed, skew } = storage
  return {
    ...present({ [unnamed]: before[unnamed] }),
    cols: columns,
    ...present({ location, inputFormat, outputFormat }),
    compressed,
    numBuckets: storage.bucketCount,
    // Servers take no table without one.
    serdeInfo: {
      ...present({ [unnamed]: before.serdeInfo?.[unnamed] }),
      ...present({ name: serde?.name, serializationLib: serde?.library }),
      parameters: new Map(Object.entries(serde?.parameters ?? {})),
    },
    bucketCols: storage.bucketColumns,
    sortCols: storage.sortColumns.map(({ name, order }) => ({
      col: name,
      order: order === 'ascending' ? ascending : descending,
    })),
    parameters: new Map(Object.entries(storage.parameters)),
    ...(skew !== undefined && {
      skewedInfo: {
        columns: skew.columns,
        values: skew.values,
        locations: new Map(skew.locations.map(({ values, location: at }) => [values, at])),
      },
    }),
    storedAsSubDirectories: skew?.inSubfolders ?? false,
  }
}

/** What there is, with the server's own account of before. */
function parametersFrom(
  parameters: Parameters,
  before: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const given = Object.entries(parameters).filter(([name]) => !isOwnParameter(name))
  return new Map([...given, ...[...before].filter(([name]) => isOwnParameter(name))])
}

function storageOf(hive: HiveStorage): Storage {
  const { location, inputFormat, outputFormat, serdeInfo, skewedInfo, compressed = false } = hive
  const { numBuckets = -1, bucketCols = [], sortCols = [], storedAsSubDirectories = false } = hive
  const { columns = [], values = [], locations = new Map<readonly string[], string>() } = skewedInfo ?? {}
  return {
    ...given('location', location),
    ...given('inputFormat', inputFormat),
    ...given('outputFormat', outputFormat),
    ...(!isEmptySerde(serdeInfo) && {
      serde: {
        ...given('name', serdeInfo?.name),
        ...given('library', serdeInfo?.serializationLib),
        parameters: parametersOf(serdeInfo?.parameters),
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

/** Views have one in which nothing is. */
const isEmptySerde = ({ name, serializationLib, parameters }: Value<typeof idl.SerDeInfo> = {}): boolean =>
  [name, serializationLib].every((one) => one === undefined || one === '') && (parameters?.size ?? 0) === 0

const columnsOf = (columns: readonly Value<typeof idl.FieldSchema>[] = []): Column[] =>
  columns.map(({ name = '', type = '', comment }) => ({ name, type, ...given('comment', comment) }))

function ownerOf(name: string | undefined, type: number | undefined): { owner?: Owner } {
  if (name === undefined || name === '') return {}
  const known = ownerTypes[type as keyof typeof ownerTypes] as Owner['type'] | undefined
  return { owner: { name, ...(known !== undefined && { type: known }) } }
}

const ownerNumber = (owner: Owner | undefined): number | undefined =>
  owner?.type && numberOf(ownerTypes, owner.type)

/** Whom a metastore speaks of; of a type that it does not have, a user. */
export const principalOf = (name = '', type = userType): Principal => ({
  name,
  type: ownerTypes[type as keyof typeof ownerTypes] ?? ownerTypes[userType],
})

export const principalNumber = ({ type }: Principal): number => numberOf(ownerTypes, type)

const numberOf = (numbers: Readonly<Record<number, string>>, word: string): number =>
  Number(Object.entries(numbers).find(([, one]) => one === word)![0])

/** In the order of their names, so that two that are equal look equal. */
function parametersOf(parameters: ReadonlyMap<string, string> = new Map()): Parameters {
  const sorted = [...parameters].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(sorted)
}

/** @param seconds since 1970; 0 where the server does not know */
const createdAt = (seconds: number) => (seconds > 0 ? { createdMs: seconds * 1_000 } : {})

/** Without what is undefined. */
const present = <T extends object>(values: T) =>
  Object.fromEntries(
    Reflect.ownKeys(values).flatMap((key) => {
      const value = values[key as keyof T]
      return value === undefined ? [] : [[key, value]]
    }),
  ) as { [K in keyof T]?: Exclude<T[K], undefined> }

/** What servers leave empty is not there. */
const given = <N extends string>(name: N, value: string | undefined) =>
  (value === undefined || value === '' ? {} : { [name]: value }) as { readonly [K in N]?: string }
