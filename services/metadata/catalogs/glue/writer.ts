import type { CatalogRules } from '../contract/kind.ts'
import type { Glue } from '@aws-sdk/client-glue'
import type { Database, Partition, Table } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { CatalogWriter, TableName } from '../contract/catalog.ts'
import { hiveOwnParameters } from '../own-parameters.ts'
import { valuesIn } from '../partition-names.ts'
import type { Asked, CallOptions, GlueClient } from './client.ts'
import { failed, failureOfCode } from './errors.ts'
import { databaseInput, folded, functionInput, partitionInput, tableInput } from './inputs.ts'
import { refusalOf } from './limits.ts'
import { type GlueStatistics, heldStatistics } from './statistics.ts'

/** Partitions that Glue takes in one call. */
const atOnce = { create: 100, update: 100, delete: 25 } as const
/** Calls side by side: the limit of most accounts is some tens a second. */
const batchesAtOnce = 4

/** In which crawlers and jobs of Glue keep account of what they have done, and clients of Hive. */
const ownParameters: ReadonlySet<string> = new Set([
  ...hiveOwnParameters,
  'CreatedByJob',
  'CreatedByJobRun',
  'CrawlerSchemaDeserializerVersion',
  'CrawlerSchemaSerializerVersion',
  'UPDATED_BY_CRAWLER',
  'UpdatedByJob',
  'UpdatedByJobRun',
])

/** What Glue says of one partition of several. */
interface ItemError {
  readonly ErrorDetail?:
    { readonly ErrorCode?: string | undefined; readonly ErrorMessage?: string | undefined } | undefined
}

/** What Glue holds in every region. */
export const glueRules: CatalogRules = {
  refuses: refusalOf,
  isOwnParameter: (name) => ownParameters.has(name),
  heldStatistics,
}

/** Writes into a Glue Data Catalog. Its files are nobody's business there: what is dropped leaves them. */
export class GlueWriter implements CatalogWriter {
  readonly refuses = glueRules.refuses
  readonly isOwnParameter = glueRules.isOwnParameter
  readonly functions: NonNullable<CatalogWriter['functions']>
  readonly statistics: GlueStatistics
  readonly #client: GlueClient
  readonly #place: string
  readonly #of: { readonly CatalogId?: string }

