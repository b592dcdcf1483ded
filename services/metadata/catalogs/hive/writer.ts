import type { CatalogRules } from '../contract/kind.ts'
import type { Database, Partition, Table } from '../../../../subjects/metadata/objects.ts'
import { type FailureClass, StoreError } from '../../../drivers/contract/store-error.ts'
import { type CatalogWriter, partitionsAtOnce, type TableName } from '../contract/catalog.ts'
import { beingDropped, hiddenNameOf, hiddenParameter, newHiddenName } from '../hidden-tables.ts'
import { partitionName } from '../partition-names.ts'
import type { HiveConstraints } from './constraints.ts'
import type { HiveFunctions } from './functions.ts'
import { methods, type Table as HiveTableType } from './idl.ts'
import { changing, type Metastore, type What } from './metastore.ts'
import {
  creationOf,
  hiveDatabaseOf,
  hivePartitionOf,
  hiveTableOf,
  isOwnParameter,
  tableOf,
  tableTypes,
} from './objects.ts'
import { type HivePrivileges, heldPrivilege } from './privileges.ts'
import type { HiveStatistics } from './statistics.ts'
import type { HiveWriteIds } from './write-ids.ts'
import type { Value } from '../../thrift/types.ts'
import { isTransactional } from '../transactional.ts'
import { unlessGone } from '../unless-gone.ts'
import { defaultCatalog, hiveTable, processor } from './tables.ts'

type HiveTable = Value<typeof HiveTableType>

/** What the databases of metastores have room for. */
const maxNameLength = 256

/** Failures of a call with several partitions that single ones of them may be the reason of, or their number. */
const ofSomePartitions: ReadonlySet<FailureClass> = new Set(['io', 'unsupported', 'permission', 'too-large'])

/** Where so many partitions of a call fail each by itself, the others are not tried one by one. */
const maxFailedAlone = 10

/** So that a server neither lists the files of what is changed, nor counts them. */
const withoutStatistics = new Map([['DO_NOT_UPDATE_STATS', 'true']])
const context = { properties: withoutStatistics }

/** What every metastore holds, whichever its release. */
export const hiveRules: CatalogRules = {
  isOwnParameter,
  heldPrivilege,
  refuses: ({ name, type, view }) => {
    if (name.length > maxNameLength)
      return `Hive allows at most ${maxNameLength} characters in the name of a table`
    if (!tableTypes.includes(type))
      return `Hive does not support tables of type ${type}, only ${tableTypes.join(', ')}`
    if (type.endsWith('_VIEW') && view === undefined) return 'Hive does not accept a view without its text'
    return undefined
  },
}

/**
 * Writes to a metastore. It makes the folders of what is made where they are not there, whoever asks: its own file system has to
 * reach them. Nothing else of files is touched.
 */
export class HiveWriter implements CatalogWriter {
  readonly refuses = hiveRules.refuses
  readonly isOwnParameter = hiveRules.isOwnParameter
  readonly functions: HiveFunctions
  readonly constraints: HiveConstraints
  readonly statistics: HiveStatistics
  readonly privileges: HivePrivileges
  readonly writeIds: HiveWriteIds
  readonly #metastore: Metastore
  /** Partitions that the server took last in one call, where it has failed for more. */
  #addedAtOnce = partitionsAtOnce

  constructor(
    metastore: Metastore,
    beyond: Pick<HiveWriter, 'functions' | 'constraints' | 'statistics' | 'privileges' | 'writeIds'>,
  ) {
    this.#metastore = metastore
    this.functions = beyond.functions
    this.constraints = beyond.constraints
    this.statistics = beyond.statistics
    this.privileges = beyond.privileges
    this.writeIds = beyond.writeIds
  }

