import { list, map, method, struct } from '../../thrift/types.ts'

/*
 * What is used of the metastore's interface, from release 2.3 to 4.0: structs and functions with the numbers that its
 * definition (`hive_metastore.thrift`) gives them. What a struct has beyond that is kept as it comes.
 */

export const FieldSchema = struct({ name: [1, 'string'], type: [2, 'string'], comment: [3, 'string'] })

export const Database = struct({
  name: [1, 'string'],
  description: [2, 'string'],
  locationUri: [3, 'string'],
  parameters: [4, map('string', 'string')],
  ownerName: [6, 'string'],
  ownerType: [7, 'i32'],
  catalogName: [8, 'string'],
  createTime: [9, 'i32'],
  managedLocationUri: [10, 'string'],
})

export const SerDeInfo = struct({
  name: [1, 'string'],
  serializationLib: [2, 'string'],
  parameters: [3, map('string', 'string')],
})

export const Order = struct({ col: [1, 'string'], order: [2, 'i32'] })

export const SkewedInfo = struct({
  columns: [1, list('string')],
  values: [2, list(list('string'))],
  locations: [3, map(list('string'), 'string')],
})

export const StorageDescriptor = struct({
  cols: [1, list(FieldSchema)],
  location: [2, 'string'],
  inputFormat: [3, 'string'],
  outputFormat: [4, 'string'],
  compressed: [5, 'bool'],
  numBuckets: [6, 'i32'],
  serdeInfo: [7, SerDeInfo],
  bucketCols: [8, list('string')],
  sortCols: [9, list(Order)],
  parameters: [10, map('string', 'string')],
  skewedInfo: [11, SkewedInfo],
  storedAsSubDirectories: [12, 'bool'],
})

export const Table = struct({
  tableName: [1, 'string'],
  dbName: [2, 'string'],
  owner: [3, 'string'],
  createTime: [4, 'i32'],
  lastAccessTime: [5, 'i32'],
  retention: [6, 'i32'],
  sd: [7, StorageDescriptor],
  partitionKeys: [8, list(FieldSchema)],
  parameters: [9, map('string', 'string')],
  viewOriginalText: [10, 'string'],
  viewExpandedText: [11, 'string'],
  tableType: [12, 'string'],
  rewriteEnabled: [15, 'bool'],
  catName: [17, 'string'],
  ownerType: [18, 'i32'],
})

export const Partition = struct({
  values: [1, list('string')],
  dbName: [2, 'string'],
  tableName: [3, 'string'],
  createTime: [4, 'i32'],
  lastAccessTime: [5, 'i32'],
  sd: [6, StorageDescriptor],
  parameters: [7, map('string', 'string')],
  catName: [9, 'string'],
})

export const TableMeta = struct({
  dbName: [1, 'string'],
  tableName: [2, 'string'],
  tableType: [3, 'string'],
  comments: [4, 'string'],
})

/** What a client can make sense of; a server gives it no table that needs more. */
export const ClientCapabilities = struct({ values: [1, list('i32')] })

export const GetTableRequest = struct({
  dbName: [1, 'string'],
  tblName: [2, 'string'],
  capabilities: [3, ClientCapabilities],
  catName: [4, 'string'],
  processorCapabilities: [8, list('string')],
  processorIdentifier: [9, 'string'],
})
export const GetTableResult = struct({ table: [1, Table] })

const meta = 'MetaException'
const missing = 'NoSuchObjectException'

/** @see https://github.com/apache/hive, `standalone-metastore/metastore-common/src/main/thrift/hive_metastore.thrift` */
export const methods = {
  setUser: method('set_ugi', { user: [1, 'string'], groups: [2, list('string')] }, list('string'), {
    1: meta,
  }),
  version: method('getVersion', {}, 'string'),
  configValue: method('get_config_value', { name: [1, 'string'], fallback: [2, 'string'] }, 'string', {
    1: 'ConfigValSecurityException',
  }),
  databases: method('get_databases', { pattern: [1, 'string'] }, list('string'), { 1: meta }),
  database: method('get_database', { name: [1, 'string'] }, Database, { 1: missing, 2: meta }),
  tablesMeta: method(
    'get_table_meta',
    { databases: [1, 'string'], tables: [2, 'string'], types: [3, list('string')] },
    list(TableMeta),
    { 1: meta },
  ),
  table: method('get_table', { database: [1, 'string'], table: [2, 'string'] }, Table, {
    1: meta,
    2: missing,
  }),
  tableByRequest: method('get_table_req', { request: [1, GetTableRequest] }, GetTableResult, {
    1: meta,
    2: missing,
  }),
  partitionNames: method(
    'get_partition_names',
    { database: [1, 'string'], table: [2, 'string'], limit: [3, 'i16'] },
    list('string'),
    { 1: missing, 2: meta },
  ),
  partitionsByNames: method(
    'get_partitions_by_names',
    { database: [1, 'string'], table: [2, 'string'], names: [3, list('string')] },
    list(Partition),
    { 1: meta, 2: missing, 3: 'InvalidObjectException' },
  ),
} as const
