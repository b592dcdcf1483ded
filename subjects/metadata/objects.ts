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
  type: Raw('Type, in the type syntax of Hive, such as array<struct<a:int>>'),
  comment: optional('Comment'),
})

const Owner = strict({
  name: Raw('Name'),
  type: Type.Optional(Type.Enum(['user', 'role', 'group'], { description: 'Type of the owner, if known' })),
})

const created = Type.Optional(EpochMillis('Creation time, in milliseconds since 1970'))

/** How and where data are kept. */
const Storage = strict({
  location: optional('URI of the folder that contains the data; absent for views'),
  inputFormat: optional('Class that reads the files'),
  outputFormat: optional('Class that writes the files'),
  serde: Type.Optional(
    strict({
      name: optional('Name'),
      library: optional('Class that reads and writes rows'),
      parameters: Parameters('Parameters of the SerDe'),
    }),
  ),
  compressed: Type.Boolean({ description: 'Whether files are compressed' }),
  bucketCount: Type.Integer({ description: 'Number of buckets; below 1: the data are not bucketed' }),
  bucketColumns: Names('Columns by which the data are bucketed'),
  sortColumns: list(
    strict({ name: Raw('Column'), order: Type.Enum(['ascending', 'descending']) }),
    maxColumns,
  ),
  skew: Type.Optional(
    strict({
      columns: Names('Skewed columns: a few of their values occur in most of the rows'),
      values: list(Names('One value for each skewed column'), maxColumns),
      locations: list(strict({ values: Names('Values'), location: Raw('URI of the folder') }), maxColumns),
      inSubfolders: Type.Boolean({
        description: 'Whether rows with these values are stored in separate folders',
      }),
    }),
  ),
  parameters: Parameters('Storage parameters'),
})

export const Database = model('MetadataDatabase', {
  name: Raw('Name'),
  description: optional('Description'),
  location: optional('URI of the folder of the tables'),
  managedLocation: optional('URI of the folder of managed tables, if it is different'),
  owner: Type.Optional(Owner),
  parameters: Parameters('Parameters'),
})
export type Database = Type.Static<typeof Database>

export const Table = model('MetadataTable', {
  database: Raw('Name of the database'),
  name: Raw('Name'),
  type: Raw(
    'Type: MANAGED_TABLE, EXTERNAL_TABLE, VIRTUAL_VIEW, MATERIALIZED_VIEW, or a type specific to the catalog',
  ),
  owner: Type.Optional(Owner),
  columns: list(Column, maxColumns),
  partitionKeys: list(Column, maxColumns),
  storage: Storage,
  parameters: Parameters('Parameters'),
  view: Type.Optional(
    strict({
      originalText: Raw('Query as it was written'),
      expandedText: Raw('Query with fully qualified names'),
      rewriteEnabled: Type.Boolean({
        description: 'Whether queries can be rewritten to use the materialized view',
      }),
      sources: Type.Optional(Names('Source tables of a materialized view, such as sales.orders')),
    }),
  ),
  retention: Type.Optional(
    Type.Integer({ description: 'Retention of the data, in the unit of the catalog; absent if it is 0' }),
  ),
  createdMs: created,
})
export type Table = Type.Static<typeof Table>

export const TableSummary = strict({
  name: Raw('Name'),
  type: Raw('Type of the table'),
  comment: optional('Comment'),
})
export type TableSummary = Type.Static<typeof TableSummary>

/** An index of a table, as releases of Hive before 3 have it. */
export const TableIndex = strict({
  name: Raw('Name'),
  handler: Raw('Class of the index handler'),
  columns: Names('Indexed columns of the table'),
  indexTable: optional('Table that stores the index'),
  deferredRebuild: Type.Boolean({ description: 'Whether the index is built only on request' }),
})
export type TableIndex = Type.Static<typeof TableIndex>

/** What a service is set up with. */
export const Setting = strict({
  name: Raw('Name'),
  value: optional('Value; absent if the parameter is not set'),
})
export type Setting = Type.Static<typeof Setting>

