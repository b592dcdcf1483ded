import { list, map, method, set, struct, type ThriftType } from '../../thrift/types.ts'

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

export const CreationMetadata = struct({
  catName: [1, 'string'],
  dbName: [2, 'string'],
  tblName: [3, 'string'],
  tablesUsed: [4, set('string')],
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
  creationMetadata: [16, CreationMetadata],
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

/** What a server is told beside the object that is made or changed. */
export const EnvironmentContext = struct({ properties: [1, map('string', 'string')] })

export const CreateTableRequest = struct({
  table: [1, Table],
  envContext: [2, EnvironmentContext],
  processorCapabilities: [9, list('string')],
  processorIdentifier: [10, 'string'],
})

export const AlterTableRequest = struct({
  catName: [1, 'string'],
  dbName: [2, 'string'],
  tableName: [3, 'string'],
  table: [4, Table],
  environmentContext: [5, EnvironmentContext],
  processorCapabilities: [8, list('string')],
  processorIdentifier: [9, 'string'],
})

export const AddPartitionsRequest = struct({
  dbName: [1, 'string'],
  tblName: [2, 'string'],
  parts: [3, list(Partition)],
  ifNotExists: [4, 'bool'],
  needResult: [5, 'bool'],
})

export const DropPartitionsRequest = struct({
  dbName: [1, 'string'],
  tblName: [2, 'string'],
  parts: [3, struct({ names: [1, list('string')] })],
  deleteData: [4, 'bool'],
  ifExists: [5, 'bool'],
  needResult: [8, 'bool'],
})

export const NotificationEvent = struct({
  eventId: [1, 'i64'],
  eventTime: [2, 'i32'],
  eventType: [3, 'string'],
  dbName: [4, 'string'],
  tableName: [5, 'string'],
  message: [6, 'string'],
  messageFormat: [7, 'string'],
})

export const Function = struct({
  functionName: [1, 'string'],
  dbName: [2, 'string'],
  className: [3, 'string'],
  ownerName: [4, 'string'],
  ownerType: [5, 'i32'],
  createTime: [6, 'i32'],
  functionType: [7, 'i32'],
  resourceUris: [8, list(struct({ resourceType: [1, 'i32'], uri: [2, 'string'] }))],
})

const Decimal = struct({ unscaled: [1, 'binary'], scale: [3, 'i16'] })
const Day = struct({ daysSinceEpoch: [1, 'i64'] })
const Second = struct({ secondsSinceEpoch: [1, 'i64'] })

/** Of types that have an order. */
const ordered = <const T extends ThriftType>(value: T) =>
  struct({
    lowValue: [1, value],
    highValue: [2, value],
    numNulls: [3, 'i64'],
    numDVs: [4, 'i64'],
    bitVectors: [5, 'binary'],
  })

/** One of them. */
export const ColumnStatisticsData = struct({
  boolean: [
    1,
    struct({
      numTrues: [1, 'i64'],
      numFalses: [2, 'i64'],
      numNulls: [3, 'i64'],
      bitVectors: [4, 'binary'],
    }),
  ],
  long: [2, ordered('i64')],
  double: [3, ordered('double')],
  string: [
    4,
    struct({
      maxColLen: [1, 'i64'],
      avgColLen: [2, 'double'],
      numNulls: [3, 'i64'],
      numDVs: [4, 'i64'],
      bitVectors: [5, 'binary'],
    }),
  ],
  binary: [
    5,
    struct({
      maxColLen: [1, 'i64'],
      avgColLen: [2, 'double'],
      numNulls: [3, 'i64'],
      bitVectors: [4, 'binary'],
    }),
  ],
  decimal: [6, ordered(Decimal)],
  date: [7, ordered(Day)],
  timestamp: [8, ordered(Second)],
})

const ColumnStatisticsObj = struct({
  colName: [1, 'string'],
  colType: [2, 'string'],
  statsData: [3, ColumnStatisticsData],
})

const ColumnStatistics = struct({
  statsDesc: [
    1,
    struct({
      isTblLevel: [1, 'bool'],
      dbName: [2, 'string'],
      tableName: [3, 'string'],
      partName: [4, 'string'],
      catName: [6, 'string'],
    }),
  ],
  statsObj: [2, list(ColumnStatisticsObj)],
  engine: [4, 'string'],
})

export const SQLPrimaryKey = struct({
  table_db: [1, 'string'],
  table_name: [2, 'string'],
  column_name: [3, 'string'],
  key_seq: [4, 'i32'],
  name: [5, 'string'],
  enable_cstr: [6, 'bool'],
  validate_cstr: [7, 'bool'],
  rely_cstr: [8, 'bool'],
  catName: [9, 'string'],
})

export const SQLForeignKey = struct({
  pktable_db: [1, 'string'],
  pktable_name: [2, 'string'],
  pkcolumn_name: [3, 'string'],
  fktable_db: [4, 'string'],
  fktable_name: [5, 'string'],
  column_name: [6, 'string'],
  key_seq: [7, 'i32'],
  update_rule: [8, 'i32'],
  delete_rule: [9, 'i32'],
  name: [10, 'string'],
  pk_name: [11, 'string'],
  enable_cstr: [12, 'bool'],
  validate_cstr: [13, 'bool'],
  rely_cstr: [14, 'bool'],
  catName: [15, 'string'],
})

export const SQLUniqueConstraint = struct({
  catName: [1, 'string'],
  table_db: [2, 'string'],
  table_name: [3, 'string'],
  column_name: [4, 'string'],
  key_seq: [5, 'i32'],
  name: [6, 'string'],
  enable_cstr: [7, 'bool'],
  validate_cstr: [8, 'bool'],
  rely_cstr: [9, 'bool'],
})

export const SQLNotNullConstraint = struct({
  catName: [1, 'string'],
  table_db: [2, 'string'],
  table_name: [3, 'string'],
  column_name: [4, 'string'],
  name: [5, 'string'],
  enable_cstr: [6, 'bool'],
  validate_cstr: [7, 'bool'],
  rely_cstr: [8, 'bool'],
})

/** Of default values, and of checks. */
export const SQLExpressionConstraint = struct({
  catName: [1, 'string'],
  table_db: [2, 'string'],
  table_name: [3, 'string'],
  column_name: [4, 'string'],
  expression: [5, 'string'],
  name: [6, 'string'],
  enable_cstr: [7, 'bool'],
  validate_cstr: [8, 'bool'],
  rely_cstr: [9, 'bool'],
})

/** Of releases before 3. */
export const Index = struct({
  indexName: [1, 'string'],
  indexHandlerClass: [2, 'string'],
  dbName: [3, 'string'],
  origTableName: [4, 'string'],
  indexTableName: [7, 'string'],
  sd: [8, StorageDescriptor],
  parameters: [9, map('string', 'string')],
  deferredRebuild: [10, 'bool'],
})

export const HiveObjectRef = struct({
  objectType: [1, 'i32'],
  dbName: [2, 'string'],
  objectName: [3, 'string'],
  partValues: [4, list('string')],
  columnName: [5, 'string'],
  catName: [6, 'string'],
})

export const HiveObjectPrivilege = struct({
  hiveObject: [1, HiveObjectRef],
  principalName: [2, 'string'],
  principalType: [3, 'i32'],
  grantInfo: [
    4,
    struct({
      privilege: [1, 'string'],
      createTime: [2, 'i32'],
      grantor: [3, 'string'],
      grantorType: [4, 'i32'],
      grantOption: [5, 'bool'],
    }),
  ],
  authorizer: [5, 'string'],
})

/** Whose constraints: in the order of fields that younger kinds have. */
const OfTable = struct({ catName: [1, 'string'], db_name: [2, 'string'], tbl_name: [3, 'string'] })

const meta = 'MetaException'
const missing = 'NoSuchObjectException'
const exists = 'AlreadyExistsException'
const invalid = 'InvalidObjectException'
const impossible = 'InvalidOperationException'
const made = { 1: exists, 2: invalid, 3: meta, 4: missing } as const
const altered = { 1: impossible, 2: meta } as const
const dropped = { 1: missing, 3: meta } as const
const constrained = { 1: missing, 2: meta } as const
const toldConstraints = { 1: meta, 2: missing } as const

const noTransaction = 'NoSuchTxnException'
const aborted = 'TxnAbortedException'

/** Which transaction has got which write id. */
const TxnToWriteId = struct({ txnId: [1, 'i64'], writeId: [2, 'i64'] })

export const AllocateWriteIds = struct({
  dbName: [1, 'string'],
  tableName: [2, 'string'],
  txnIds: [3, list('i64')],
  replPolicy: [4, 'string'],
  srcTxnToWriteIdList: [5, list(TxnToWriteId)],
})

/** @see https://github.com/apache/hive, `standalone-metastore/metastore-common/src/main/thrift/hive_metastore.thrift` */
export const methods = {
  setUser: method('set_ugi', { user: [1, 'string'], groups: [2, list('string')] }, list('string'), {
    1: meta,
  }),
  version: method('getVersion', {}, 'string'),
  configValue: method('get_config_value', { name: [1, 'string'], fallback: [2, 'string'] }, 'string', {
    1: 'ConfigValSecurityException',
  }),
  indexes: method(
    'get_indexes',
    { database: [1, 'string'], table: [2, 'string'], limit: [3, 'i16'] },
    list(Index),
    { 1: missing, 2: meta },
  ),
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
    { 1: meta, 2: missing, 3: invalid },
  ),
  createDatabase: method('create_database', { database: [1, Database] }, 'void', {
    1: exists,
    2: invalid,
    3: meta,
  }),
  alterDatabase: method('alter_database', { name: [1, 'string'], database: [2, Database] }, 'void', {
    1: meta,
    2: missing,
  }),
  dropDatabase: method(
    'drop_database',
    { name: [1, 'string'], deleteData: [2, 'bool'], cascade: [3, 'bool'] },
    'void',
    { 1: missing, 2: impossible, 3: meta },
  ),
  createTable: method(
    'create_table_with_environment_context',
    { table: [1, Table], context: [2, EnvironmentContext] },
    'void',
    made,
  ),
  createTableByRequest: method('create_table_req', { request: [1, CreateTableRequest] }, 'void', made),
  alterTable: method(
    'alter_table_with_environment_context',
    { database: [1, 'string'], name: [2, 'string'], table: [3, Table], context: [4, EnvironmentContext] },
    'void',
    altered,
  ),
  alterTableByRequest: method('alter_table_req', { request: [1, AlterTableRequest] }, struct({}), altered),
  dropTable: method(
    'drop_table_with_environment_context',
    {
      database: [1, 'string'],
      name: [2, 'string'],
      deleteData: [3, 'bool'],
      context: [4, EnvironmentContext],
    },
    'void',
    dropped,
  ),
  addPartitions: method('add_partitions_req', { request: [1, AddPartitionsRequest] }, struct({}), {
    1: invalid,
    2: exists,
    3: meta,
  }),
  alterPartitions: method(
    'alter_partitions_with_environment_context',
    {
      database: [1, 'string'],
      table: [2, 'string'],
      partitions: [3, list(Partition)],
      context: [4, EnvironmentContext],
    },
    'void',
    altered,
  ),
  dropPartitions: method('drop_partitions_req', { request: [1, DropPartitionsRequest] }, struct({}), {
    1: missing,
    2: meta,
  }),
  lastEvent: method('get_current_notificationEventId', {}, struct({ eventId: [1, 'i64'] })),
  nextEvents: method(
    'get_next_notification',
    { request: [1, struct({ lastEvent: [1, 'i64'], maxEvents: [2, 'i32'] })] },
    struct({ events: [1, list(NotificationEvent)] }),
  ),
  functionNames: method(
    'get_functions',
    { database: [1, 'string'], pattern: [2, 'string'] },
    list('string'),
    {
      1: meta,
    },
  ),
  function: method('get_function', { database: [1, 'string'], name: [2, 'string'] }, Function, {
    1: meta,
    2: missing,
  }),
  createFunction: method('create_function', { function: [1, Function] }, 'void', made),
  alterFunction: method(
    'alter_function',
    { database: [1, 'string'], name: [2, 'string'], function: [3, Function] },
    'void',
    altered,
  ),
  dropFunction: method('drop_function', { database: [1, 'string'], name: [2, 'string'] }, 'void', dropped),
  primaryKeys: method(
    'get_primary_keys',
    { request: [1, struct({ db_name: [1, 'string'], tbl_name: [2, 'string'] })] },
    struct({ constraints: [1, list(SQLPrimaryKey)] }),
    toldConstraints,
  ),
  foreignKeys: method(
    'get_foreign_keys',
    { request: [1, struct({ foreign_db_name: [3, 'string'], foreign_tbl_name: [4, 'string'] })] },
    struct({ constraints: [1, list(SQLForeignKey)] }),
    toldConstraints,
  ),
  unique: method(
    'get_unique_constraints',
    { request: [1, OfTable] },
    struct({ constraints: [1, list(SQLUniqueConstraint)] }),
    toldConstraints,
  ),
  notNull: method(
    'get_not_null_constraints',
    { request: [1, OfTable] },
    struct({ constraints: [1, list(SQLNotNullConstraint)] }),
    toldConstraints,
  ),
  defaults: method(
    'get_default_constraints',
    { request: [1, OfTable] },
    struct({ constraints: [1, list(SQLExpressionConstraint)] }),
    toldConstraints,
  ),
  checks: method(
    'get_check_constraints',
    { request: [1, OfTable] },
    struct({ constraints: [1, list(SQLExpressionConstraint)] }),
    toldConstraints,
  ),
  addPrimaryKey: method(
    'add_primary_key',
    { request: [1, struct({ constraints: [1, list(SQLPrimaryKey)] })] },
    'void',
    constrained,
  ),
  addForeignKeys: method(
    'add_foreign_key',
    { request: [1, struct({ constraints: [1, list(SQLForeignKey)] })] },
    'void',
    constrained,
  ),
  addUnique: method(
    'add_unique_constraint',
    { request: [1, struct({ constraints: [1, list(SQLUniqueConstraint)] })] },
    'void',
    constrained,
  ),
  addNotNull: method(
    'add_not_null_constraint',
    { request: [1, struct({ constraints: [1, list(SQLNotNullConstraint)] })] },
    'void',
    constrained,
  ),
  addDefaults: method(
    'add_default_constraint',
    { request: [1, struct({ constraints: [1, list(SQLExpressionConstraint)] })] },
    'void',
    constrained,
  ),
  addChecks: method(
    'add_check_constraint',
    { request: [1, struct({ constraints: [1, list(SQLExpressionConstraint)] })] },
    'void',
    constrained,
  ),
  tableStatistics: method(
    'get_table_statistics_req',
    {
      request: [
        1,
        struct({
          dbName: [1, 'string'],
          tblName: [2, 'string'],
          colNames: [3, list('string')],
          engine: [6, 'string'],
        }),
      ],
    },
    struct({ tableStats: [1, list(ColumnStatisticsObj)] }),
    constrained,
  ),
  partitionStatistics: method(
    'get_partitions_statistics_req',
    {
      request: [
        1,
        struct({
          dbName: [1, 'string'],
          tblName: [2, 'string'],
          colNames: [3, list('string')],
          partNames: [4, list('string')],
          engine: [7, 'string'],
        }),
      ],
    },
    struct({ partStats: [1, map('string', list(ColumnStatisticsObj))] }),
    constrained,
  ),
  putPartitionStatistics: method(
    'set_aggr_stats_for',
    { request: [1, struct({ colStats: [1, list(ColumnStatistics)], engine: [5, 'string'] })] },
    'bool',
    { 1: missing, 2: invalid, 3: meta, 4: 'InvalidInputException' },
  ),
  putTableStatistics: method(
    'update_table_column_statistics',
    { statistics: [1, ColumnStatistics] },
    'bool',
    { 1: missing, 2: invalid, 3: meta, 4: 'InvalidInputException' },
  ),
  dropConstraint: method(
    'drop_constraint',
    {
      request: [
        1,
        struct({ dbname: [1, 'string'], tablename: [2, 'string'], constraintname: [3, 'string'] }),
      ],
    },
    'void',
    dropped,
  ),
  privileges: method(
    'list_privileges',
    { principal: [1, 'string'], type: [2, 'i32'], object: [3, HiveObjectRef] },
    list(HiveObjectPrivilege),
    { 1: meta },
  ),
  changePrivileges: method(
    'grant_revoke_privileges',
    {
      request: [
        1,
        struct({
          requestType: [1, 'i32'],
          privileges: [2, struct({ privileges: [1, list(HiveObjectPrivilege)] })],
          revokeGrantOption: [3, 'bool'],
        }),
      ],
    },
    struct({ success: [1, 'bool'] }),
    { 1: meta },
  ),
  roleNames: method('get_role_names', {}, list('string'), { 1: meta }),
  createRole: method(
    'create_role',
    { role: [1, struct({ roleName: [1, 'string'], createTime: [2, 'i32'], ownerName: [3, 'string'] })] },
    'bool',
    { 1: meta },
  ),
  principalsInRole: method(
    'get_principals_in_role',
    { request: [1, struct({ roleName: [1, 'string'] })] },
    struct({
      principalGrants: [1, list(struct({ principalName: [2, 'string'], principalType: [3, 'i32'] }))],
    }),
    { 1: meta },
  ),
  changeRole: method(
    'grant_revoke_role',
    {
      request: [
        1,
        struct({
          requestType: [1, 'i32'],
          roleName: [2, 'string'],
          principalName: [3, 'string'],
          principalType: [4, 'i32'],
          grantor: [5, 'string'],
          grantorType: [6, 'i32'],
          grantOption: [7, 'bool'],
        }),
      ],
    },
    struct({ success: [1, 'bool'] }),
    { 1: meta },
  ),
  openTransactions: method(
    'get_open_txns',
    {},
    struct({
      txn_high_water_mark: [1, 'i64'],
      open_txns: [2, list('i64')],
      min_open_txn: [3, 'i64'],
      abortedBits: [4, 'binary'],
    }),
  ),
  validWriteIds: method(
    'get_valid_write_ids',
    { request: [1, struct({ fullTableNames: [1, list('string')], validTxnList: [2, 'string'] })] },
    struct({
      tblValidWriteIds: [
        1,
        list(
          struct({
            fullTableName: [1, 'string'],
            writeIdHighWaterMark: [2, 'i64'],
            invalidWriteIds: [3, list('i64')],
            minOpenWriteId: [4, 'i64'],
            abortedBits: [5, 'binary'],
          }),
        ),
      ],
    }),
    { 1: noTransaction, 2: meta },
  ),
  putWriteIds: method(
    'repl_tbl_writeid_state',
    {
      request: [
        1,
        struct({
          validWriteIdlist: [1, 'string'],
          user: [2, 'string'],
          hostName: [3, 'string'],
          dbName: [4, 'string'],
          tableName: [5, 'string'],
        }),
      ],
    },
    'void',
  ),
  beginTransactions: method(
    'open_txns',
    {
      request: [
        1,
        struct({
          num_txns: [1, 'i32'],
          user: [2, 'string'],
          hostname: [3, 'string'],
          replPolicy: [5, 'string'],
          replSrcTxnIds: [6, list('i64')],
          txn_type: [7, 'i32'],
        }),
      ],
    },
    struct({ txn_ids: [1, list('i64')] }),
  ),
  allocateWriteIds: method(
    'allocate_table_write_ids',
    { request: [1, AllocateWriteIds] },
    struct({ txnToWriteIds: [1, list(TxnToWriteId)] }),
    { 1: noTransaction, 2: aborted, 3: meta },
  ),
  commitTransaction: method(
    'commit_txn',
    {
      request: [1, struct({ txnid: [1, 'i64'], replPolicy: [2, 'string'], txn_type: [7, 'i32'] })],
    },
    'void',
    { 1: noTransaction, 2: aborted },
  ),
  abortTransaction: method(
    'abort_txn',
    {
      request: [1, struct({ txnid: [1, 'i64'], replPolicy: [2, 'string'], txn_type: [3, 'i32'] })],
    },
    'void',
    { 1: noTransaction },
  ),
} as const
