import {
  type Database,
  Index,
  methods,
  type Partition,
  Table,
} from '../../services/metadata/catalogs/hive/idl.ts'
import { ThriftConnection } from '../../services/metadata/thrift/connection.ts'
import { method, type Value } from '../../services/metadata/thrift/types.ts'

const limits = { connectTimeoutMs: 5_000, callTimeoutMs: 60_000, maxReplyBytes: 2 ** 26 }
const never = new AbortController().signal
const addIndex = method('add_index', { index: [1, Index], indexTable: [2, Table] }, Index, {
  1: 'InvalidObjectException',
  2: 'AlreadyExistsException',
  3: 'MetaException',
})

interface TableOf {
  readonly database: string
  readonly name: string
}

/** Makes in a metastore what tests read, and tells what it has of a table; gone with the scope. */
export class MetastoreWriter implements Disposable {
  readonly #open: () => Promise<ThriftConnection>
  #connection: ThriftConnection

  private constructor(open: () => Promise<ThriftConnection>, connection: ThriftConnection) {
    this.#open = open
    this.#connection = connection
  }

  /** @param address `host:port` */
  static async open(address: string): Promise<MetastoreWriter> {
    const [host = '', port] = address.split(':')
    const endpoint = { host, port: Number(port), secure: false, framed: false }
    const open = () => ThriftConnection.open(endpoint, limits, { signal: never })
    return new MetastoreWriter(open, await open())
  }

  /** To a metastore that was started again as well. */
  async #connected(): Promise<ThriftConnection> {
    if (!this.#connection.isUsable) this.#connection = await this.#open()
    return this.#connection
  }

  async createDatabase(database: Value<typeof Database>): Promise<void> {
    await (await this.#connected()).call(methods.createDatabase, { database }, never)
  }

  async createTable(table: Value<typeof Table>): Promise<void> {
    await (await this.#connected()).call(methods.createTable, { table }, never)
  }

  async alterTable(database: string, name: string, table: Value<typeof Table>): Promise<void> {
    await (await this.#connected()).call(methods.alterTable, { database, name, table }, never)
  }

  async table(dbName: string, tblName: string): Promise<Value<typeof Table>> {
    const told = await (
      await this.#connected()
    ).call(methods.tableByRequest, { request: { dbName, tblName } }, never)
    return (told as { table: Value<typeof Table> }).table
  }

  /** Of releases before 3. */
  async addIndex(index: Value<typeof Index>, indexTable: Value<typeof Table>): Promise<void> {
    await (await this.#connected()).call(addIndex, { index, indexTable }, never)
  }

  /** @param parts all of one table */
  async addPartitions(parts: readonly Value<typeof Partition>[]): Promise<void> {
    const [{ dbName = '', tableName: tblName = '' } = {}] = parts
    const request = { dbName, tblName, parts, ifNotExists: true, needResult: false }
    await (await this.#connected()).call(methods.addPartitions, { request }, never)
  }

  /** Gets a write id of a transactional table as a query does, and ends its transaction. @returns the id */
  async write({ database, name }: TableOf, end: 'commit' | 'abort' | 'open'): Promise<number> {
    const { transaction, id } = await this.#writing(database, name)
    if (end !== 'open') await this.endTransaction(transaction, end)
    return id
  }

  /** The same with a transaction that is left open. @returns the transaction */
  async openWrite({ database, name }: TableOf): Promise<bigint> {
    return (await this.#writing(database, name)).transaction
  }

  async #writing(database: string, name: string): Promise<{ transaction: bigint; id: number }> {
    const transaction = await this.#openTransaction()
    const request = { dbName: database, tableName: name, txnIds: [transaction] }
    const { txnToWriteIds = [] } = (await (
      await this.#connected()
    ).call(methods.allocateWriteIds, { request }, never)) as Value<typeof methods.allocateWriteIds.result>
    return { transaction, id: Number(txnToWriteIds[0]?.writeId) }
  }

  async #openTransaction(): Promise<bigint> {
    const request = { num_txns: 1, user: 'tester', hostname: 'test' }
    const { txn_ids = [] } = (await (
      await this.#connected()
    ).call(methods.beginTransactions, { request }, never)) as Value<typeof methods.beginTransactions.result>
    return txn_ids[0]!
  }

  async endTransaction(txnid: bigint, end: 'commit' | 'abort'): Promise<void> {
    const connection = await this.#connected()
    if (end === 'commit') await connection.call(methods.commitTransaction, { request: { txnid } }, never)
    else await connection.call(methods.abortTransaction, { request: { txnid } }, never)
  }

  [Symbol.dispose](): void {
    this.#connection.close()
  }
}
