import type { Catalog, CatalogWriter } from '../../services/metadata/catalogs/contract/catalog.ts'
import { partitionName } from '../../services/metadata/catalogs/partition-names.ts'
import type { Partition, Table } from '../../subjects/metadata/objects.ts'
import { plainStorage } from './catalog-conformance.ts'
import type { MetastoreWriter } from './metastore-writer.ts'
import { oneOf, randomBelow } from './random.ts'

/** What is looked at of each object, so that what a metastore adds on its own is no matter; locations are below the root. */
export type Seen = Record<string, object>

interface PartitionModel {
  readonly location: string
  readonly version: string
}
interface TableModel {
  readonly type: 'EXTERNAL_TABLE' | 'MANAGED_TABLE' | 'VIRTUAL_VIEW'
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly location: string | undefined
  readonly version: string
  /** By their day; undefined for a table without partitions. */
  readonly partitions: Map<string, PartitionModel> | undefined
}
interface DatabaseModel {
  version: string
  readonly tables: Map<string, TableModel>
}

/** Few, so that names come again: what was dropped is made again, and a rename takes the name of what was dropped. */
const databaseNames = ['model_a', 'model_b', 'model_c']
const tableNames = Array.from({ length: 14 }, (_, index) => `t${index}`)
const maxAdded = 12
const never = new AbortController().signal

export interface ModelOptions {
  readonly catalog: Catalog
  /** For what a catalog has no word for. */
  readonly raw: MetastoreWriter
  /** Of all locations. */
  readonly root: string
  readonly random: () => number
}