export const Partition = model('MetadataPartition', {
  values: Names('One value for each partition key of the table'),
  columns: list(Column, maxColumns),
  storage: Storage,
  parameters: Parameters('Parameters'),
  createdMs: created,
})
export type Partition = Type.Static<typeof Partition>

export const CatalogFunction = model('MetadataFunction', {
  database: Raw('Name of the database'),
  name: Raw('Name'),
  className: Raw('Class that implements the function'),
  owner: Type.Optional(Owner),
  resources: list(
    strict({
      type: Type.Enum(['jar', 'file', 'archive'], { description: 'Type of the resource' }),
      uri: Raw('URI of the resource'),
    }),
    maxColumns,
  ),
  createdMs: created,
})
export type CatalogFunction = Type.Static<typeof CatalogFunction>

/** What holds for each constraint: who sees to it. */
const trust = {
  name: Raw('Name'),
  enabled: Type.Boolean({ description: 'Whether the constraint is enforced for new rows' }),
  validated: Type.Boolean({ description: 'Whether existing rows were checked against the constraint' }),
  rely: Type.Boolean({ description: 'Whether the query optimizer may rely on the constraint' }),
}

export const Constraints = model('MetadataConstraints', {
  primaryKey: Type.Optional(strict({ ...trust, columns: Names('Columns, in order') })),
  foreignKeys: list(
    strict({
      ...trust,
      columns: Names('Columns, in order'),
      references: strict({
        database: Raw('Database of the referenced table'),
        table: Raw('Referenced table'),
        columns: Names('Referenced columns, in the same order'),
        primaryKey: optional('Name of the referenced primary key'),
      }),
    }),
    maxColumns,
  ),
  unique: list(strict({ ...trust, columns: Names('Columns, in order') }), maxColumns),
  notNull: list(strict({ ...trust, column: Raw('Column') }), maxColumns),
  defaults: list(strict({ ...trust, column: Raw('Column'), value: Raw('Expression') }), maxColumns),
  checks: list(strict({ ...trust, column: optional('Column'), expression: Raw('Expression') }), maxColumns),
})
export type Constraints = Type.Static<typeof Constraints>

export const TableStatistics = model('MetadataStatistics', {
  /** Statistics are the catalog's own for each type, and are passed on as they are. */
  columns: list(
    strict({
      column: Raw('Name'),
      type: Raw('Type of the column'),
      statistics: Type.Record(Type.String({ maxLength: 100 }), Raw('Value; bytes in base64'), {
        maxProperties: 100,
        description:
          'Statistics with the names used by Hive: kind (boolean, long, double, string, binary, decimal, date, timestamp), numNulls, numDVs, lowValue, highValue, avgColLen, maxColLen, numTrues, numFalses, bitVectors',
      }),
    }),
    maxColumns,
  ),
})
export type TableStatistics = Type.Static<typeof TableStatistics>

/** Who may have privileges. */
export const Principal = strict({
  name: Raw('Name'),
  type: Type.Enum(['user', 'role', 'group'], { description: 'Type' }),
})
export type Principal = Type.Static<typeof Principal>

/** What somebody may do with a database, a table or one of its columns. */
export const Privilege = strict({
  principal: Principal,
  privilege: Raw('Privilege, such as SELECT'),
  column: optional('Column of the table; absent for the database or table as a whole'),
  grantOption: Type.Boolean({ description: 'Whether the principal can grant the privilege to others' }),
  grantor: Type.Optional(Principal),
  authorizer: optional('Authorizer that keeps the privilege, if the catalog names it'),
})
export type Privilege = Type.Static<typeof Privilege>

/** More than people grant. */
const maxPrivileges = 100_000
export const Privileges = list(Privilege, maxPrivileges)

export type Column = Type.Static<typeof Column>
export type Owner = Type.Static<typeof Owner>
export type Storage = Type.Static<typeof Storage>
export type Parameters = Storage['parameters']
