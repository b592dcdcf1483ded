import type { ColumnStatistics, ColumnStatisticsData } from '@aws-sdk/client-glue'
import type { TableStatistics } from '../../../../subjects/metadata/objects.ts'
import { decimalOf, decimalText } from '../decimals.ts'

type OfColumn = TableStatistics['columns'][number]
type Told = OfColumn['statistics']

/** How a value is written in Glue's word for it; undefined for one that it cannot hold, or that was not told exactly. */
interface Codec {
  readonly toGlue: (text: string) => unknown
  readonly fromGlue: (value: never) => string | undefined
}

const dayMs = 86_400_000

/** Whole numbers cross in JSON, and beyond these they are not exact. */
const whole: Codec = {
  toGlue: (text) => safe(Number(text)),
  fromGlue: (value: number) => safe(value)?.toString(),
}
const safe = (value: number) => (Number.isSafeInteger(value) ? value : undefined)
const real: Codec = {
  toGlue: (text) => (Number.isFinite(Number(text)) ? Number(text) : undefined),
  fromGlue: (value: number) => String(value),
}
const decimal: Codec = {
  toGlue: (text) => {
    const its = decimalOf(text)
    return its && { UnscaledValue: its.unscaled, Scale: its.scale }
  },
  fromGlue: ({ UnscaledValue, Scale }: { UnscaledValue?: Uint8Array; Scale?: number }) =>
    UnscaledValue && decimalText({ unscaled: Buffer.from(UnscaledValue), scale: Scale ?? 0 }),
}
const day: Codec = {
  toGlue: (text) => {
    const moment = new Date(Number(text) * dayMs)
    return Number.isNaN(moment.getTime()) ? undefined : moment
  },
  fromGlue: (value: Date) => String(Math.floor(value.getTime() / dayMs)),
}

/** What a field is called in Glue; one that is required there is not left out alone. */
interface Field {
  readonly glue: string
  readonly codec: Codec
  readonly required: boolean
}
const field = (glue: string, codec: Codec, required = true): Field => ({ glue, codec, required })
const nulls = { numNulls: field('NumberOfNulls', whole) }
const counts = { ...nulls, numDVs: field('NumberOfDistinctValues', whole) }
const lengths = { maxColLen: field('MaximumLength', whole), avgColLen: field('AverageLength', real) }
const ordered = (codec: Codec) => ({
  lowValue: field('MinimumValue', codec, false),
  highValue: field('MaximumValue', codec, false),
  ...counts,
})

interface Kind {
  readonly type: NonNullable<ColumnStatisticsData['Type']>
  readonly data: Exclude<keyof ColumnStatisticsData, 'Type'>
  readonly fields: Readonly<Record<string, Field>>
}

/** By Hive's word. Glue has none for statistics of timestamps. */
const kinds = new Map<string, Kind>(
  Object.entries({
    boolean: {
      type: 'BOOLEAN',
      data: 'BooleanColumnStatisticsData',
      fields: {
        numTrues: field('NumberOfTrues', whole),
        numFalses: field('NumberOfFalses', whole),
        ...nulls,
      },
    },
    long: { type: 'LONG', data: 'LongColumnStatisticsData', fields: ordered(whole) },
    double: { type: 'DOUBLE', data: 'DoubleColumnStatisticsData', fields: ordered(real) },
    string: { type: 'STRING', data: 'StringColumnStatisticsData', fields: { ...lengths, ...counts } },
    binary: { type: 'BINARY', data: 'BinaryColumnStatisticsData', fields: { ...lengths, ...nulls } },
    decimal: { type: 'DECIMAL', data: 'DecimalColumnStatisticsData', fields: ordered(decimal) },
    date: { type: 'DATE', data: 'DateColumnStatisticsData', fields: ordered(day) },
  } as const),
)

/** Statistics of a column as Glue takes them; undefined for those that it cannot hold. */
export function glueStatisticsOf({ column, type, statistics }: OfColumn): ColumnStatistics | undefined {
  const kind = kinds.get(statistics['kind'] ?? '')
  if (kind === undefined) return undefined
  const values: Record<string, unknown> = {}
  for (const [name, { glue, codec, required }] of Object.entries(kind.fields)) {
    const text = statistics[name]
    const value = text === undefined ? undefined : codec.toGlue(text)
    if (value !== undefined) values[glue] = value
    else if (required) return undefined
  }
  return {
    ColumnName: column.toLowerCase(),
    ColumnType: type,
    AnalyzedTime: new Date(),
    StatisticsData: { Type: kind.type, [kind.data]: values },
  }
}

/** Statistics of a column as they are told; undefined for those of a kind that is not known. */
export function toldStatisticsOf({
  ColumnName = '',
  ColumnType = '',
  StatisticsData: data = { Type: undefined },
}: Partial<ColumnStatistics>): OfColumn | undefined {
  for (const [kind, { data: name, fields }] of kinds) {
    const values = data[name] as Readonly<Record<string, unknown>> | undefined
    if (values === undefined) continue
    const told: Told = { kind }
    for (const [word, { glue, codec }] of Object.entries(fields)) {
      const value = values[glue]
      const text = value === undefined ? undefined : codec.fromGlue(value as never)
      if (text !== undefined) told[word] = text
    }
    return { column: ColumnName, type: ColumnType, statistics: told }
  }
  return undefined
}
