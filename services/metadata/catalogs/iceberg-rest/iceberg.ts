import { concurrently } from '../../../../broker/common/concurrently.ts'
import type { CatalogOptions } from '../../../../subjects/metadata/kinds.ts'
import type { Database, Partition, Table, TableSummary } from '../../../../subjects/metadata/objects.ts'
import type { StoreBounds } from '../../../drivers/contract/bounds.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { Catalog, TableName } from '../contract/catalog.ts'
import { byCodePoints } from '../order.ts'
import { unlessGone } from '../unless-gone.ts'
import { IcebergClient, requestsAtOnce } from './client.ts'
import { failed } from './errors.ts'
import { databaseName, levelsOf } from './names.ts'
import { type Json, listOf, textOf } from './json.ts'
import { databaseOf, tableOf, viewOf } from './objects.ts'
import { IcebergWriter } from './writer.ts'

/** Namespaces in one another that are looked through. */
const maxLevels = 10

/** A catalog of Iceberg tables by the REST protocol. Its namespaces are databases; it has no partitions of its own. */
export class IcebergCatalog implements Catalog {
  readonly place: string
  readonly writer: IcebergWriter
  readonly #client: IcebergClient

  /** Throws GantryError NOT_ACCEPTED. @param bounds where catalogs may be; without them anywhere */
  constructor(options: CatalogOptions<'iceberg-rest'>, bounds?: StoreBounds) {
    this.#client = new IcebergClient(options, bounds)
    const { warehouse } = options
    this.place = `the Iceberg catalog ${warehouse === undefined ? '' : `${warehouse} `}at ${this.#client.host}`
    this.writer = new IcebergWriter(this.#client, this.place)
  }

  requirePlace(): void {
    this.#client.requirePlace()
  }

  probe(signal: AbortSignal): Promise<void> {
    return this.#client.probe(signal)
  }

  async version(): Promise<undefined> {
    return undefined
  }

  async databases(signal: AbortSignal): Promise<readonly string[]> {
    const found: string[][] = []
    let level: (string[] | undefined)[] = [undefined]
    for (let depth = 0; level.length > 0; depth++) {
      if (depth === maxLevels)
        throw failed('unsupported', this.place, `has more than ${maxLevels} levels of namespaces`)
      const below: string[][] = []
      await concurrently(level, requestsAtOnce, async (parent) => {
        below.push(...(await this.#namespacesIn(parent, signal)))
      })
      found.push(...below)
      level = below
    }
    return found.map(databaseName).toSorted(byCodePoints)
  }

  async database(name: string, signal: AbortSignal): Promise<Database | undefined> {
    const path = ['namespaces', levelsOf(name)]
    const what = () => `database ${name} of ${this.place}`
    const namespace = await unlessGone(this.#client.json({ method: 'GET', path, what, signal }))
    return namespace && databaseOf(name, namespace)
  }

  async tables(database: string, signal: AbortSignal): Promise<readonly TableSummary[]> {
    const tables = await this.#namesIn(database, 'tables', signal)
    const views = (await this.#hasViews(signal)) ? await this.#namesIn(database, 'views', signal) : []
    return [
      ...tables.map((name) => ({ name, type: 'EXTERNAL_TABLE' })),
      ...views.map((name) => ({ name, type: 'VIRTUAL_VIEW' })),
    ].toSorted((one, other) => byCodePoints(one.name, other.name))
  }

  async table(database: string, name: string, signal: AbortSignal): Promise<Table | undefined> {
    const of = { database, name }
    const table = await this.#load(of, 'tables', signal)
    if (table !== undefined) return tableOf(of, table)
    const view = (await this.#hasViews(signal)) ? await this.#load(of, 'views', signal) : undefined
    return view && viewOf(of, view)
  }

  /** There are none: what parts a table has its metadata say. */
  async partitionNames({ database, name }: TableName, signal: AbortSignal): Promise<readonly string[]> {
    if ((await this.table(database, name, signal)) !== undefined) return []
    throw new StoreError('gone', `there is no table ${database}.${name} in ${this.place}`)
  }

  async partitions(
    table: TableName,
    _: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly Partition[]> {
    await this.partitionNames(table, signal)
    return []
  }

  close(): void {
    this.#client.close()
  }

  async #namespacesIn(parent: readonly string[] | undefined, signal: AbortSignal): Promise<string[][]> {
    const found: string[][] = []
    const what = () => `namespaces of ${this.place}`
    const asked = { method: 'GET', path: ['namespaces'], parent, what, signal } as const
    try {
      for await (const { namespaces } of this.#client.pages(asked))
        for (const levels of Array.isArray(namespaces) ? (namespaces as unknown[]) : [])
          if (Array.isArray(levels) && levels.length === (parent?.length ?? 0) + 1)
            found.push(levels.map((level) => textOf(level, what())))
    } catch (error) {
      // Gone since its name was told.
      if (parent === undefined || !isGone(error)) throw error
    }
    return found
  }

  /** Names of tables or views. Throws `gone`. */
  async #namesIn(database: string, of: 'tables' | 'views', signal: AbortSignal): Promise<string[]> {
    const names: string[] = []
    const path = ['namespaces', levelsOf(database), of]
    const what = () => `${of} of ${database} of ${this.place}`
    for await (const { identifiers } of this.#client.pages({ method: 'GET', path, what, signal }))
      names.push(...listOf(identifiers).map(({ name }) => textOf(name, what())))
    return names
  }

  #load(
    { database, name }: TableName,
    of: 'tables' | 'views',
    signal: AbortSignal,
  ): Promise<Json | undefined> {
    const path = ['namespaces', levelsOf(database), of, name]
    const what = () => `${of === 'tables' ? 'table' : 'view'} ${database}.${name} of ${this.place}`
    return unlessGone(this.#client.json({ method: 'GET', path, query: { snapshots: 'refs' }, what, signal }))
  }

  #hasViews(signal: AbortSignal): Promise<boolean> {
    return this.#client.has('GET /v1/{prefix}/namespaces/{namespace}/views', signal)
  }
}

const isGone = (error: unknown): boolean => error instanceof StoreError && error.failure === 'gone'
