import type * as sdk from '@aws-sdk/client-glue'
import type {
  CatalogFunction,
  Column,
  Database,
  Owner,
  Parameters,
  Partition,
  Storage,
  Table,
  TableSummary,
} from '../../../../subjects/metadata/objects.ts'
import { kept } from './kept.ts'
import { readSkewed } from './skew.ts'

/** What stands for a table of another catalog, which is read there. */
export const resourceLink = 'RESOURCE_LINK'
/** Of `Order.SortOrder`. */
export const ascending = 1

export function databaseOf({ Name = '', Description, LocationUri, Parameters: all }: Sparse<sdk.Database>) {
  const { own, others } = split(all)
  return {
    name: Name,
    ...given('description', Description),
    ...given('location', LocationUri),
    ...given('managedLocation', own.get(kept.managedLocation)),
    ...ownerOf(own.get(kept.owner), own.get(kept.ownerType)),
    parameters: others,
  } satisfies Database
}

export function tableOf(table: Sparse<sdk.Table>): Table {
  const { own, others } = split(table.Parameters)
  const { Name = '', DatabaseName = '', Description = '', StorageDescriptor: storage = {} } = table
  const { ViewOriginalText: originalText = '', ViewExpandedText: expandedText = '' } = table
  return {
    database: DatabaseName,
    name: Name,
    type: typeOf(table),
    ...ownerOf(table.Owner, own.get(kept.ownerType)),
    columns: columnsOf(storage.Columns),
    partitionKeys: columnsOf(table.PartitionKeys),
    storage: storageOf(storage),
    // Hive has no other place for it.
    parameters:
      Description === '' || others['comment'] !== undefined
        ? others
        : sorted({ ...others, comment: Description }),
    ...(originalText !== '' && { view: { originalText, expandedText, rewriteEnabled: false } }),
    ...(table.Retention !== undefined && table.Retention !== 0 && { retention: table.Retention }),
    ...createdAt(table.CreateTime),
  }
}

export function summaryOf(table: Sparse<sdk.Table>): TableSummary {
  return {
    name: table.Name ?? '',
    type: typeOf(table),
    ...given('comment', table.Parameters?.['comment'] || table.Description),
  }
}

export function partitionOf(partition: Sparse<sdk.Partition>): Partition {
  const { Values: values = [], StorageDescriptor: storage = {} } = partition
  return {
    values: [...values],
    columns: columnsOf(storage.Columns),
    storage: storageOf(storage),
    parameters: sorted(partition.Parameters),
    ...createdAt(partition.CreationTime),
  }
}

const resourceTypes = new Map<string, 'jar' | 'file' | 'archive'>([
  ['JAR', 'jar'],
  ['FILE', 'file'],
  ['ARCHIVE', 'archive'],
])

export function functionOf(database: string, made: Sparse<sdk.UserDefinedFunction>): CatalogFunction {
  return {
    database,
    name: made.FunctionName ?? '',
    className: made.ClassName ?? '',
    ...ownerOf(made.OwnerName, made.OwnerType),
    resources: (made.ResourceUris ?? []).map(({ ResourceType = 'JAR', Uri = '' }) => ({
      type: resourceTypes.get(ResourceType) ?? 'file',
      uri: Uri,
    })),
    ...createdAt(made.CreateTime),
  }
}

/** Of an answer nothing is sure to be there. */
type Sparse<T> = { readonly [K in keyof T]?: T[K] | undefined }

const typeOf = ({ TableType = '', TargetTable }: Sparse<sdk.Table>): string =>
  TargetTable === undefined ? TableType : resourceLink

function storageOf(storage: Sparse<sdk.StorageDescriptor>): Storage {
  const { SerdeInfo: serde, SkewedInfo: skewed, BucketColumns = [], SortColumns = [] } = storage
  const columns = skewed?.SkewedColumnNames ?? []
  return {
    ...given('location', storage.Location),
    ...given('inputFormat', storage.InputFormat),
    ...given('outputFormat', storage.OutputFormat),
    ...(serde !== undefined && {
      serde: {
        ...given('name', serde.Name),
        ...given('library', serde.SerializationLibrary),
        parameters: sorted(serde.Parameters),
      },
    }),
    compressed: storage.Compressed ?? false,
    bucketCount: storage.NumberOfBuckets ?? -1,
    bucketColumns: [...BucketColumns],
    sortColumns: SortColumns.map(({ Column: name = '', SortOrder: order }) => ({
      name,
      order: order === ascending ? 'ascending' : 'descending',
    })),
    ...(columns.length > 0 && {
      skew: {
        columns: [...columns],
        values: (skewed?.SkewedColumnValues ?? []).map(readSkewed),
        locations: Object.entries(skewed?.SkewedColumnValueLocationMaps ?? {}).map(([values, location]) => ({
          values: readSkewed(values),
          location,
        })),
        inSubfolders: storage.StoredAsSubDirectories ?? false,
      },
    }),
    parameters: sorted(storage.Parameters),
  }
}

const columnsOf = (columns: readonly Sparse<sdk.Column>[] = []): Column[] =>
  columns.map(({ Name: name = '', Type: type = '', Comment: comment }) => ({
    name,
    type,
    ...given('comment', comment),
  }))

function ownerOf(name: string | undefined, type: string | undefined): { owner?: Owner } {
  if (name === undefined || name === '') return {}
  const known = (['user', 'role', 'group'] as const).find((one) => one === type?.toLowerCase())
  return { owner: { name, type: known ?? 'user' } }
}

/** Parameters that are ours, and all others. */
function split(parameters: Parameters = {}): { own: ReadonlyMap<string, string>; others: Parameters } {
  const ours = new Set<string>(Object.values(kept))
  const entries = Object.entries(parameters)
  return {
    own: new Map(entries.filter(([name]) => ours.has(name))),
    others: sorted(Object.fromEntries(entries.filter(([name]) => !ours.has(name)))),
  }
}

/** In the order of their names, so that two that are equal look equal. */
const sorted = (parameters: Parameters = {}): Parameters =>
  Object.fromEntries(Object.entries(parameters).toSorted(([one], [other]) => (one < other ? -1 : 1)))

const createdAt = (time: Date | undefined) => (time === undefined ? {} : { createdMs: time.getTime() })

/** What the service leaves empty is not there. */
const given = <N extends string>(name: N, value: string | undefined) =>
  (value === undefined || value === '' ? {} : { [name]: value }) as { readonly [K in N]?: string }
