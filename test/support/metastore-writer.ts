import { Database, Partition, Table } from '../../services/metadata/catalogs/hive/idl.ts'
import { ThriftConnection } from '../../services/metadata/thrift/connection.ts'
import { list, method, struct, type Value } from '../../services/metadata/thrift/types.ts'

const AddPartitions = struct({
  dbName: [1, 'string'],
  tblName: [2, 'string'],
  parts: [3, list(Partition)],
  ifNotExists: [4, 'bool'],
  needResult: [5, 'bool'],
})

const methods = {
  createDatabase: method('create_database', { database: [1, Database] }, 'void', {
    1: 'AlreadyExistsException',
    2: 'InvalidObjectException',
    3: 'MetaException',
  }),
  createTable: method('create_table', { table: [1, Table] }, 'void', {
    1: 'AlreadyExistsException',
    2: 'InvalidObjectException',
    3: 'MetaException',
    4: 'NoSuchObjectException',
  }),
  addPartitions: method('add_partitions_req', { request: [1, AddPartitions] }, struct({}), {
    1: 'InvalidObjectException',
    2: 'AlreadyExistsException',
    3: 'MetaException',
  }),
}

const limits = { connectTimeoutMs: 5_000, callTimeoutMs: 60_000, maxReplyBytes: 2 ** 26 }
const never = new AbortController().signal

/** Makes in a metastore what tests read; gone with the scope. */
export class MetastoreWriter implements Disposable {
  readonly #connection: ThriftConnection

  private constructor(connection: ThriftConnection) {
    this.#connection = connection
  }

  /** @param address `host:port` */
  static async open(address: string): Promise<MetastoreWriter> {
    const [host = '', port] = address.split(':')
    const endpoint = { host, port: Number(port), secure: false, framed: false }
    return new MetastoreWriter(await ThriftConnection.open(endpoint, limits, { signal: never }))
  }

  async createDatabase(database: Value<typeof Database>): Promise<void> {
    await this.#connection.call(methods.createDatabase, { database }, never)
  }

  async createTable(table: Value<typeof Table>): Promise<void> {
    await this.#connection.call(methods.createTable, { table }, never)
  }

  /** @param parts all of one table */
  async addPartitions(parts: readonly Value<typeof Partition>[]): Promise<void> {
    const [{ dbName = '', tableName: tblName = '' } = {}] = parts
    const request = { dbName, tblName, parts, ifNotExists: true, needResult: false }
    await this.#connection.call(methods.addPartitions, { request }, never)
  }

  [Symbol.dispose](): void {
    this.#connection.close()
  }
}
