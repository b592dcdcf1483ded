import { createHash } from 'node:crypto'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { CatalogWriter, TableName, WriteIds, WriteIdsOfTables } from '../contract/catalog.ts'
import type { Value } from '../../thrift/types.ts'
import { type AllocateWriteIds, methods } from './idl.ts'
import { isLacking, type Metastore, type What } from './metastore.ts'

/** `TxnType.REPL_CREATED`: no timeout of a client ends such a transaction. */
const replicated = 1
/** Transactions that are open at once. */
const transactionsAtOnce = 100
/** Stands for a transaction whose write id is not known before it is given. */
const nextNumber = 0
/** No transaction is open, in the text of a list of write ids. */
const noneOpen = 2n ** 63n - 1n
/** As which client transactions are shown. */
const client = { user: 'gantry', host: 'gantry' }

/**
 * Write ids of transactional tables, from release 3 on. They are set as Hive's own replication does it: the transaction for
 * an id has that id as its number at the source, so that what was left half done by a process that ended is found again.
 */
export class HiveWriteIds implements WriteIdsOfTables, NonNullable<CatalogWriter['writeIds']> {
  readonly #metastore: Metastore

  constructor(metastore: Metastore) {
    this.#metastore = metastore
  }

  async of(tables: readonly TableName[], signal: AbortSignal): Promise<readonly WriteIds[] | undefined> {
    const what = this.#metastore.what('write ids')
    const fullTableNames = tables.map(({ database, name }) => `${database}.${name}`.toLowerCase())
    let answer
    try {
      // Who asks says of which transactions: release 4 alone asks itself.
      const validTxnList = transactionsText(
        await this.#metastore.ask(methods.openTransactions, {}, what, signal),
      )
      const request = { fullTableNames, validTxnList }
      answer = await this.#metastore.ask(methods.validWriteIds, { request }, what, signal)
    } catch (error) {
      if (isLacking(error)) return undefined
      throw error
    }
    const byName = new Map(answer.tblValidWriteIds?.map((one) => [one.fullTableName, one]))
    return fullTableNames.map((name) => {
      const { writeIdHighWaterMark: highest = 0n, invalidWriteIds = [], abortedBits } = byName.get(name) ?? {}
      return { highest: Number(highest), ...openAndAborted(invalidWriteIds, abortedBits) }
    })
  }

