import type { CatalogOptions } from '../../../../subjects/metadata/kinds.ts'
import type {
  CatalogFunction,
  Database,
  Partition,
  Table,
  TableSummary,
} from '../../../../subjects/metadata/objects.ts'
import { credentialsOf } from '../../../drivers/aws-credentials/credentials.ts'
import type { StoreBounds } from '../../../drivers/contract/bounds.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { HostPermission } from '../../../drivers/host-credentials/permission.ts'
import { CursorGuard } from '../../../drivers/http/cursor-guard.ts'
import { requireAddresses, StoreAddress } from '../../../drivers/http/store-address.ts'
import { notAccepted } from '../../../../subjects/kit/errors.ts'
import type { Catalog, CatalogWriter, Functions, TableName } from '../contract/catalog.ts'
import { byCodePoints } from '../order.ts'
import { partitionName, valuesIn } from '../partition-names.ts'
import { unlessGone } from '../unless-gone.ts'
import { GlueClient } from './client.ts'
import { glueEndpoint } from './endpoint.ts'
import { failed } from './errors.ts'
import { folded } from './inputs.ts'
import { databaseOf, functionOf, partitionOf, summaryOf, tableOf } from './objects.ts'
import { GlueStatistics } from './statistics.ts'
import { GlueWriter } from './writer.ts'

/** What Glue tells in one answer, at most. */
const page = { databases: 100, tables: 100, partitions: 1_000, functions: 100 } as const
/** Into which partitions are divided to be listed side by side, once there are more than a page of them; Glue has ten at most. */
const segments = 5
/** Tries to get partitions that Glue has left out of its answer. */
const triesForLeftOut = 10
/** Any text, as a regular expression. */
const anyName = '.*'

/** An answer that may go on. */
interface Page {
  readonly NextToken?: string | undefined
}

/** An AWS Glue Data Catalog. Names are in lower case there, whatever they are asked for by. */
export class GlueCatalog implements Catalog {
  readonly place: string
  readonly functions: Functions
  readonly statistics: GlueStatistics
  readonly writer: CatalogWriter
  readonly #address: StoreAddress | undefined
  readonly #permission: HostPermission | undefined
  readonly #client: GlueClient
  readonly #of: { readonly CatalogId?: string }

