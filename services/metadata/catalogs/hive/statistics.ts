import type { TableStatistics } from '../../../../subjects/metadata/objects.ts'
import type { Struct, Fields, ThriftType, Value } from '../../thrift/types.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { CatalogWriter, ColumnStatistics, TableName } from '../contract/catalog.ts'
import { shortened } from '../../../../subjects/kit/shortened.ts'
import { decimalOf, decimalText, isNumberText } from '../decimals.ts'
import { ColumnStatisticsData, methods } from './idl.ts'
import { changing, type Metastore } from './metastore.ts'
import { hiveTable } from './tables.ts'

type Data = Value<typeof ColumnStatisticsData>
type Told = TableStatistics['columns'][number]['statistics']

/** What there is of each kind. */
const kinds: ReadonlyMap<string, Fields> = new Map(
  Object.entries(ColumnStatisticsData.fields).map(([kind, [, type]]) => [kind, type.fields]),
)

/** As whose statistics release 4 keeps them. */
const engine = 'hive'

/** Statistics of the columns of tables, and of partitions. Those of transactional tables are not told: they hold for a state of transactions. */
export class HiveStatistics implements ColumnStatistics, NonNullable<CatalogWriter['statistics']> {
  readonly #metastore: Metastore

  constructor(metastore: Metastore) {
    this.#metastore = metastore
  }

  async ofTable({ database, name }: TableName, signal: AbortSignal): Promise<TableStatistics | undefined> {
    const what = this.#metastore.what(`statistics of ${database}.${name}`)
    const { sd = {} } = await hiveTable(this.#metastore, database, name, signal)
    const colNames = (sd.cols ?? []).map((column) => column.name ?? '')
    if (colNames.length === 0) return undefined
    const request = { dbName: database, tblName: name, colNames, engine }
    const { tableStats = [] } = await this.#metastore.ask(methods.tableStatistics, { request }, what, signal)
    return tableStats.length === 0 ? undefined : toldOf(tableStats)
  }

  async ofPartitions(
    { database, name }: TableName,
    partNames: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, TableStatistics>> {
    const what = this.#metastore.what(`statistics of partitions of ${database}.${name}`)
    const { sd = {} } = await hiveTable(this.#metastore, database, name, signal)
    const colNames = (sd.cols ?? []).map((column) => column.name ?? '')
    if (colNames.length === 0 || partNames.length === 0) return new Map()
    const request = { dbName: database, tblName: name, colNames, partNames, engine }
    const { partStats = new Map<string, never>() } = await this.#metastore.ask(
      methods.partitionStatistics,
      { request },
      what,
      signal,
    )
    return new Map([...partStats].filter(([, its]) => its.length > 0).map(([key, its]) => [key, toldOf(its)]))
  }

  async putPartitions(
    { database, name }: TableName,
    statistics: ReadonlyMap<string, TableStatistics>,
    signal: AbortSignal,
  ): Promise<void> {
    const colStats = [...statistics]
      .filter(([, { columns }]) => columns.length > 0)
      .map(([partName, { columns }]) => ({
        statsDesc: { isTblLevel: false, dbName: database, tableName: name, partName },
        statsObj: columns.map(givenOf),
        engine,
      }))
    if (colStats.length === 0) return
    const what = this.#metastore.what(`putting statistics of partitions of ${database}.${name}`)
    const request = { colStats, engine }
    await changing(this.#metastore.change(methods.putPartitionStatistics, { request }, what, signal))
  }

  async put({ database, name }: TableName, { columns }: TableStatistics, signal: AbortSignal): Promise<void> {
    if (columns.length === 0) return
    const what = this.#metastore.what(`putting statistics of ${database}.${name}`)
    const statistics = {
      statsDesc: { isTblLevel: true, dbName: database, tableName: name },
      statsObj: columns.map(givenOf),
      engine,
    }
    await changing(this.#metastore.change(methods.putTableStatistics, { statistics }, what, signal))
  }
}

interface OfColumn {
  readonly colName?: string
  readonly colType?: string
  readonly statsData?: Data
}

const toldOf = (columns: readonly OfColumn[]): TableStatistics => ({
  columns: columns.map(({ colName = '', colType = '', statsData = {} }) => ({
    column: colName,
    type: colType,
    statistics: statisticsOf(statsData),
  })),
})

const givenOf = ({ column, type, statistics }: TableStatistics['columns'][number]) => ({
  colName: column,
  colType: type,
  statsData: dataOf(statistics),
})

/** Of the one kind of statistics that there is, by the words of its fields. */
function statisticsOf(data: Data): Told {
  for (const [kind, types] of kinds) {
    const value = data[kind as keyof Data] as Struct<Fields> | undefined
    if (value === undefined) continue
    const fields = Object.entries(types).flatMap(([name, [, its]]) => {
      const field = value[name]
      const text = field === undefined ? undefined : textOf(its, field)
      return text === undefined ? [] : [[name, text]]
    })
    return { kind, ...(Object.fromEntries(fields) as Told) }
  }
  return {}
}

/** Throws `unsupported` for a kind that Hive does not have, or a value that is none. */
function dataOf({ kind = '', ...told }: Told): Data {
  const fields = kinds.get(kind)
  if (fields === undefined) throw refused(`Hive has no statistics of the kind "${kind}"`)
  const values = Object.entries(told).flatMap(([name, text]) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field === undefined) throw refused(`Hive has no ${name} in statistics of the kind "${kind}"`)
    return [[name, valueOf(field[1], name, text)]]
  })
  return { [kind]: Object.fromEntries(values) }
}

const refused = (message: string) => new StoreError('unsupported', message)

function textOf(type: ThriftType, value: unknown): string | undefined {
  if (type === 'binary') return (value as Buffer).toString('base64')
  if (typeof type === 'string') return String(value)
  const { unscaled, scale, daysSinceEpoch, secondsSinceEpoch } = value as Partial<{
    unscaled: Buffer
    scale: number
    daysSinceEpoch: bigint
    secondsSinceEpoch: bigint
  }>
  return unscaled === undefined
    ? String(daysSinceEpoch ?? secondsSinceEpoch)
    : decimalText({ unscaled, scale: scale ?? 0 })
}

/** Of a value that is none, in a message. */
const maxToldLength = 100

function valueOf(type: ThriftType, name: string, text: string): unknown {
  if (type === 'binary') return Buffer.from(text, 'base64')
  if (type === 'double') return Number(text)
  if (!isNumberText(text)) throw refused(`${name} is not a number: ${shortened(text, maxToldLength)}`)
  if (type === 'i64') return wholeNumber(name, text)
  const fields = typeof type !== 'string' && type.kind === 'struct' ? type.fields : {}
  if ('unscaled' in fields) return decimalOf(text)
  return { [Object.keys(fields)[0]!]: wholeNumber(name, text) }
}

function wholeNumber(name: string, text: string): bigint {
  if (text.includes('.')) throw refused(`${name} is not a whole number: ${text}`)
  return BigInt(text)
}
