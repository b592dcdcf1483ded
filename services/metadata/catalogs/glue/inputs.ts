import type {
  DatabaseInput,
  PartitionInput,
  StorageDescriptor,
  TableInput,
  UserDefinedFunctionInput,
} from '@aws-sdk/client-glue'
import type {
  CatalogFunction,
  Column,
  Database,
  Owner,
  Partition,
  Storage,
  Table,
} from '../../../../subjects/metadata/objects.ts'
import { kept } from './kept.ts'
import { maxDescriptionBytes } from './limits.ts'
import { ascending } from './objects.ts'
import { writeSkewed } from './skew.ts'

/** Glue has names in lower case alone. */
export const folded = (name: string): string => name.toLowerCase()

export const databaseInput = (database: Database): DatabaseInput => ({
  Name: folded(database.name),
  Description: database.description,
  LocationUri: database.location,
  Parameters: {
    ...database.parameters,
    ...(database.owner !== undefined && { [kept.owner]: database.owner.name }),
    ...ownerTypeOf(database.owner),
    ...(database.managedLocation !== undefined && { [kept.managedLocation]: database.managedLocation }),
  },
})

export function tableInput(table: Table): TableInput {
  const comment = table.parameters['comment']
  return {
    Name: folded(table.name),
    // Where people look for it in Amazon's console.
    Description:
      comment === undefined || Buffer.byteLength(comment) > maxDescriptionBytes ? undefined : comment,
    Owner: table.owner?.name,
    Retention: table.retention ?? 0,
    TableType: table.type,
    StorageDescriptor: storageInput(table.columns, table.storage),
    PartitionKeys: columnsInput(table.partitionKeys),
    ViewOriginalText: table.view?.originalText,
    ViewExpandedText: table.view?.expandedText,
    Parameters: {
      ...table.parameters,
      // Clients of Hive delete the data of a table that has no such parameter when they drop it.
      ...(table.type === 'EXTERNAL_TABLE' && { EXTERNAL: 'TRUE' }),
      ...ownerTypeOf(table.owner),
    },
  }
}

export const partitionInput = (partition: Partition): PartitionInput => ({
  Values: [...partition.values],
  StorageDescriptor: storageInput(partition.columns, partition.storage),
  Parameters: { ...partition.parameters },
})

const resourceTypes = { jar: 'JAR', file: 'FILE', archive: 'ARCHIVE' } as const
const ownerTypes = { user: 'USER', role: 'ROLE', group: 'GROUP' } as const

export const functionInput = (made: CatalogFunction): UserDefinedFunctionInput => ({
  FunctionName: folded(made.name),
  ClassName: made.className,
  OwnerName: made.owner?.name,
  OwnerType: made.owner && ownerTypes[made.owner.type ?? 'user'],
  ResourceUris: made.resources.map(({ type, uri }) => ({ ResourceType: resourceTypes[type], Uri: uri })),
})

const storageInput = (columns: readonly Column[], storage: Storage): StorageDescriptor => ({
  Columns: columnsInput(columns),
  Location: storage.location,
  InputFormat: storage.inputFormat,
  OutputFormat: storage.outputFormat,
  Compressed: storage.compressed,
  NumberOfBuckets: storage.bucketCount,
  SerdeInfo: storage.serde && {
    Name: storage.serde.name,
    SerializationLibrary: storage.serde.library,
    Parameters: { ...storage.serde.parameters },
  },
  BucketColumns: [...storage.bucketColumns],
  SortColumns: storage.sortColumns.map(({ name, order }) => ({
    Column: name,
    SortOrder: order === 'ascending' ? ascending : 0,
  })),
  SkewedInfo: storage.skew && {
    SkewedColumnNames: [...storage.skew.columns],
    SkewedColumnValues: storage.skew.values.map(writeSkewed),
    SkewedColumnValueLocationMaps: Object.fromEntries(
      storage.skew.locations.map(({ values, location }) => [writeSkewed(values), location]),
    ),
  },
  StoredAsSubDirectories: storage.skew?.inSubfolders ?? false,
  Parameters: { ...storage.parameters },
})

const columnsInput = (columns: readonly Column[]) =>
  columns.map(({ name, type, comment }) => ({ Name: name, Type: type, Comment: comment }))

/** An owner that nothing is kept of is a user. */
const ownerTypeOf = (owner: Owner | undefined) =>
  owner?.type === undefined || owner.type === 'user' ? {} : { [kept.ownerType]: owner.type }