  /**
   * Throws GantryError NOT_ACCEPTED for options that do not go together.
   * @param bounds where catalogs may be; without them anywhere
   */
  constructor(options: CatalogOptions<'glue'>, bounds?: StoreBounds) {
    const endpoint = glueEndpoint(options)
    this.#address = bounds && new StoreAddress(endpoint, bounds)
    const recipient = {
      endpoint,
      address: this.#address,
      isCloud: endpoint.isOfAmazon,
      field: 'glueEndpoint',
    }
    const without = 'or set credentialsProvider, such as DefaultAWSCredentialsProviderChain'
    const { source, permission } = credentialsOf(options, [recipient], endpoint.region, bounds, without)
    if (source === undefined)
      throw notAccepted(
        'credentialsProvider',
        'must provide credentials: Glue does not accept anonymous requests',
      )
    this.#permission = permission
    const { glueCatalogId } = options
    this.#of = glueCatalogId === undefined ? {} : { CatalogId: glueCatalogId }
    this.place = `AWS Glue at ${endpoint.host}${glueCatalogId === undefined ? '' : ` (catalog ${glueCatalogId})`}`
    this.#client = new GlueClient(endpoint, source, options, this.#address)
    this.functions = { list: (database, signal) => this.#functions(database, signal) }
    const columnsOf = async ({ database, name }: TableName, signal: AbortSignal) => {
      const table = await this.table(database, name, signal)
      if (table === undefined)
        throw new StoreError('gone', `${database}.${name} of ${this.place}: there is no such table`)
      return table.columns.map((column) => column.name)
    }
    this.statistics = new GlueStatistics(this.#client, this.place, this.#of, columnsOf)
    this.writer = new GlueWriter(this.#client, this.place, this.#of, this.statistics)
  }

  requirePlace(): void {
    if (this.#address !== undefined) requireAddresses([this.#address], 'glueEndpoint')
    this.#permission?.require()
  }

  async probe(signal: AbortSignal): Promise<void> {
    const asked = { what: this.#what('databases'), shape: 'databases', signal, isProbe: true } as const
    await this.#client.ask(asked, (glue, options) =>
      glue.getDatabases({ ...this.#of, MaxResults: 1 }, options),
    )
  }

  /** The service has none. */
  version(): Promise<undefined> {
    return Promise.resolve(undefined)
  }

  async databases(signal: AbortSignal): Promise<readonly string[]> {
    const what = this.#what('databases')
    const names: string[] = []
    const asked = (token: string | undefined) =>
      this.#client.ask({ what, shape: 'databases', signal }, (glue, options) =>
        glue.getDatabases({ ...this.#of, MaxResults: page.databases, NextToken: token }, options),
      )
    for await (const { DatabaseList: found = [] } of pages(what, asked))
      for (const { Name: name } of found) if (name !== undefined) names.push(name)
    return names.toSorted(byCodePoints)
  }

  async database(name: string, signal: AbortSignal): Promise<Database | undefined> {
    const asked = this.#client.ask(
      { what: this.#what(`database ${name}`), shape: 'database', signal },
      (glue, options) => glue.getDatabase({ ...this.#of, Name: folded(name) }, options),
    )
    const found = (await unlessGone(asked))?.Database
    return found && databaseOf(found)
  }

  async tables(database: string, signal: AbortSignal): Promise<readonly TableSummary[]> {
    const what = this.#what(`tables of ${database}`)
    const tables: TableSummary[] = []
    const asked = (token: string | undefined) =>
      this.#client.ask({ what, shape: 'tables', signal }, (glue, options) =>
        glue.getTables(
          { ...this.#of, DatabaseName: folded(database), MaxResults: page.tables, NextToken: token },
          options,
        ),
      )
    for await (const { TableList: found = [] } of pages(what, asked)) tables.push(...found.map(summaryOf))
    return tables.toSorted((one, other) => byCodePoints(one.name, other.name))
  }

  async table(database: string, name: string, signal: AbortSignal): Promise<Table | undefined> {
    const asked = this.#client.ask(
      { what: this.#what(`table ${database}.${name}`), shape: 'table', signal },
      (glue, options) =>
        glue.getTable({ ...this.#of, DatabaseName: folded(database), Name: folded(name) }, options),
    )
    const found = (await unlessGone(asked))?.Table
    return found && tableOf(found)
  }

  async partitionNames(table: TableName, signal: AbortSignal): Promise<readonly string[]> {
    const { database, name } = table
    const what = this.#what(`partitions of ${database}.${name}`)
    const its = await this.table(database, name, signal)
    if (its === undefined) throw new StoreError('gone', `${what()}: there is no such table`)
    const keys = its.partitionKeys.map((key) => key.name)
    if (keys.length === 0) return []
    const names = new Set<string>()
    const ask = (token?: string, segment?: number) =>
      this.#client.ask({ what, shape: 'partitionValues', signal }, (glue, options) =>
        glue.getPartitions(
          {
            ...this.#ofTable(table),
            ExcludeColumnSchema: true,
            MaxResults: page.partitions,
            NextToken: token,
            Segment: segment === undefined ? undefined : { SegmentNumber: segment, TotalSegments: segments },
          },
          options,
        ),
      )
    const add = (found: readonly { readonly Values?: string[] | undefined }[] = []) => {
      for (const { Values: values = [] } of found) names.add(partitionName(keys, values))
    }
    const first = await ask()
    if (isLast(first)) add(first.Partitions)
    else
      await Promise.all(
        Array.from({ length: segments }, async (_, segment) => {
          for await (const { Partitions: found } of pages(what, (token) => ask(token, segment))) add(found)
        }),
      )
    return [...names].toSorted(byCodePoints)
  }

  async partitions(
    table: TableName,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly Partition[]> {
    const what = this.#what(`partitions of ${table.database}.${table.name}`)
    const found: Partition[] = []
    let left = names.map((name) => ({ Values: valuesIn(name) }))
    for (let tries = 0; left.length > 0; tries++) {
      if (tries > triesForLeftOut)
        throw failed(
          'throttled',
          what(),
          `${left.length} of ${names.length} were not returned after several attempts`,
        )
      const { Partitions = [], UnprocessedKeys = [] } = await this.#client.ask(
        { what, shape: 'partitions', signal },
        (glue, options) =>
          glue.batchGetPartition({ ...this.#ofTable(table), PartitionsToGet: left }, options),
      )
      found.push(...Partitions.map(partitionOf))
      // Answers are not longer than a few MB: the rest is asked for again.
      if (Partitions.length > 0) tries = 0
      left = UnprocessedKeys.map(({ Values = [] }) => ({ Values }))
    }
    return found
  }

  close(): void {
    this.#client.close()
  }

  async #functions(database: string, signal: AbortSignal): Promise<readonly CatalogFunction[]> {
    const what = this.#what(`functions of ${database}`)
    const functions: CatalogFunction[] = []
    const asked = (token: string | undefined) =>
      this.#client.ask({ what, shape: 'functions', signal }, (glue, options) =>
        glue.getUserDefinedFunctions(
          {
            ...this.#of,
            DatabaseName: folded(database),
            Pattern: anyName,
            MaxResults: page.functions,
            NextToken: token,
          },
          options,
        ),
      )
    for await (const { UserDefinedFunctions: found = [] } of pages(what, asked))
      functions.push(...found.map((one) => functionOf(folded(database), one)))
    return functions.toSorted((one, other) => byCodePoints(one.name, other.name))
  }

  #ofTable({ database, name }: TableName) {
    return { ...this.#of, DatabaseName: folded(database), TableName: folded(name) }
  }

  #what(operation: string): () => string {
    return () => `${operation} of ${this.place}`
  }
}

const isLast = ({ NextToken = '' }: Page): boolean => NextToken === ''

/** Each page after the one before. Throws `io` where they lead back to one of before. */
async function* pages<P extends Page>(
  what: () => string,
  ask: (token: string | undefined) => Promise<P>,
): AsyncGenerator<P> {
  const guard = new CursorGuard(failed, what)
  for (let token: string | undefined; ;) {
    const next = await ask(token)
    yield next
    if (isLast(next)) return
    token = guard.pass(next.NextToken!)
  }
}
