import {
  type Database,
  methods,
  type Partition,
  type Table,
} from '../../services/metadata/catalogs/hive/idl.ts'
import { ThriftConnection } from '../../services/metadata/thrift/connection.ts'
import type { Value } from '../../services/metadata/thrift/types.ts'

const limits = { connectTimeoutMs: 5_000, callTimeoutMs: 60_000, maxReplyBytes: 2 ** 26 }
const never = new AbortController().signal

/** Makes in a metastore what tests read, and tells what it has of a table; gone with the scope. */
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

  async alterTable(database: string, name: string, table: Value<typeof Table>): Promise<void> {
    await this.#connection.call(methods.alterTable, { database, name, table }, never)
  }

  async table(dbName: string, tblName: string): Promise<Value<typeof Table>> {
    const told = await this.#connection.call(methods.tableByRequest, { request: { dbName, tblName } }, never)
    return (told as { table: Value<typeof Table> }).table
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
