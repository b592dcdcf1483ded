import type { CatalogCheck } from '../../../subjects/metadata/catalogs.ts'
import { type CatalogKind, catalogKinds, type KeptOnlyKind } from '../../../subjects/metadata/kinds.ts'
import { GantryError, notAccepted } from '../../../subjects/kit/errors.ts'
import type { Options } from '../../../broker/identity/sealed-options.ts'

/** What nothing here does with a catalog of a kind that is only kept. */
interface KeptOnly {
  /** By what others speak to it. */
  readonly reach: string
  readonly list: string
  readonly read: string
  readonly write: string
}

const keptOnly: { readonly [K in KeptOnlyKind]: KeptOnly } = {
  azure: {
    reach:
      'this release does not connect to Azure SQL (TDS), neither with a password nor as a managed identity',
    list: 'this release does not read the tables in which a metastore of HDInsight keeps its databases',
    read: 'this release cannot read its tables, partitions and functions',
    write: 'this release cannot write to it; add the metastore itself as an agent of type hive',
  },
  databricks: {
    reach: 'this release does not connect to Databricks (JDBC over HTTP), nor to Unity Catalog',
    list: 'this release does not list catalogs and schemas of a workspace',
    read: 'this release cannot read the tables of a workspace',
    write:
      'this release cannot create tables in a workspace or convert them to Delta; Unity Catalog also has an Iceberg REST interface, which an agent of type iceberg-rest can use',
  },
  snowflake: {
    reach:
      'this release does not connect to Snowflake, neither with a password nor with a private key (whose file it does not open)',
    list: 'this release does not list databases and schemas of an account',
    read: 'this release cannot read the tables of an account',
    write: 'this release cannot create external tables over a stage',
  },
}

export const isKeptOnly = (kind: CatalogKind): kind is KeptOnlyKind => kind in keptOnly

/** What a check of one tells. */
export function checkOfKeptOnly(kind: KeptOnlyKind): CatalogCheck {
  const lines = Object.entries(keptOnly[kind]) as [keyof KeptOnly, string][]
  return { ok: false, checks: lines.map(([check, detail]) => ({ check, result: 'no', detail })) }
}

/** Throws UNSUPPORTED for a kind that is only kept. @param field of the request @param catalogId its name */
export function requireSpoken(kind: CatalogKind, catalogId: string, field?: string): void {
  if (!isKeptOnly(kind)) return
  const at = field === undefined ? '' : `${field}: `
  throw new GantryError(
    'UNSUPPORTED',
    `${at}${catalogId} is ${catalogKinds[kind].summary}, which this release stores but cannot connect to; "check" shows what is missing`,
  )
}

/** Throws NOT_ACCEPTED for options that do not go together. */
export function requireOptions(kind: CatalogKind, options: Options): void {
  const need = (field: string, why: string) => {
    if (options[field] === undefined) throw notAccepted(field, `is required with ${why}`)
  }
  if (kind === 'azure' && options['authMethod'] !== 'AD_MSI') {
    need('databaseUser', 'authMethod SQL_PASSWORD')
    need('databasePassword', 'authMethod SQL_PASSWORD')
  }
  if (kind === 'snowflake')
    if (options['snowflakeAuthKind'] === 'Basic') need('password', 'snowflakeAuthKind Basic')
    else need('privateKeyFile', 'snowflakeAuthKind PrivateKey')
}
