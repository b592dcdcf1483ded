import type { CatalogOptions } from '../../../../subjects/metadata/kinds.ts'
import { notAccepted } from '../../../../subjects/kit/errors.ts'
import type { StoreBounds } from '../../../drivers/contract/bounds.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import { requireAddresses, StoreAddress } from '../../../drivers/http/store-address.ts'
import type { Catalog, TableName } from '../contract/catalog.ts'
import type { Database, Partition, Table, TableSummary } from '../../../../subjects/metadata/objects.ts'
import { methods } from './idl.ts'
import { Metastore, type MetastoreAddress } from './metastore.ts'
import { databaseOf, partitionOf, tableOf } from './objects.ts'

const defaultUser = 'hive'
const defaultPort = 9083

/** A name that leads nowhere takes longer to be given up; below the patience of who asks. */
const connectTimeoutMs = 5_000
/** Names of a million partitions take a metastore seconds. */
const callTimeoutMs = 60_000
/** Names of a million partitions, or a batch of partitions with hundreds of columns each. */
const maxReplyBytes = 64 * 1024 * 1024

/** `TestCapability` has no use; without this, tables into which rows are only inserted are refused. */
const insertOnlyTables = 2
/** What release 4 asks for before it shows tables as they are, ACID tables among them. */
const processorCapabilities = [
  'EXTREAD',
  'EXTWRITE',
  'HIVESQL',
  'HIVEMQT',
  'HIVEBUCKET2',
  'HIVEFULLACIDREAD',
  'HIVEFULLACIDWRITE',
  'HIVEMANAGEDINSERTREAD',
  'HIVEMANAGEDINSERTWRITE',
  'HIVEMANAGESTATS',
  'HIVECACHEINVALIDATE',
  'CONNECTORREAD',
  'CONNECTORWRITE',
]
const allPartitions = -1

/** A Hive metastore, release 2.3 to 4. */
export class HiveCatalog implements Catalog {
  readonly place: string
  readonly #addresses: readonly MetastoreAddress[]
  readonly #metastore: Metastore
  /** Whether the server has `get_table_req`, as from release 3.0 on; undefined as long as it was not asked. */
  #takesRequests: boolean | undefined

  /** @param bounds where catalogs may be; without them anywhere */
  constructor(options: CatalogOptions<'hive'>, bounds?: StoreBounds) {
    const { metastoreUris, user = defaultUser, framed = false, ssl = false, caCertificate } = options
    if (caCertificate !== undefined && !ssl)
      throw notAccepted('caCertificate', 'is for ssl: set ssl to true too')
    this.#addresses = metastoreUris.split(',').map((uri) => {
      const { hostname, port } = new URL(uri.trim().replace(/^thrift:/, 'http:'))
      const place = { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) }
      const endpoint = { ...place, secure: ssl, authorities: caCertificate, framed }
      return { endpoint, address: bounds && new StoreAddress(place, bounds) }
    })
    this.place = `the Hive metastore at ${this.#addresses.map(({ endpoint: { host, port } }) => `${host}:${port}`).join(', ')}`
    const limits = { connectTimeoutMs, callTimeoutMs, maxReplyBytes }
    this.#metastore = new Metastore(this.#addresses, user, limits)
  }

  requirePlace(): void {
    const addresses = this.#addresses.flatMap(({ address }) => (address === undefined ? [] : [address]))
    requireAddresses(addresses, 'metastoreUris')
  }

  async probe(signal: AbortSignal): Promise<void> {
    await this.#metastore.ask(methods.databases, { pattern: 'default' }, this.#what('access to it'), signal)
  }

  version(signal: AbortSignal): Promise<string | undefined> {
    return this.#metastore.ask(methods.version, {}, this.#what('its version'), signal)
  }

  async databases(signal: AbortSignal): Promise<readonly string[]> {
    const names = await this.#metastore.ask(
      methods.databases,
      { pattern: '*' },
      this.#what('databases'),
      signal,
    )
    return sorted(names)
  }

  async database(name: string, signal: AbortSignal): Promise<Database | undefined> {
    const asked = this.#metastore.ask(methods.database, { name }, this.#what(`database ${name}`), signal)
    const database = await unlessGone(asked)
    return database && databaseOf(database)
  }

  async tables(database: string, signal: AbortSignal): Promise<readonly TableSummary[]> {
    const what = this.#what(`tables of ${database}`)
    const pattern = { databases: database, tables: '*', types: [] }
    const tables = await this.#metastore.ask(methods.tablesMeta, pattern, what, signal)
    if (tables.length === 0 && (await this.database(database, signal)) === undefined)
      throw new StoreError('gone', `${what()}: there is no such database`)
    return tables
      .filter(({ dbName }) => dbName === undefined || dbName.toLowerCase() === database.toLowerCase())
      .map(({ tableName = '', tableType = '', comments = '' }) => ({
        name: tableName,
        type: tableType,
        ...(comments !== '' && { comment: comments }),
      }))
      .toSorted((one, other) => byCodePoints(one.name, other.name))
  }

  async table(database: string, name: string, signal: AbortSignal): Promise<Table | undefined> {
    const table = await unlessGone(this.#table(database, name, signal))
    return table && tableOf(table)
  }

  async #table(database: string, name: string, signal: AbortSignal) {
    const what = this.#what(`table ${database}.${name}`)
    if (this.#takesRequests !== false) {
      const capabilities = { values: [insertOnlyTables] }
      const request = {
        dbName: database,
        tblName: name,
        capabilities,
        processorCapabilities,
        processorIdentifier: 'gantry',
      }
      try {
        const { table } = await this.#metastore.ask(methods.tableByRequest, { request }, what, signal)
        this.#takesRequests = true
        return table
      } catch (error) {
        if (!(error instanceof StoreError) || error.failure !== 'unsupported') throw error
        this.#takesRequests = false
      }
    }
    return this.#metastore.ask(methods.table, { database, table: name }, what, signal)
  }

  async partitionNames({ database, name }: TableName, signal: AbortSignal): Promise<readonly string[]> {
    const what = this.#what(`partitions of ${database}.${name}`)
    const asked = { database, table: name, limit: allPartitions }
    const names = await this.#metastore.ask(methods.partitionNames, asked, what, signal)
    // Some releases answer with nothing where there is no such table.
    if (names.length === 0 && (await this.table(database, name, signal)) === undefined)
      throw new StoreError('gone', `${what()}: there is no such table`)
    return sorted(names)
  }

  async partitions(
    { database, name }: TableName,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly Partition[]> {
    if (names.length === 0) return []
    const what = this.#what(`partitions of ${database}.${name}`)
    const asked = { database, table: name, names }
    return (await this.#metastore.ask(methods.partitionsByNames, asked, what, signal)).map(partitionOf)
  }

  close(): void {
    this.#metastore.close()
  }

  #what(operation: string): () => string {
    return () => `${operation} of ${this.place}`
  }
}

async function unlessGone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof StoreError && error.failure === 'gone') return undefined
    throw error
  }
}

const byCodePoints = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other))
const sorted = (names: readonly string[]): string[] => names.toSorted(byCodePoints)