  async createDatabase(database: Database, signal: AbortSignal): Promise<void> {
    const what = this.#metastore.what(`making database ${database.name}`)
    // Release 4 makes none whose managed location is there already, but takes that one afterwards.
    const { managedLocation, ...others } = database
    const made = hiveDatabaseOf(others)
    await changing(this.#metastore.change(methods.createDatabase, { database: made }, what, signal))
    if (managedLocation !== undefined) await this.alterDatabase(database, signal)
  }

  async alterDatabase(database: Database, signal: AbortSignal): Promise<void> {
    const { name } = database
    const what = this.#metastore.what(`changing database ${name}`)
    const alter = async () => {
      const before = await this.#metastore.ask(methods.database, { name }, what, signal)
      const altered = { name, database: hiveDatabaseOf(database, before) }
      await this.#metastore.change(methods.alterDatabase, altered, what, signal)
    }
    await changing(alter())
  }

  async dropDatabase(name: string, signal: AbortSignal): Promise<void> {
    const what = this.#metastore.what(`dropping database ${name}`)
    const dropped = { name, deleteData: false, cascade: false }
    const drop = async () => {
      // Some releases fail in some other way where there is none.
      await this.#metastore.ask(methods.database, { name }, what, signal)
      await this.#metastore.change(methods.dropDatabase, dropped, what, signal)
    }
    // All that it refuses is a database with something in it.
    await changing(drop(), 'unsupported')
  }

  async createTable(table: Table, signal: AbortSignal): Promise<void> {
    const what = this.#metastore.what(`making table ${table.database}.${table.name}`)
    const made = { ...hiveTableOf(table), ...creationOf(table, defaultCatalog) }
    const request = { table: made, envContext: context, ...processor }
    // Where the context has no say when a table is made, a parameter has, and is not kept; of views it would be.
    const parameters = table.type.endsWith('_VIEW')
      ? made.parameters
      : new Map([...(made.parameters ?? []), ...withoutStatistics])
    const make = async () => {
      try {
        await this.#metastore.either(
          methods.createTableByRequest,
          () => this.#metastore.change(methods.createTableByRequest, { request }, what, signal),
          () =>
            this.#metastore.change(
              methods.createTable,
              { table: { ...made, ...(parameters && { parameters }) }, context },
              what,
              signal,
            ),
        )
      } catch (error) {
        // It may have refused the table as there is no such database, which the message does not say.
        if (error instanceof StoreError && error.failure === 'unsupported')
          await this.#metastore.ask(methods.database, { name: table.database }, what, signal)
        throw error
      }
    }
    await changing(make())
  }

  alterTable(table: Table, signal: AbortSignal): Promise<void> {
    return changing(this.#alter(table, (was) => hiveTableOf(table, was), signal))
  }

  renameTable(before: TableName, table: Table, signal: AbortSignal): Promise<void> {
    const what = this.#metastore.what(`renaming table ${before.database}.${before.name}`)
    return this.#rename(before, table, what, signal, ({ tableType, sd }) => {
      if (tableType === 'MANAGED_TABLE' && sd?.location === table.storage.location)
        throw new StoreError('unsupported', `${what()}: a metastore would move its files`)
    })
  }

  /** A metastore moves the files of a table only from the folder that has the table's name, which is another one here. */
  revealTable(table: Table, signal: AbortSignal): Promise<void> {
    const what = this.#metastore.what(`naming table ${table.database}.${table.name}`)
    return this.#rename(hiddenNameOf(table), table, what, signal)
  }

  async #rename(
    before: TableName,
    table: Table,
    what: What,
    signal: AbortSignal,
    require: (was: HiveTable) => void = () => undefined,
  ): Promise<void> {
    const renamed = (was: HiveTable): HiveTable => {
      require(was)
      return { ...hiveTableOf(table, was), dbName: table.database, tableName: table.name }
    }
    const rename = async () => {
      if ((await unlessGone(hiveTable(this.#metastore, table.database, table.name, signal))) !== undefined)
        throw new StoreError('changed', `${what()}: ${table.database}.${table.name} already exists`)
      await this.#alter(before, renamed, signal)
    }
    await changing(rename())
  }

  async #alter(
    { database, name }: TableName,
    alteredOf: (before: HiveTable) => HiveTable,
    signal: AbortSignal,
  ): Promise<void> {
    const what = this.#metastore.what(`changing table ${database}.${name}`)
    const altered = alteredOf(await hiveTable(this.#metastore, database, name, signal))
    const request = {
      dbName: database,
      tableName: name,
      table: altered,
      environmentContext: context,
      ...processor,
    }
    await this.#metastore.either(
      methods.alterTableByRequest,
      () => this.#metastore.change(methods.alterTableByRequest, { request }, what, signal),
      () =>
        this.#metastore.change(methods.alterTable, { database, name, table: altered, context }, what, signal),
    )
  }

  async dropTable(table: TableName, signal: AbortSignal): Promise<void> {
    const renamed = await this.#withItsWriteIds(table, signal)
    const { database, name } = renamed ?? table
    const what = this.#metastore.what(`dropping table ${table.database}.${table.name}`)
    const dropped = { database, name, deleteData: false }
    const dropping = this.#metastore.change(methods.dropTable, dropped, what, signal)
    // By its new name another process may find it, and drop it.
    await changing(renamed === undefined ? dropping : unlessGone(dropping))
  }

  /**
   * Gives a table that has write ids a name that no other table ever gets: when its files stay, release 4 keeps the ids for the
   * next table of its name.
   * @returns that name; undefined for a table without write ids
   */
  async #withItsWriteIds({ database, name }: TableName, signal: AbortSignal): Promise<TableName | undefined> {
    const its = await unlessGone(hiveTable(this.#metastore, database, name, signal))
    if (its === undefined || !isTransactional(tableOf(its))) return undefined
    const [ids] = (await this.writeIds.of([{ database, name }], signal)) ?? []
    if (ids === undefined || ids.highest === 0) return undefined
    const dropped = { database, name: newHiddenName() }
    // The files of a table that gets another name stay where its location changes too.
    const sd = { ...its.sd, location: `${its.sd?.location ?? ''}_${dropped.name}` }
    const parameters = new Map(its.parameters ?? []).set(hiddenParameter, beingDropped)
    const moved = () => ({ ...its, tableName: dropped.name, sd, parameters })
    await changing(this.#alter({ database, name }, moved, signal))
    return dropped
  }

  async addPartitions(
    table: TableName,
    partitions: readonly Partition[],
    signal: AbortSignal,
  ): Promise<void> {
    const failures: StoreError[] = []
    for (let at = 0; at < partitions.length;) {
      const some = partitions.slice(at, at + this.#addedAtOnce)
      at += some.length
      await this.#addOrHalve(table, some, failures, signal)
    }
    const [first, ...more] = failures
    if (first === undefined) return
    const others = more.length === 0 ? '' : `; so do ${more.length} others`
    throw new StoreError(first.failure, `${first.message}${others}`, { cause: first })
  }

  /**
   * Adds partitions. Where the server fails for all of them, each half is tried by itself, down to single ones: databases
   * below a metastore have bounds of their own, and one partition that is refused keeps no other from being added.
   * @param failures gets those of single partitions
   * @returns whether all were added
   */
  async #addOrHalve(
    table: TableName,
    some: readonly Partition[],
    failures: StoreError[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { database, name } = table
    const [only, ...others] = some
    const added = only && others.length === 0 ? `partition ${only.values.join('/')}` : 'partitions'
    const what = this.#metastore.what(`adding ${added} to ${database}.${name}`)
    const request = {
      dbName: database,
      tblName: name,
      parts: some.map((one) => hivePartitionOf(table, one)),
      ifNotExists: true,
      needResult: false,
    }
    try {
      await changing(this.#metastore.change(methods.addPartitions, { request }, what, signal))
      return true
    } catch (error) {
      if (!(error instanceof StoreError) || !ofSomePartitions.has(error.failure)) throw error
      if (some.length === 1) failures.push(error)
      if (some.length === 1 && failures.length < maxFailedAlone) return false
      // It is not for what single ones are.
      if (failures.length >= maxFailedAlone) throw error
    }
    const half = Math.ceil(some.length / 2)
    const first = await this.#addOrHalve(table, some.slice(0, half), failures, signal)
    const second = await this.#addOrHalve(table, some.slice(half), failures, signal)
    // They were only too many.
    if (first && second) this.#addedAtOnce = Math.min(this.#addedAtOnce, half)
    return first && second
  }

  async alterPartitions(
    table: TableName,
    partitions: readonly Partition[],
    signal: AbortSignal,
  ): Promise<void> {
    if (partitions.length === 0) return
    const { database, name } = table
    const what = this.#metastore.what(`changing partitions of ${database}.${name}`)
    const alter = async () => {
      const { partitionKeys = [] } = await hiveTable(this.#metastore, database, name, signal)
      const keys = partitionKeys.map((key) => key.name ?? '')
      const nameOf = (values: readonly string[] = []) => partitionName(keys, values)
      const names = partitions.map(({ values }) => nameOf(values))
      const asked = { database, table: name, names }
      const before = await this.#metastore.ask(methods.partitionsByNames, asked, what, signal)
      const byName = new Map(before.map((one) => [nameOf(one.values), one]))
      const altered = partitions.map((one, index) => {
        const its = byName.get(names[index]!)
        if (its === undefined) throw new StoreError('gone', `${what()}: there is no ${names[index]!}`)
        return hivePartitionOf(table, one, its)
      })
      const values = { database, table: name, partitions: altered, context }
      await this.#metastore.change(methods.alterPartitions, values, what, signal)
    }
    await changing(alter())
  }

  async dropPartitions(
    { database, name }: TableName,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    if (names.length === 0) return
    const what = this.#metastore.what(`dropping partitions of ${database}.${name}`)
    const request = {
      dbName: database,
      tblName: name,
      parts: { names },
      deleteData: false,
      ifExists: true,
      needResult: false,
    }
    await changing(this.#metastore.change(methods.dropPartitions, { request }, what, signal))
  }
}
