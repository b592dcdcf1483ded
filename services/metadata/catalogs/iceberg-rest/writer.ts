import type { CatalogRules } from '../contract/kind.ts'
import type { Database, Partition, Table } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { CatalogWriter, TableName } from '../contract/catalog.ts'
import type { IcebergClient, IcebergRequest } from './client.ts'
import { failed } from './errors.ts'
import { textsOf } from './json.ts'
import { levelsOf } from './names.ts'
import {
  databaseProperties,
  iceberg,
  isDerived,
  metadataLocation,
  metadataLocationOf,
  tableType,
} from './objects.ts'

type Asked = Pick<IcebergRequest, 'method' | 'path' | 'query' | 'body' | 'accept'>

/** What can be registered in every catalog. */
export const icebergRules: CatalogRules = {
  isOwnParameter: isDerived,
  refuses: (table) => {
    if (table.view !== undefined || table.type.endsWith('_VIEW'))
      return 'it is a view, and its query is in the SQL dialect of Hive'
    if (table.parameters[tableType]?.toUpperCase() !== iceberg)
      return `it is not an Iceberg table: its parameter ${tableType} is not ${iceberg}`
    if (table.parameters[metadataLocation] === undefined)
      return `it has no parameter ${metadataLocation}, which contains the location of its metadata`
    return undefined
  },
}

/** Registers tables by where their metadata are. All else of a table is in those, and follows from them. */
export class IcebergWriter implements CatalogWriter {
  readonly refuses = icebergRules.refuses
  readonly isOwnParameter = icebergRules.isOwnParameter
  readonly #client: IcebergClient
  readonly #place: string

  constructor(client: IcebergClient, place: string) {
    this.#client = client
    this.#place = place
  }

  async createDatabase(database: Database, signal: AbortSignal): Promise<void> {
    const body = { namespace: levelsOf(database.name), properties: propertiesOf(database) }
    await this.#ask({ method: 'POST', path: ['namespaces'], body }, `database ${database.name}`, signal)
  }