/** Writes to a metastore at random, and knows what must be in it. */
export class MetastoreModel {
  readonly last = { database: databaseNames[0]!, name: 'the_last' }
  /** How often each change was made. */
  readonly done: Record<string, number> = {}
  readonly #databases = new Map<string, DatabaseModel>()
  readonly #writer: CatalogWriter
  readonly #raw: MetastoreWriter
  readonly #root: string
  readonly #random: () => number
  #version = 0
  readonly #changes: readonly (readonly [weight: number, change: string, make: () => Promise<boolean>])[] = [
    [16, 'createTable', () => this.#createTable()],
    [16, 'alterTable', () => this.#alterTable()],
    [9, 'renameTable', () => this.#renameTable()],
    [9, 'dropTable', () => this.#dropTable()],
    [18, 'addPartitions', () => this.#addPartitions()],
    [12, 'alterPartitions', () => this.#alterPartitions()],
    [11, 'dropPartitions', () => this.#dropPartitions()],
    [3, 'alterDatabase', () => this.#alterDatabase()],
    [3, 'dropDatabase', () => this.#dropDatabase()],
    [3, 'remakeDatabase', () => this.#remakeDatabase()],
  ]

  constructor({ catalog, raw, root, random }: ModelOptions) {
    this.#writer = catalog.writer!
    this.#raw = raw
    this.#root = root
    this.#random = random
  }

  async begin(): Promise<void> {
    for (const name of databaseNames) await this.#createDatabase(name)
    for (let count = 0; count < 12; count++) await this.#createTable()
  }

  /** Makes one change. */
  async step(): Promise<void> {
    const weights = this.#changes.reduce((sum, [weight]) => sum + weight, 0)
    for (;;) {
      let at = randomBelow(this.#random, weights)
      const [, change, make] = this.#changes.find(([weight]) => (at -= weight) < 0)!
      // There may be nothing to change in that way: another one is made then.
      if (!(await make())) continue
      this.done[change] = (this.done[change] ?? 0) + 1
      return
    }
  }

  /** A table that is made after all else. */
  async createLast(): Promise<void> {
    const { database, name } = this.last
    if (!this.#databases.has(database)) await this.#createDatabase(database)
    await this.#create(database, name, 'EXTERNAL_TABLE', false)
  }

  expected(): Seen {
    const seen: Seen = {}
    for (const [database, { version, tables }] of this.#databases) {
      seen[database] = { location: database, version }
      for (const [name, { partitions, ...table }] of tables) {
        const isView = table.type === 'VIRTUAL_VIEW'
        seen[`${database}.${name}`] = { ...table, ...(isView && { text: viewText(table.version) }) }
        for (const [day, partition] of partitions ?? [])
          seen[`${database}.${name}/${partitionName(['day'], [day])}`] = partition
      }
    }
    return seen
  }

  #next(): string {
    return String(++this.#version)
  }

  async #createDatabase(name: string): Promise<void> {
    const version = this.#next()
    const location = `${this.#root}/${name}`
    await this.#writer.createDatabase({ name, location, parameters: { version } }, never)
    this.#databases.set(name, { version, tables: new Map() })
  }

  #tableOf(database: string, name: string, model: TableModel): Table {
    const { type, columns, location, version, partitions } = model
    return {
      database,
      name,
      type,
      columns: [...columns],
      partitionKeys: partitions === undefined ? [] : [{ name: 'day', type: 'string' }],
      storage: plainStorage(location === undefined ? undefined : `${this.#root}/${location}`),
      parameters: { version, ...(type === 'EXTERNAL_TABLE' && { EXTERNAL: 'TRUE' }) },
      ...(type === 'VIRTUAL_VIEW' && {
        view: { originalText: viewText(version), expandedText: viewText(version), rewriteEnabled: false },
      }),
    }
  }

  async #create(
    database: string,
    name: string,
    type: TableModel['type'],
    isPartitioned: boolean,
  ): Promise<void> {
    const version = this.#next()
    const model = {
      type,
      columns: [{ name: 'id', type: 'bigint' }],
      location: type === 'VIRTUAL_VIEW' ? undefined : `${database}/${name}`,
      version,
      partitions: isPartitioned ? new Map<string, PartitionModel>() : undefined,
    }
    await this.#writer.createTable(this.#tableOf(database, name, model), never)
    this.#databases.get(database)!.tables.set(name, model)
  }

  /** A database, and a name that no table in it has. */
  #free(): [database: string, name: string] | undefined {
    if (this.#databases.size === 0) return undefined
    const database = oneOf(this.#random, [...this.#databases.keys()])
    const free = tableNames.filter((name) => !this.#databases.get(database)!.tables.has(name))
    return free.length === 0 ? undefined : [database, oneOf(this.#random, free)]
  }

  #anyTable(
    is: (table: TableModel) => boolean = () => true,
  ): { database: string; name: string; model: TableModel } | undefined {
    const all = [...this.#databases].flatMap(([database, { tables }]) =>
      [...tables].filter(([, model]) => is(model)).map(([name, model]) => ({ database, name, model })),
    )
    return all.length === 0 ? undefined : oneOf(this.#random, all)
  }

  async #createTable(): Promise<boolean> {
    const free = this.#free()
    if (free === undefined) return false
    const type = oneOf(this.#random, [
      'EXTERNAL_TABLE',
      'EXTERNAL_TABLE',
      'EXTERNAL_TABLE',
      'MANAGED_TABLE',
      'VIRTUAL_VIEW',
    ] as const)
    await this.#create(...free, type, type !== 'VIRTUAL_VIEW' && this.#random() < 0.7)
    return true
  }

  async #alterTable(): Promise<boolean> {
    const found = this.#anyTable()
    if (found === undefined) return false
    const { database, name, model } = found
    const version = this.#next()
    const columns =
      this.#random() < 0.5 ? [...model.columns, { name: `c${version}`, type: 'string' }] : model.columns
    const altered = { ...model, version, columns }
    await this.#writer.alterTable(this.#tableOf(database, name, altered), never)
    this.#databases.get(database)!.tables.set(name, altered)
    return true
  }

  async #renameTable(): Promise<boolean> {
    const found = this.#anyTable(({ type }) => type === 'EXTERNAL_TABLE')
    const free = this.#free()
    if (found === undefined || free === undefined) return false
    const { database, name, model } = found
    const [dbName, tableName] = free
    const table = await this.#raw.table(database, name)
    await this.#raw.alterTable(database, name, { ...table, dbName, tableName })
    this.#databases.get(database)!.tables.delete(name)
    this.#databases.get(dbName)!.tables.set(tableName, model)
    return true
  }

  async #dropTable(): Promise<boolean> {
    const found = this.#anyTable()
    if (found === undefined) return false
    const { database, name } = found
    await this.#writer.dropTable({ database, name }, never)
    this.#databases.get(database)!.tables.delete(name)
    return true
  }

  #partitionOf(model: TableModel, day: string, { location, version }: PartitionModel): Partition {
    return {
      values: [day],
      columns: [...model.columns],
      storage: plainStorage(`${this.#root}/${location}`),
      parameters: { version },
    }
  }

  async #addPartitions(): Promise<boolean> {
    const found = this.#anyTable(({ partitions }) => partitions !== undefined)
    if (found === undefined) return false
    const { database, name, model } = found
    const version = this.#next()
    const added = new Map<string, PartitionModel>()
    for (let count = 1 + randomBelow(this.#random, maxAdded); count > 0; count--) {
      const day = `d${randomBelow(this.#random, 60)}`
      if (!model.partitions!.has(day))
        added.set(day, {
          location: `${model.location!}/${oneOf(this.#random, ['', 'more/'])}${day}`,
          version,
        })
    }
    if (added.size === 0) return false
    const partitions = [...added].map(([day, one]) => this.#partitionOf(model, day, one))
    await this.#writer.addPartitions({ database, name }, partitions, never)
    for (const [day, one] of added) model.partitions!.set(day, one)
    return true
  }

  async #alterPartitions(): Promise<boolean> {
    const found = this.#anyTable(({ partitions }) => (partitions?.size ?? 0) > 0)
    if (found === undefined) return false
    const { database, name, model } = found
    const day = oneOf(this.#random, [...model.partitions!.keys()])
    const altered = { ...model.partitions!.get(day)!, version: this.#next() }
    const partition = this.#partitionOf(model, day, altered)
    await this.#writer.alterPartitions({ database, name }, [partition], never)
    model.partitions!.set(day, altered)
    return true
  }

  async #dropPartitions(): Promise<boolean> {
    const found = this.#anyTable(({ partitions }) => (partitions?.size ?? 0) > 0)
    if (found === undefined) return false
    const { database, name, model } = found
    const days = [...model.partitions!.keys()].filter(() => this.#random() < 0.3)
    if (days.length === 0) return false
    const names = days.map((day) => partitionName(['day'], [day]))
    await this.#writer.dropPartitions({ database, name }, names, never)
    for (const day of days) model.partitions!.delete(day)
    return true
  }

  async #alterDatabase(): Promise<boolean> {
    if (this.#databases.size === 0) return false
    const name = oneOf(this.#random, [...this.#databases.keys()])
    const version = this.#next()
    const location = `${this.#root}/${name}`
    await this.#writer.alterDatabase({ name, location, parameters: { version } }, never)
    this.#databases.get(name)!.version = version
    return true
  }

  async #dropDatabase(): Promise<boolean> {
    if (this.#databases.size < 2) return false
    const database = oneOf(this.#random, [...this.#databases.keys()])
    for (const name of this.#databases.get(database)!.tables.keys())
      await this.#writer.dropTable({ database, name }, never)
    await this.#writer.dropDatabase(database, never)
    this.#databases.delete(database)
    // At times it is back at once, before anybody has seen that it was gone.
    if (this.#random() < 0.3) await this.#createDatabase(database)
    return true
  }

  async #remakeDatabase(): Promise<boolean> {
    const gone = databaseNames.filter((name) => !this.#databases.has(name))
    if (gone.length === 0) return false
    await this.#createDatabase(oneOf(this.#random, gone))
    return true
  }
}

const viewText = (version: string): string => `select ${version}`

/** What a metastore has in the databases whose names begin so. */
export async function seenIn(catalog: Catalog, beginning: string, root: string): Promise<Seen> {
  const seen: Seen = {}
  // Some of what is changed keeps an empty authority, which is the same place.
  const below = (location = '') => location.replace(/^file:\/\/\//, 'file:/').replace(`${root}/`, '')
  for (const database of await catalog.databases(never)) {
    if (!database.startsWith(beginning)) continue
    const { location, parameters } = (await catalog.database(database, never))!
    seen[database] = { location: below(location), version: parameters['version'] }
    for (const { name } of await catalog.tables(database, never)) {
      const table = (await catalog.table(database, name, never))!
      seen[`${database}.${name}`] = {
        type: table.type,
        columns: table.columns,
        location: table.storage.location && below(table.storage.location),
        version: table.parameters['version'],
        ...(table.view !== undefined && { text: table.view.expandedText }),
      }
      const names = await catalog.partitionNames({ database, name }, never)
      const keys = table.partitionKeys.map((key) => key.name)
      for (const one of names.length === 0 ? [] : await catalog.partitions({ database, name }, names, never))
        seen[`${database}.${name}/${partitionName(keys, one.values)}`] = {
          location: below(one.storage.location),
          version: one.parameters['version'],
        }
    }
  }
  return seen
}
