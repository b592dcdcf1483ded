import { notAccepted } from '../../../../subjects/kit/errors.ts'
import type { StoreBounds } from '../../../drivers/contract/bounds.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import { requireAddresses, StoreAddress } from '../../../drivers/http/store-address.ts'
import { GssapiSession } from '../../../drivers/kerberos/gssapi.ts'
import { kerberosCredentials, serviceAt } from '../../../drivers/kerberos/identity.ts'
import type { Catalog, CatalogFeed, CatalogWriter, TableName } from '../contract/catalog.ts'
import type { Database, Partition, Table, TableSummary } from '../../../../subjects/metadata/objects.ts'
import type { MetastoreOptions } from './configured.ts'
import { HiveConstraints } from './constraints.ts'
import { HiveFeed } from './feed.ts'
import { HiveFunctions } from './functions.ts'
import { methods } from './idl.ts'
import { HiveIndexes } from './indexes.ts'
import { Metastore, type MetastoreAddress, sorted } from './metastore.ts'
import { byCodePoints } from '../order.ts'
import { unlessGone } from '../unless-gone.ts'
import { databaseOf, partitionOf, tableOf } from './objects.ts'
import { HivePrivileges } from './privileges.ts'
import { HiveSettings } from './settings.ts'
import { HiveStatistics } from './statistics.ts'
import { hiveTable } from './tables.ts'
import { HiveWriteIds } from './write-ids.ts'
import { HiveWriter } from './writer.ts'

const defaultUser = 'hive'
const defaultPort = 9083
/** As which metastores are known to a KDC. */
const defaultService = 'hive'

/** A name that leads nowhere takes longer to be given up; below the patience of who asks. */
const connectTimeoutMs = 5_000
/** Names of a million partitions take a metastore seconds. */
const callTimeoutMs = 60_000
/** Names of a million partitions, or a batch of partitions with hundreds of columns each. */
const maxReplyBytes = 64 * 1024 * 1024

const allPartitions = -1

/** Of `name/host@REALM` the name: what Hadoop makes of it, where it has no rules of its own. */
const shortName = (principal: string): string => principal.split(/[/@]/, 1)[0]!

/** A Hive metastore, release 2.3 to 4. */
export class HiveCatalog implements Catalog {
  readonly place: string
  readonly #addresses: readonly MetastoreAddress[]
  readonly #metastore: Metastore
  readonly functions: HiveFunctions
  readonly constraints: HiveConstraints
  readonly statistics: HiveStatistics
  readonly privileges: HivePrivileges
  readonly writeIds: HiveWriteIds
  readonly indexes: HiveIndexes
  readonly settings: HiveSettings
  readonly feed: CatalogFeed
  readonly writer: CatalogWriter

  /** @param bounds where catalogs may be; without them anywhere */
  constructor(options: MetastoreOptions, bounds?: StoreBounds) {
    const { metastoreUris, user = defaultUser, framed = false, ssl = false, caCertificate } = options
    if (caCertificate !== undefined && !ssl)
      throw notAccepted('caCertificate', 'requires ssl: set ssl to true')
    const credentials = kerberosCredentials(options)
    const { metastorePrincipal = '' } = options
    if (credentials === undefined && metastorePrincipal !== '')
      throw notAccepted('metastorePrincipal', 'requires kerberosPrincipal: set it too')
    this.#addresses = metastoreUris.split(',').map((uri) => {
      const { hostname, port } = new URL(uri.trim().replace(/^thrift:/, 'http:'))
      const place = { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) }
      const service = serviceAt(place.host, metastorePrincipal, defaultService)
      const authenticate = credentials && (() => GssapiSession.begin(credentials, service))
      const endpoint = { ...place, secure: ssl, authorities: caCertificate, framed, authenticate }
      return { endpoint, address: bounds && new StoreAddress(place, bounds) }
    })
    this.place = `the Hive metastore at ${this.#addresses.map(({ endpoint: { host, port } }) => `${host}:${port}`).join(', ')}`
    const limits = { connectTimeoutMs, callTimeoutMs, maxReplyBytes }
    this.#metastore = new Metastore(this.#addresses, user, limits, this.place)
    const whoAsks = credentials === undefined ? user : shortName(credentials.principal)
    this.functions = new HiveFunctions(this.#metastore)
    this.constraints = new HiveConstraints(this.#metastore)
    this.statistics = new HiveStatistics(this.#metastore)
    this.privileges = new HivePrivileges(this.#metastore, whoAsks)
    this.writeIds = new HiveWriteIds(this.#metastore)
    this.indexes = new HiveIndexes(this.#metastore)
    this.settings = new HiveSettings(this.#metastore)
    this.feed = new HiveFeed(this.#metastore, this.settings)
    this.writer = new HiveWriter(this.#metastore, this)
  }

  requirePlace(): void {
    const addresses = this.#addresses.flatMap(({ address }) => (address === undefined ? [] : [address]))
    requireAddresses(addresses, 'metastoreUris')
  }

  async probe(signal: AbortSignal): Promise<void> {
    await this.#metastore.ask(
      methods.databases,
      { pattern: 'default' },
      this.#metastore.what('databases'),
      signal,
    )
  }

  version(signal: AbortSignal): Promise<string | undefined> {
    return this.#metastore.ask(methods.version, {}, this.#metastore.what('its version'), signal)
  }

  async databases(signal: AbortSignal): Promise<readonly string[]> {
    const names = await this.#metastore.ask(
      methods.databases,
      { pattern: '*' },
      this.#metastore.what('databases'),
      signal,
    )
    return sorted(names)
  }

  async database(name: string, signal: AbortSignal): Promise<Database | undefined> {
    const asked = this.#metastore.ask(
      methods.database,
      { name },
      this.#metastore.what(`database ${name}`),
      signal,
    )
    const database = await unlessGone(asked)
    return database && databaseOf(database)
  }

  async tables(database: string, signal: AbortSignal): Promise<readonly TableSummary[]> {
    const what = this.#metastore.what(`tables of ${database}`)
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
    const table = await unlessGone(hiveTable(this.#metastore, database, name, signal))
    return table && tableOf(table)
  }

  async partitionNames({ database, name }: TableName, signal: AbortSignal): Promise<readonly string[]> {
    const what = this.#metastore.what(`partitions of ${database}.${name}`)
    const asked = { database, table: name, limit: allPartitions }
    const names = await this.#metastore
      .ask(methods.partitionNames, asked, what, signal)
      .catch((error: unknown) => {
        // Release 2 fails within where there is no such table.
        if (error instanceof StoreError && error.failure === 'io')
          return this.#noneUnlessThere(error, { database, name }, signal)
        throw error
      })
    // Some releases answer with nothing where there is no such table.
    if (names.length === 0 && (await this.table(database, name, signal)) === undefined)
      throw new StoreError('gone', `${what()}: there is no such table`)
    return sorted(names)
  }

  /** No names where a table is gone. Throws the error where it is there. */
  async #noneUnlessThere(
    error: StoreError,
    { database, name }: TableName,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    if ((await this.table(database, name, signal)) !== undefined) throw error
    return []
  }

  async partitions(
    { database, name }: TableName,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly Partition[]> {
    if (names.length === 0) return []
    const what = this.#metastore.what(`partitions of ${database}.${name}`)
    const asked = { database, table: name, names }
    return (await this.#metastore.ask(methods.partitionsByNames, asked, what, signal)).map(partitionOf)
  }

  close(): void {
    this.#metastore.close()
  }
}