  async alterDatabase(database: Database, signal: AbortSignal): Promise<void> {
    const path = ['namespaces', levelsOf(database.name)]
    const what = `database ${database.name}`
    const current = textsOf((await this.#json({ method: 'GET', path }, what, signal))['properties'])
    const wanted = propertiesOf(database)
    const updates = Object.fromEntries(
      Object.entries(wanted).filter(([name, value]) => current[name] !== value),
    )
    // Where its tables are made is the catalog's own, as long as nobody says otherwise.
    const removals = Object.keys(current).filter(
      (name) => !Object.hasOwn(wanted, name) && name !== databaseProperties.location,
    )
    if (removals.length === 0 && Object.keys(updates).length === 0) return
    const body = { removals, updates }
    await this.#ask({ method: 'POST', path: [...path, 'properties'], body }, what, signal)
  }

  async dropDatabase(name: string, signal: AbortSignal): Promise<void> {
    const path = ['namespaces', levelsOf(name)]
    await this.#ask({ method: 'DELETE', path }, `database ${name}`, signal)
  }

  async createTable(table: Table, signal: AbortSignal): Promise<void> {
    await this.#ask(registration(table, this.#wantedOf(table)), whatOf(table), signal)
  }

  /**
   * Registers it anew where its metadata are elsewhere than they were. In one step where the catalog can; else it is away for a
   * moment, and comes back as it was when that fails.
   */
  async alterTable(table: Table, signal: AbortSignal): Promise<void> {
    const wanted = this.#wantedOf(table)
    const current = metadataLocationOf(await this.#json(this.#at(table), whatOf(table), signal))
    if (current === wanted) return
    const over = { ...registration(table, wanted, { overwrite: true }), accept: noOverwriting }
    const { status } = await this.#ask(over, whatOf(table), signal)
    if (!noOverwriting.includes(status)) return
    await this.dropTable(table, signal)
    try {
      await this.#ask(registration(table, wanted), whatOf(table), signal)
    } catch (error) {
      if (current !== undefined) await this.#restore(table, current)
      throw error
    }
  }

  /** Or the view of this name. Data and metadata stay. */
  async dropTable(table: TableName, signal: AbortSignal): Promise<void> {
    const query = { purgeRequested: 'false' }
    try {
      await this.#ask({ ...this.#at(table), method: 'DELETE', query }, whatOf(table), signal)
    } catch (error) {
      const hasViews = await this.#client.has(
        'DELETE /v1/{prefix}/namespaces/{namespace}/views/{view}',
        signal,
      )
      if (!isChanged(error) || !hasViews) throw error
      await this.#ask({ ...this.#at(table, 'views'), method: 'DELETE' }, whatOf(table), signal)
    }
  }

  async addPartitions(table: TableName, partitions: readonly Partition[]): Promise<void> {
    this.#requireNone(table, partitions)
  }

  async alterPartitions(table: TableName, partitions: readonly Partition[]): Promise<void> {
    this.#requireNone(table, partitions)
  }

  async dropPartitions(): Promise<void> {
    // There are none.
  }

  #requireNone(table: TableName, partitions: readonly Partition[]): void {
    if (partitions.length === 0) return
    throw failed(
      'unsupported',
      this.#whatOf(whatOf(table)),
      'partitions of Iceberg tables exist only in their metadata',
    )
  }

  #wantedOf(table: Table): string {
    const refusal = this.refuses(table)
    if (refusal !== undefined) throw failed('unsupported', this.#whatOf(whatOf(table)), refusal)
    return table.parameters[metadataLocation]!
  }

  /** Does what can be done for a table that was taken away for another; what has failed before is told. */
  async #restore(table: TableName, location: string): Promise<void> {
    // What ended the try before it may be the caller's signal.
    const signal = AbortSignal.timeout(restoreTimeoutMs)
    await this.#ask(registration(table, location), whatOf(table), signal).catch(() => undefined)
  }

  #at({ database, name }: TableName, of: 'tables' | 'views' = 'tables'): Asked {
    return { method: 'GET', path: ['namespaces', levelsOf(database), of, name] }
  }

  #ask(asked: Asked, what: string, signal: AbortSignal) {
    return orChanged(this.#client.request({ ...asked, what: () => this.#whatOf(what), signal }))
  }

  #json(asked: Asked, what: string, signal: AbortSignal) {
    return orChanged(this.#client.json({ ...asked, what: () => this.#whatOf(what), signal }))
  }

  #whatOf(what: string): string {
    return `${what} of ${this.#place}`
  }
}

/** To put a table back whose other metadata the catalog did not take. */
const restoreTimeoutMs = 30_000

/** How catalogs answer that do not register tables over others: they know it not to be theirs, or see a table that is there. */
const noOverwriting: readonly number[] = [406, 409, 501]

function registration({ database, name }: TableName, location: string, { overwrite = false } = {}): Asked {
  const body = { name, 'metadata-location': location, ...(overwrite && { overwrite }) }
  return { method: 'POST', path: ['namespaces', levelsOf(database), 'register'], body }
}

const whatOf = ({ database, name }: TableName): string => `table ${database}.${name}`

const isChanged = (error: unknown): boolean => error instanceof StoreError && error.failure === 'changed'

/** What is to be changed, and is gone, somebody else has dropped. */
async function orChanged<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (!(error instanceof StoreError) || error.failure !== 'gone') throw error
    throw new StoreError('changed', error.message, { cause: error })
  }
}

function propertiesOf({ description, location, owner, parameters }: Database): Record<string, string> {
  return {
    ...parameters,
    ...(description !== undefined && { [databaseProperties.description]: description }),
    ...(location !== undefined && { [databaseProperties.location]: location }),
    ...(owner !== undefined && { [databaseProperties.owner]: owner.name }),
  }
}
