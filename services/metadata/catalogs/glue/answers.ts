const textsByName = 'texts by name'

/** What an answer may be, as far as it is read: a list has one shape in it, a record shapes by the names of its fields. */
export type Shape =
  | 'text'
  | 'number'
  | 'flag'
  | 'time'
  | 'bytes'
  | typeof textsByName
  | readonly [Shape]
  | { readonly [field: string]: Shape }

/** An answer that is not what Glue gives: the SDK passes on whatever came. */
export class UnreadableAnswer extends Error {}

/** What of an answer is read, and nothing else; fields that are null are not there. Throws UnreadableAnswer. */
export function read(shape: Shape, value: unknown): unknown {
  if (typeof shape === 'string' && shape !== textsByName) {
    if (!isOf[shape](value)) throw new UnreadableAnswer()
    return value
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== Array.isArray(shape))
    throw new UnreadableAnswer()
  if (isList(shape)) return (value as readonly unknown[]).map((one) => read(shape[0], one))
  const fields = value as Readonly<Record<string, unknown>>
  const wanted =
    shape === textsByName ? Object.keys(fields).map((name) => [name, 'text'] as const) : Object.entries(shape)
  const there = wanted.filter(([name]) => fields[name] !== undefined && fields[name] !== null)
  return Object.fromEntries(there.map(([name, of]) => [name, read(of, fields[name])]))
}

const isList = (shape: Shape): shape is readonly [Shape] => Array.isArray(shape)

const isOf = {
  text: (value: unknown) => typeof value === 'string',
  number: (value: unknown) => Number.isFinite(value),
  flag: (value: unknown) => typeof value === 'boolean',
  bytes: (value: unknown) => value instanceof Uint8Array,
  time: (value: unknown) => value instanceof Date && !Number.isNaN(value.getTime()),
} as const

const texts = ['text'] as const
const columns = [{ Name: 'text', Type: 'text', Comment: 'text' }] as const
const storage = {
  Columns: columns,
  Location: 'text',
  InputFormat: 'text',
  OutputFormat: 'text',
  Compressed: 'flag',
  NumberOfBuckets: 'number',
  SerdeInfo: { Name: 'text', SerializationLibrary: 'text', Parameters: textsByName },
  BucketColumns: texts,
  SortColumns: [{ Column: 'text', SortOrder: 'number' }],
  SkewedInfo: {
    SkewedColumnNames: texts,
    SkewedColumnValues: texts,
    SkewedColumnValueLocationMaps: textsByName,
  },
  StoredAsSubDirectories: 'flag',
  Parameters: textsByName,
} as const
const database = {
  Name: 'text',
  Description: 'text',
  LocationUri: 'text',
  Parameters: textsByName,
} as const
const table = {
  Name: 'text',
  DatabaseName: 'text',
  Description: 'text',
  Owner: 'text',
  CreateTime: 'time',
  Retention: 'number',
  StorageDescriptor: storage,
  PartitionKeys: columns,
  ViewOriginalText: 'text',
  ViewExpandedText: 'text',
  TableType: 'text',
  Parameters: textsByName,
  TargetTable: {},
} as const
const partition = {
  Values: texts,
  CreationTime: 'time',
  StorageDescriptor: storage,
  Parameters: textsByName,
} as const
const owned = {
  FunctionName: 'text',
  ClassName: 'text',
  OwnerName: 'text',
  OwnerType: 'text',
  CreateTime: 'time',
  ResourceUris: [{ ResourceType: 'text', Uri: 'text' }],
} as const

const counts = { NumberOfNulls: 'number', NumberOfDistinctValues: 'number' } as const
const lengths = { MaximumLength: 'number', AverageLength: 'number' } as const
const ordered = <const S extends Shape>(value: S) => ({ MinimumValue: value, MaximumValue: value, ...counts })
const columnStatistics = {
  ColumnName: 'text',
  ColumnType: 'text',
  StatisticsData: {
    BooleanColumnStatisticsData: {
      NumberOfTrues: 'number',
      NumberOfFalses: 'number',
      NumberOfNulls: 'number',
    },
    LongColumnStatisticsData: ordered('number'),
    DoubleColumnStatisticsData: ordered('number'),
    StringColumnStatisticsData: { ...lengths, ...counts },
    BinaryColumnStatisticsData: { ...lengths, NumberOfNulls: 'number' },
    DecimalColumnStatisticsData: ordered({ UnscaledValue: 'bytes', Scale: 'number' }),
    DateColumnStatisticsData: ordered('time'),
  },
} as const
const columnErrors = [{ Error: { ErrorCode: 'text', ErrorMessage: 'text' } }] as const

/** By what is asked for. */
export const shapes = {
  database: { Database: database },
  databases: { DatabaseList: [database], NextToken: 'text' },
  table: { Table: table },
  tables: { TableList: [table], NextToken: 'text' },
  /** Of names, only the values. */
  partitionValues: { Partitions: [{ Values: texts }], NextToken: 'text' },
  partitions: { Partitions: [partition], UnprocessedKeys: [{ Values: texts }] },
  functions: { UserDefinedFunctions: [owned], NextToken: 'text' },
  columnStatistics: { ColumnStatisticsList: [columnStatistics], Errors: columnErrors },
  columnErrors: { Errors: columnErrors },
  /** Of what is done to several. */
  errors: { Errors: [{ ErrorDetail: { ErrorCode: 'text', ErrorMessage: 'text' } }] },
  nothing: {},
} as const satisfies Readonly<Record<string, Shape>>
