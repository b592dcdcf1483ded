import type { Database, Partition, Table } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { CatalogWriter, TableName } from '../contract/catalog.ts'
import { partitionName } from '../partition-names.ts'
import type { HiveConstraints } from './constraints.ts'
import type { HiveFunctions } from './functions.ts'
import { methods } from './idl.ts'
import { changing, type Metastore } from './metastore.ts'
import {
  creationOf,
  hiveDatabaseOf,
  hivePartitionOf,
  hiveTableOf,
  isOwnParameter,
  tableTypes,
} from './objects.ts'
import type { HiveStatistics } from './statistics.ts'
import { defaultCatalog, hiveTable, processor } from './tables.ts'

/** What the databases of metastores have room for. */
const maxNameLength = 256

/** So that a server neither lists the files of what is changed, nor counts them. */
const withoutStatistics = new Map([['DO_NOT_UPDATE_STATS', 'true']])
const context = { properties: withoutStatistics }

/**
 * Writes to a metastore. It makes the folders of what is made where they are not there, whoever asks: its own file system has to
 * reach them. Nothing else of files is touched.
 */
export class HiveWriter implements CatalogWriter {
  readonly isOwnParameter = isOwnParameter
  readonly functions: HiveFunctions
  readonly constraints: HiveConstraints
  readonly statistics: HiveStatistics
  readonly #metastore: Metastore

  constructor(
    metastore: Metastore,
    functions: HiveFunctions,
    constraints: HiveConstraints,
    statistics: HiveStatistics,
  ) {
    this.#metastore = metastore
    this.functions = functions
    this.constraints = constraints
    this.statistics = statistics
  }

  refuses({ name, type, view }: Table): string | undefined {
    if (name.length > maxNameLength) return `Hive has room for ${maxNameLength} characters of a table's name`
    if (!tableTypes.includes(type)) return `Hive has no tables of type ${type}, only ${tableTypes.join(', ')}`
    if (type.endsWith('_VIEW') && view === undefined) return 'Hive takes no view without its text'
    return undefined
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

  async alterTable(table: Table, signal: AbortSignal): Promise<void> {
    const { database, name } = table
    const what = this.#metastore.what(`changing table ${database}.${name}`)
    const alter = async () => {
      const altered = hiveTableOf(table, await hiveTable(this.#metastore, database, name, signal))
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
          this.#metastore.change(
            methods.alterTable,
            { database, name, table: altered, context },
            what,
            signal,
          ),
      )
    }
    await changing(alter())
  }

  async dropTable({ database, name }: TableName, signal: AbortSignal): Promise<void> {
    const what = this.#metastore.what(`dropping table ${database}.${name}`)
    const dropped = { database, name, deleteData: false }
    await changing(this.#metastore.change(methods.dropTable, dropped, what, signal))
  }

  async addPartitions(
    table: TableName,
    partitions: readonly Partition[],
    signal: AbortSignal,
  ): Promise<void> {
    if (partitions.length === 0) return
    const { database, name } = table
    const what = this.#metastore.what(`adding partitions to ${database}.${name}`)
    const request = {
      dbName: database,
      tblName: name,
      parts: partitions.map((one) => hivePartitionOf(table, one)),
      ifNotExists: true,
      needResult: false,
    }
    await changing(this.#metastore.change(methods.addPartitions, { request }, what, signal))
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
