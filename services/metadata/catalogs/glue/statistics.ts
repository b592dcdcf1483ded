import type { ColumnStatistics as GlueStatisticsInput } from '@aws-sdk/client-glue'
import { concurrently } from '../../../../broker/common/concurrently.ts'
import type { TableStatistics } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { CatalogWriter, ColumnStatistics, TableName } from '../contract/catalog.ts'
import { valuesIn } from '../partition-names.ts'
import { unlessGone } from '../unless-gone.ts'
import type { Asked, GlueClient } from './client.ts'
import { glueStatisticsOf, toldStatisticsOf } from './column-statistics.ts'
import { failed, failureOfCode } from './errors.ts'
import { folded } from './inputs.ts'

/** Columns of which Glue tells, and that it takes, in one call. */
const columnsAtOnce = { get: 100, update: 25 } as const
/** Partitions side by side: Glue has no call for several of them. */
const partitionsAtATime = 4

/** Names of the columns of a table; throws `gone`. */
type ColumnsOf = (table: TableName, signal: AbortSignal) => Promise<readonly string[]>

/** What became of a column. */
interface OfColumn {
  readonly Error?:
    { readonly ErrorCode?: string | undefined; readonly ErrorMessage?: string | undefined } | undefined
}

/** What comes back of statistics that are given. */
export const heldStatistics = ({ columns }: TableStatistics): TableStatistics => ({
  columns: columns.flatMap((one) => {
    const given = glueStatisticsOf(one)
    return (given && toldStatisticsOf(given)) ?? []
  }),
})

/** Statistics of the columns of tables and partitions. What Glue has no word for of them is left out: engines gather it again. */
export class GlueStatistics implements ColumnStatistics, NonNullable<CatalogWriter['statistics']> {
  readonly #client: GlueClient
  readonly #place: string
  readonly #of: { readonly CatalogId?: string }
  readonly #columnsOf: ColumnsOf

  constructor(client: GlueClient, place: string, of: { readonly CatalogId?: string }, columnsOf: ColumnsOf) {
    this.#client = client
    this.#place = place
    this.#of = of
    this.#columnsOf = columnsOf
  }

  async ofTable(table: TableName, signal: AbortSignal): Promise<TableStatistics | undefined> {
    const asked = this.#asked(`statistics of ${nameOf(table)}`, 'columnStatistics', signal)
    return this.#get(asked.what, await this.#columnsOf(table, signal), (ColumnNames) =>
      this.#client.ask(asked, (glue, options) =>
        glue.getColumnStatisticsForTable({ ...this.#ofTable(table), ColumnNames }, options),
      ),
    )
  }

  async ofPartitions(
    table: TableName,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, TableStatistics>> {
    const columns = await this.#columnsOf(table, signal)
    const found = new Map<string, TableStatistics>()
    await concurrently(names, partitionsAtATime, async (name) => {
      const asked = this.#asked(`statistics of ${name} in ${nameOf(table)}`, 'columnStatistics', signal)
      const PartitionValues = valuesIn(name)
      const its = await unlessGone(
        this.#get(asked.what, columns, (ColumnNames) =>
          this.#client.ask(asked, (glue, options) =>
            glue.getColumnStatisticsForPartition(
              { ...this.#ofTable(table), PartitionValues, ColumnNames },
              options,
            ),
          ),
        ),
      )
      if (its !== undefined) found.set(name, its)
    })
    return found
  }

  readonly held = heldStatistics

  async put(table: TableName, statistics: TableStatistics, signal: AbortSignal): Promise<void> {
    const asked = this.#asked(`put statistics of ${nameOf(table)}`, 'columnErrors', signal)
    await this.#put(asked.what, statistics, (ColumnStatisticsList) =>
      this.#client.ask(asked, (glue, options) =>
        glue.updateColumnStatisticsForTable({ ...this.#ofTable(table), ColumnStatisticsList }, options),
      ),
    )
  }

  async putPartitions(
    table: TableName,
    statistics: ReadonlyMap<string, TableStatistics>,
    signal: AbortSignal,
  ): Promise<void> {
    await concurrently(statistics, partitionsAtATime, async ([name, its]) => {
      const asked = this.#asked(`put statistics of ${name} in ${nameOf(table)}`, 'columnErrors', signal)
      const PartitionValues = valuesIn(name)
      await this.#put(asked.what, its, (ColumnStatisticsList) =>
        this.#client.ask(asked, (glue, options) =>
          glue.updateColumnStatisticsForPartition(
            { ...this.#ofTable(table), PartitionValues, ColumnStatisticsList },
            options,
          ),
        ),
      )
    })
  }

  async #get(
    what: () => string,
    columns: readonly string[],
    call: (columns: string[]) => Promise<{
      readonly ColumnStatisticsList?: readonly GlueStatisticsInput[] | undefined
      readonly Errors?: readonly OfColumn[] | undefined
    }>,
  ): Promise<TableStatistics | undefined> {
    const found: TableStatistics['columns'] = []
    for (let at = 0; at < columns.length; at += columnsAtOnce.get) {
      const { ColumnStatisticsList: some = [], Errors: errors = [] } = await call(
        columns.slice(at, at + columnsAtOnce.get),
      )
      // Of columns that have none, it says so.
      requireNone(
        errors.filter(({ Error: its }) => its?.ErrorCode !== 'EntityNotFoundException'),
        what,
      )
      found.push(...some.flatMap((one) => toldStatisticsOf(one) ?? []))
    }
    return found.length === 0 ? undefined : { columns: found }
  }

  async #put(
    what: () => string,
    { columns }: TableStatistics,
    call: (some: GlueStatisticsInput[]) => Promise<{ readonly Errors?: readonly OfColumn[] | undefined }>,
  ): Promise<void> {
    const given = columns.flatMap((one) => glueStatisticsOf(one) ?? [])
    try {
      for (let at = 0; at < given.length; at += columnsAtOnce.update)
        requireNone((await call(given.slice(at, at + columnsAtOnce.update))).Errors, what)
    } catch (error) {
      if (!(error instanceof StoreError) || error.failure !== 'gone') throw error
      throw new StoreError('changed', error.message, { cause: error })
    }
  }

  #asked(operation: string, shape: Asked['shape'], signal: AbortSignal): Asked {
    return { what: () => `${operation} in ${this.#place}`, shape, signal }
  }

  #ofTable({ database, name }: TableName) {
    return { ...this.#of, DatabaseName: folded(database), TableName: folded(name) }
  }
}

const nameOf = ({ database, name }: TableName): string => `${database}.${name}`

function requireNone(errors: readonly OfColumn[] = [], what: () => string): void {
  const [first] = errors
  if (first === undefined) return
  const { ErrorCode: code = 'an unnamed error', ErrorMessage: message = '' } = first.Error ?? {}
  const said = message === '' ? '' : `: ${message.slice(0, 1_000)}`
  throw failed(failureOfCode(code), what(), `${errors.length} columns failed, the first with ${code}${said}`)
}