  async put(
    table: TableName,
    { highest, aborted }: Pick<WriteIds, 'highest' | 'aborted'>,
    signal: AbortSignal,
  ): Promise<void> {
    const isAborted = new Set(aborted)
    const before = await this.#told(table, signal)
    for (const id of before.open) await this.#endOne(table, id, isAborted.has(id), signal)
    const [last] = before.open
    if (last !== undefined) await this.#endOne(table, nextNumber, isAborted.has(last), signal)
    const { open, highest: there } = last === undefined ? before : await this.#told(table, signal)
    if (open.length > 0 || there > highest) throw writtenByOthers(there, highest)
    let given = there
    // A server that has never given any takes the state below the highest as a whole, and then keeps it.
    if (there === 0 && highest > 1)
      await this.#putState(
        table,
        highest - 1,
        aborted.filter((id) => id < highest),
        signal,
      )
    // Where the last one was aborted, it does not say which is next, unless all are given.
    if (there < highest && (there === 0 || before.aborted.includes(there))) {
      given = await this.#giveNext(table, signal)
      await this.#endOne(table, nextNumber, given > highest || isAborted.has(given), signal)
      if (given > highest) throw writtenByOthers(given, highest)
    }
    while (given < highest) {
      const count = Math.min(transactionsAtOnce, highest - given)
      const first = given + 1
      const ids = Array.from({ length: count }, (_, index) => first + index)
      await this.#give(table, ids, signal)
      for (const id of ids) await this.#endOne(table, id, isAborted.has(id), signal)
      given += count
    }
  }

  async #told(table: TableName, signal: AbortSignal): Promise<WriteIds> {
    const [told] = (await this.of([table], signal)) ?? []
    if (told !== undefined) return told
    const what = this.#what('write ids', table)
    throw new StoreError('unsupported', `${what()}: they came with release 3 of Hive`)
  }

  async #putState(
    { database, name }: TableName,
    highest: number,
    aborted: readonly number[],
    signal: AbortSignal,
  ): Promise<void> {
    const what = this.#what('setting write ids', { database, name })
    const request = {
      validWriteIdlist: `${database}.${name}:${highest}:${noneOpen}::${aborted.join(',')}`,
      user: client.user,
      hostName: client.host,
      dbName: database,
      tableName: name,
    }
    await this.#metastore.change(methods.putWriteIds, { request }, what, signal)
  }

  /** Has the next id given, whichever it is. @returns it */
  async #giveNext(table: TableName, signal: AbortSignal): Promise<number> {
    const txnId = await this.#begin(table, nextNumber, signal)
    return (await this.#allocate(table, { txnIds: [txnId] }, signal))[0]!
  }

  /** Has ids given that are the next ones. */
  async #give(table: TableName, ids: readonly number[], signal: AbortSignal): Promise<void> {
    // One by one: of several at once, a server would open none if one of them is open already.
    for (const id of ids) await this.#begin(table, id, signal)
    const srcTxnToWriteIdList = ids.map((id) => ({ txnId: BigInt(id), writeId: BigInt(id) }))
    await this.#allocate(table, { replPolicy: policyOf(table), srcTxnToWriteIdList }, signal)
  }

  /** Begins a transaction by the number that it has at the source; one that is open already is the same. @returns its own number */
  async #begin(table: TableName, number: number, signal: AbortSignal): Promise<bigint> {
    const request = {
      num_txns: 1,
      user: client.user,
      hostname: client.host,
      replPolicy: policyOf(table),
      replSrcTxnIds: [BigInt(number)],
      txn_type: replicated,
    }
    const what = this.#what('opening transactions', table)
    const { txn_ids = [] } = await this.#metastore.change(
      methods.beginTransactions,
      { request },
      what,
      signal,
    )
    return txn_ids[0]!
  }

  async #allocate(
    table: TableName,
    transactions: Value<typeof AllocateWriteIds>,
    signal: AbortSignal,
  ): Promise<readonly number[]> {
    const request = { dbName: table.database, tableName: table.name, ...transactions }
    const what = this.#what('giving write ids', table)
    const { txnToWriteIds = [] } = await this.#metastore.change(
      methods.allocateWriteIds,
      { request },
      what,
      signal,
    )
    return txnToWriteIds.map(({ writeId }) => Number(writeId))
  }

  /** Commits or aborts a transaction by its number at the source; one that has ended already, or never began, is no matter. */
  async #endOne(table: TableName, number: number, isAborted: boolean, signal: AbortSignal): Promise<void> {
    const what = this.#what('ending transactions', table)
    const request = { txnid: BigInt(number), replPolicy: policyOf(table), txn_type: replicated }
    if (isAborted) await this.#metastore.change(methods.abortTransaction, { request }, what, signal)
    else await this.#metastore.change(methods.commitTransaction, { request }, what, signal)
  }

  #what(does: string, { database, name }: TableName): What {
    return this.#metastore.what(`${does} of ${database}.${name}`)
  }
}

const writtenByOthers = (there: number, highest: number): StoreError =>
  new StoreError(
    'changed',
    `another program has written to the table at the target, where write ids go up to ${there}, and to ${highest} at the source: with onConflict overwrite, the migration makes the table anew`,
  )

/** A bit for each that is not committed says whether it was aborted. */
function openAndAborted(ids: readonly bigint[], bits: Buffer = Buffer.alloc(0)) {
  const isAborted = (index: number) => (((bits[index >> 3] ?? 0) >> (index & 7)) & 1) === 1
  return {
    open: ids.filter((_, index) => !isAborted(index)).map(Number),
    aborted: ids.filter((_, index) => isAborted(index)).map(Number),
  }
}

/** Transactions as a server takes them back: the highest, the lowest that is open, those that are open, and those that were aborted. */
function transactionsText({
  txn_high_water_mark: highest = 0n,
  open_txns: ids = [],
  abortedBits,
}: Value<typeof methods.openTransactions.result>): string {
  const { open, aborted } = openAndAborted(ids, abortedBits)
  return `${highest}:${open[0] ?? noneOpen}:${open.join(',')}:${aborted.join(',')}`
}

/** Under this name a server keeps which transaction stands for which id; it has room for 256 characters. */
const policyOf = ({ database, name }: TableName): string =>
  `gantry.${createHash('sha256')
    .update(JSON.stringify([database.toLowerCase(), name.toLowerCase()]))
    .digest('base64url')}`
