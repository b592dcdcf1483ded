import { Type } from 'typebox'
import { form } from '../kit/forms.ts'
import { EpochMillis, list, model, strict } from '../kit/schemas.ts'

/*
 * What a catalog holds, whichever it is. Names are Hive's, which all other catalogs have a word for. What is not there is
 * left out.
 */

/** Longest text of a catalog: types of columns, texts of views and values of parameters have no limit in some. */
const maxCatalogText = 1024 * 1024
/** More than any catalog takes. */
const maxColumns = 100_000
const maxParameters = 10_000

/** A text of a catalog as it has it. */
const Raw = (description: string) => Type.String({ maxLength: maxCatalogText, description })
const optional = (description: string) => Type.Optional(Raw(description))

/** Names of parameters may have any character. */
const Parameters = (description: string) =>
  Type.Record(Type.String(form('^[\\s\\S]{1,4000}$', '1 to 4,000 characters')), Raw('Value'), {
    maxProperties: maxParameters,
    additionalProperties: false,
    description,
  })
const Names = (description: string) => Type.Array(Raw('Name'), { maxItems: maxColumns, description })

const Column = strict({
  name: Raw('Name'),
  type: Raw('In Hive’s grammar of types, such as array<struct<a:int>>'),
  comment: optional('What it is, for people'),
})

const Owner = strict({
  name: Raw('Name'),
  type: Type.Optional(
    Type.Enum(['user', 'role', 'group'], { description: 'What it is, where that is known' }),
  ),
})

const created = Type.Optional(EpochMillis('When it was made, in milliseconds since 1970'))

/** How and where data are kept. */
const Storage = strict({
  location: optional('URI of the folder with the data; views have none'),
  inputFormat: optional('Class that reads the files'),
  outputFormat: optional('Class that writes the files'),
  serde: Type.Optional(
    strict({
      name: optional('Name'),
      library: optional('Class that reads and writes rows'),
      parameters: Parameters('What it is set up with'),
    }),
  ),
  compressed: Type.Boolean({ description: 'Whether files are compressed' }),
  bucketCount: Type.Integer({ description: 'Into how many buckets rows are spread; below 1: they are not' }),
  bucketColumns: Names('Columns by which they are'),
  sortColumns: list(
    strict({ name: Raw('Column'), order: Type.Enum(['ascending', 'descending']) }),
    maxColumns,
  ),
  skew: Type.Optional(
    strict({
      columns: Names('Columns of which a few values are in most of the rows'),
      values: list(Names('One for each of these columns'), maxColumns),
      locations: list(strict({ values: Names('Values'), location: Raw('URI of their folder') }), maxColumns),
      inSubfolders: Type.Boolean({ description: 'Whether rows with such values have folders of their own' }),
    }),
  ),
  parameters: Parameters('Parameters of how they are kept'),
})

export const Database = model('MetadataDatabase', {
  name: Raw('Name'),
  description: optional('What it is, for people'),
  location: optional('URI of the folder of its tables'),
  managedLocation: optional('The same of managed tables, where they have another'),
  owner: Type.Optional(Owner),
  parameters: Parameters('Parameters'),
})
export type Database = Type.Static<typeof Database>

export const Table = model('MetadataTable', {
  database: Raw('Name of its database'),
  name: Raw('Name'),
  type: Raw('MANAGED_TABLE, EXTERNAL_TABLE, VIRTUAL_VIEW, MATERIALIZED_VIEW, or a word of the catalog’s own'),
  owner: Type.Optional(Owner),
  columns: list(Column, maxColumns),
  partitionKeys: list(Column, maxColumns),
  storage: Storage,
  parameters: Parameters('Parameters'),
  view: Type.Optional(
    strict({
      originalText: Raw('As it was written'),
      expandedText: Raw('With all names in full'),
      rewriteEnabled: Type.Boolean({
        description: 'Whether queries may be answered from a materialized view',
      }),
      sources: Type.Optional(Names('Tables that a materialized view is made of, such as sales.orders')),
    }),
  ),
  retention: Type.Optional(
    Type.Integer({ description: 'How long data are kept, as the catalog counts it; left out where it is 0' }),
  ),
  createdMs: created,
})
export type Table = Type.Static<typeof Table>

export const TableSummary = strict({
  name: Raw('Name'),
  type: Raw('As of the table'),
  comment: optional('What it is, for people'),
})
export type TableSummary = Type.Static<typeof TableSummary>

export const Partition = model('MetadataPartition', {
  values: Names('One for each of the table’s partition keys'),
  columns: list(Column, maxColumns),
  storage: Storage,
  parameters: Parameters('Parameters'),
  createdMs: created,
})
export type Partition = Type.Static<typeof Partition>

export const CatalogFunction = model('MetadataFunction', {
  database: Raw('Name of its database'),
  name: Raw('Name'),
  className: Raw('Class that does the work'),
  owner: Type.Optional(Owner),
  resources: list(
    strict({
      type: Type.Enum(['jar', 'file', 'archive'], { description: 'What it is' }),
      uri: Raw('Where it is'),
    }),
    maxColumns,
  ),
  createdMs: created,
})
export type CatalogFunction = Type.Static<typeof CatalogFunction>

/** What holds for each constraint: who sees to it. */
const trust = {
  name: Raw('Name'),
  enabled: Type.Boolean({ description: 'Whether rows are held to it as they are written' }),
  validated: Type.Boolean({ description: 'Whether the rows that were there before were held to it' }),
  rely: Type.Boolean({ description: 'Whether queries may be planned by it' }),
}

export const Constraints = model('MetadataConstraints', {
  primaryKey: Type.Optional(strict({ ...trust, columns: Names('Its columns, in order') })),
  foreignKeys: list(
    strict({
      ...trust,
      columns: Names('Its columns, in order'),
      references: strict({
        database: Raw('Database of the other table'),
        table: Raw('The other table'),
        columns: Names('Columns there, in the same order'),
        primaryKey: optional('Name of the primary key there'),
      }),
    }),
    maxColumns,
  ),
  unique: list(strict({ ...trust, columns: Names('Its columns, in order') }), maxColumns),
  notNull: list(strict({ ...trust, column: Raw('Its column') }), maxColumns),
  defaults: list(strict({ ...trust, column: Raw('Its column'), value: Raw('An expression') }), maxColumns),
  checks: list(
    strict({ ...trust, column: optional('Its column'), expression: Raw('An expression') }),
    maxColumns,
  ),
})
export type Constraints = Type.Static<typeof Constraints>

export const TableStatistics = model('MetadataStatistics', {
  /** Statistics are the catalog's own for each type, and are passed on as they are. */
  columns: list(
    strict({
      column: Raw('Name'),
      type: Raw('As of the column'),
      statistics: Type.Record(Type.String({ maxLength: 100 }), Raw('Value; bytes in base64'), {
        maxProperties: 100,
        description:
          'By the words of Hive: kind (boolean, long, double, string, binary, decimal, date, timestamp), numNulls, numDVs, lowValue, highValue, avgColLen, maxColLen, numTrues, numFalses, bitVectors',
      }),
    }),
    maxColumns,
  ),
})
export type TableStatistics = Type.Static<typeof TableStatistics>

export type Column = Type.Static<typeof Column>
export type Owner = Type.Static<typeof Owner>
export type Storage = Type.Static<typeof Storage>
export type Parameters = Storage['parameters']