  constructor(
    client: GlueClient,
    place: string,
    of: { readonly CatalogId?: string },
    statistics: GlueStatistics,
  ) {
    this.statistics = statistics
    this.#client = client
    this.#place = place
    this.#of = of
    const ofFunction = ({ database, name }: TableName) => ({
      ...of,
      DatabaseName: folded(database),
      FunctionName: folded(name),
    })
    this.functions = {
      create: async (made, signal) => {
        await this.#change(`create function ${nameOf(made)}`, signal, (glue, options) =>
          glue.createUserDefinedFunction(
            { ...of, DatabaseName: folded(made.database), FunctionInput: functionInput(made) },
            options,
          ),
        )
      },
      alter: async (made, signal) => {
        await this.#change(`change function ${nameOf(made)}`, signal, (glue, options) =>
          glue.updateUserDefinedFunction(
            { ...ofFunction(made), FunctionInput: functionInput(made) },
            options,
          ),
        )
      },
      drop: async (database, name, signal) => {
        await this.#change(`drop function ${database}.${name}`, signal, (glue, options) =>
          glue.deleteUserDefinedFunction(ofFunction({ database, name }), options),
        )
      },
    }
  }

  async createDatabase(database: Database, signal: AbortSignal): Promise<void> {
    await this.#change(`create database ${database.name}`, signal, (glue, options) =>
      glue.createDatabase({ ...this.#of, DatabaseInput: databaseInput(database) }, options),
    )
  }

  async alterDatabase(database: Database, signal: AbortSignal): Promise<void> {
    await this.#change(`change database ${database.name}`, signal, (glue, options) =>
      glue.updateDatabase(
        { ...this.#of, Name: folded(database.name), DatabaseInput: databaseInput(database) },
        options,
      ),
    )
  }

  async dropDatabase(name: string, signal: AbortSignal): Promise<void> {
    const what = `drop database ${name}`
    // Glue itself would delete its tables with it.
    const { TableList: tables = [] } = await this.#change(
      what,
      signal,
      (glue, options) => glue.getTables({ ...this.#of, DatabaseName: folded(name), MaxResults: 1 }, options),
      'tables',
    )
    if (tables.length > 0)
      throw failed('changed', this.#what(what), `it contains the table ${tables[0]!.Name}`)
    await this.#change(what, signal, (glue, options) =>
      glue.deleteDatabase({ ...this.#of, Name: folded(name) }, options),
    )
  }

  async createTable(table: Table, signal: AbortSignal): Promise<void> {
    await this.#change(`create table ${nameOf(table)}`, signal, (glue, options) =>
      glue.createTable(
        { ...this.#of, DatabaseName: folded(table.database), TableInput: tableInput(table) },
        options,
      ),
    )
  }

  async alterTable(table: Table, signal: AbortSignal): Promise<void> {
    await this.#change(`change table ${nameOf(table)}`, signal, (glue, options) =>
      glue.updateTable(
        { ...this.#of, DatabaseName: folded(table.database), TableInput: tableInput(table) },
        options,
      ),
    )
  }

  async dropTable(table: TableName, signal: AbortSignal): Promise<void> {
    await this.#change(`drop table ${nameOf(table)}`, signal, (glue, options) =>
      glue.deleteTable(
        { ...this.#of, DatabaseName: folded(table.database), Name: folded(table.name) },
        options,
      ),
    )
  }

  async addPartitions(
    table: TableName,
    partitions: readonly Partition[],
    signal: AbortSignal,
  ): Promise<void> {
    const what = `add partitions to ${nameOf(table)}`
    await this.#each(what, partitions, atOnce.create, ['AlreadyExistsException'], (batch) =>
      this.#change(
        what,
        signal,
        (glue, options) =>
          glue.batchCreatePartition(
            { ...this.#ofTable(table), PartitionInputList: batch.map(partitionInput) },
            options,
          ),
        'errors',
      ),
    )
  }

  async alterPartitions(
    table: TableName,
    partitions: readonly Partition[],
    signal: AbortSignal,
  ): Promise<void> {
    const what = `change partitions of ${nameOf(table)}`
    await this.#each(what, partitions, atOnce.update, [], (batch) =>
      this.#change(
        what,
        signal,
        (glue, options) =>
          glue.batchUpdatePartition(
            {
              ...this.#ofTable(table),
              Entries: batch.map((partition) => ({
                PartitionValueList: [...partition.values],
                PartitionInput: partitionInput(partition),
              })),
            },
            options,
          ),
        'errors',
      ),
    )
  }

  async dropPartitions(table: TableName, names: readonly string[], signal: AbortSignal): Promise<void> {
    const what = `drop partitions of ${nameOf(table)}`
    await this.#each(what, names, atOnce.delete, ['EntityNotFoundException'], (batch) =>
      this.#change(
        what,
        signal,
        (glue, options) =>
          glue.batchDeletePartition(
            {
              ...this.#ofTable(table),
              PartitionsToDelete: batch.map((name) => ({ Values: valuesIn(name) })),
            },
            options,
          ),
        'errors',
      ),
    )
  }

  /**
   * Some at a time, a few of these side by side. What Glue says of each of them counts: a call as a whole succeeds also where it did
   * nothing.
   * @param harmless errors that are none
   */
  async #each<T>(
    what: string,
    items: readonly T[],
    size: number,
    harmless: readonly string[],
    call: (batch: readonly T[]) => Promise<{ readonly Errors?: readonly ItemError[] | undefined }>,
  ): Promise<void> {
    const problems: ItemError[] = []
    let next = 0
    const work = async () => {
      for (let at = next; at < items.length; at = next) {
        next = at + size
        const { Errors: errors = [] } = await call(items.slice(at, at + size))
        problems.push(...errors.filter(({ ErrorDetail }) => !harmless.includes(ErrorDetail?.ErrorCode ?? '')))
      }
    }
    await Promise.all(Array.from({ length: batchesAtOnce }, work))
    const [first] = problems
    if (first === undefined) return
    const { ErrorCode: code = 'an unnamed error', ErrorMessage: message = '' } = first.ErrorDetail ?? {}
    const failure = failureOfCode(code)
    const said = `${problems.length} of ${items.length} failed, the first with ${code}${message === '' ? '' : `: ${message.slice(0, 1_000)}`}`
    throw failed(failure === 'gone' ? 'changed' : failure, this.#what(what), said)
  }

  /** What is changed, and what something is made in, must be there: that it is gone is a change by somebody else. */
  async #change<T>(
    what: string,
    signal: AbortSignal,
    call: (glue: Glue, options: CallOptions) => Promise<T>,
    shape: Asked['shape'] = 'nothing',
  ): Promise<T> {
    try {
      return await this.#client.ask({ what: () => this.#what(what), shape, signal }, call)
    } catch (error) {
      if (!(error instanceof StoreError) || error.failure !== 'gone') throw error
      throw new StoreError('changed', error.message, { cause: error })
    }
  }

  #what(operation: string): string {
    return `${operation} in ${this.#place}`
  }

  #ofTable({ database, name }: TableName) {
    return { ...this.#of, DatabaseName: folded(database), TableName: folded(name) }
  }
}

const nameOf = ({ database, name }: TableName): string => `${database}.${name}`
