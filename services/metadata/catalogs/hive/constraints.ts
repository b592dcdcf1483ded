import type { Constraints } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { CatalogWriter, TableConstraints, TableName } from '../contract/catalog.ts'
import type { ListType, Method, StructType, Value } from '../../thrift/types.ts'
import { methods, type SQLForeignKey } from './idl.ts'
import { changing, isLacking, type Metastore, sorted } from './metastore.ts'
import { defaultCatalog, hiveTable } from './tables.ts'

type ForeignRow = Value<typeof SQLForeignKey>

/** What all constraints have, a row for each of their columns. */
interface Row {
  readonly name?: string
  readonly column_name?: string
  readonly key_seq?: number
  readonly enable_cstr?: boolean
  readonly validate_cstr?: boolean
  readonly rely_cstr?: boolean
}

/** Of what becomes of a foreign key whose row is changed or deleted: there is nothing else. */
const noAction = 0
/** Numbers of columns begin with it. */
const firstColumn = 1

/** Constraints of tables, a row of the metastore for each column. Release 2.3 has keys alone. */
export class HiveConstraints implements TableConstraints, NonNullable<CatalogWriter['constraints']> {
  readonly #metastore: Metastore

  constructor(metastore: Metastore) {
    this.#metastore = metastore
  }

  async of({ database, name }: TableName, signal: AbortSignal): Promise<Constraints> {
    const what = this.#metastore.what(`constraints of ${database}.${name}`)
    const { catName = defaultCatalog } = await hiveTable(this.#metastore, database, name, signal)
    const table = { db_name: database, tbl_name: name }
    const inCatalog = { request: { catName, ...table } }
    const foreign = { request: { foreign_db_name: database, foreign_tbl_name: name } }
    const [primary, foreignKeys, unique, notNull, defaults, checks] = await Promise.all([
      this.#rows(this.#metastore.ask(methods.primaryKeys, { request: table }, what, signal)),
      this.#rows(this.#metastore.ask(methods.foreignKeys, foreign, what, signal)),
      this.#rows(this.#metastore.ask(methods.unique, inCatalog, what, signal)),
      this.#rows(this.#metastore.ask(methods.notNull, inCatalog, what, signal)),
      this.#rows(this.#metastore.ask(methods.defaults, inCatalog, what, signal)),
      this.#rows(this.#metastore.ask(methods.checks, inCatalog, what, signal)),
    ])
    const [primaryKey] = byName(primary).map((rows) => ({ ...trustOf(rows[0]), columns: columnsOf(rows) }))
    return {
      ...(primaryKey !== undefined && { primaryKey }),
      foreignKeys: byName(foreignKeys).map((rows) => ({
        ...trustOf(rows[0]),
        columns: columnsOf(rows),
        references: referencesOf(rows),
      })),
      unique: byName(unique).map((rows) => ({ ...trustOf(rows[0]), columns: columnsOf(rows) })),
      notNull: byName(notNull).map(([row]) => ({ ...trustOf(row), column: row.column_name ?? '' })),
      defaults: byName(defaults).map(([row]) => ({
        ...trustOf(row),
        column: row.column_name ?? '',
        value: row.expression ?? '',
      })),
      checks: byName(checks).map(([row]) => ({
        ...trustOf(row),
        ...(row.column_name && { column: row.column_name }),
        expression: row.expression ?? '',
      })),
    }
  }

  async add({ database, name }: TableName, constraints: Constraints, signal: AbortSignal): Promise<void> {
    const what = this.#metastore.what(`adding constraints to ${database}.${name}`)
    const add = async () => {
      const { catName = defaultCatalog } = await hiveTable(this.#metastore, database, name, signal)
      const at = { catName, table_db: database, table_name: name }
      const { primaryKey, ...others } = constraints
      const keys = primaryKey === undefined ? [] : rowsOf(primaryKey).map((row) => ({ ...at, ...row }))
      if (keys.length > 0) await change(methods.addPrimaryKey, keys)
      const unique = others.unique.flatMap(rowsOf).map((row) => ({ ...at, ...row }))
      if (unique.length > 0) await change(methods.addUnique, unique)
      const notNull = others.notNull.map((one) => ({ ...at, ...rowOf(one), column_name: one.column }))
      if (notNull.length > 0) await change(methods.addNotNull, notNull)
      const defaults = others.defaults.map((one) => ({
        ...at,
        ...rowOf(one),
        column_name: one.column,
        expression: one.value,
      }))
      if (defaults.length > 0) await change(methods.addDefaults, defaults)
      const checks = others.checks.map((one) => ({
        ...at,
        ...rowOf(one),
        ...(one.column !== undefined && { column_name: one.column }),
        expression: one.expression,
      }))
      if (checks.length > 0) await change(methods.addChecks, checks)
      const foreignKeys = others.foreignKeys.flatMap((one) =>
        rowsOf(one).map((row, index) => ({
          ...row,
          catName,
          fktable_db: database,
          fktable_name: name,
          pktable_db: one.references.database,
          pktable_name: one.references.table,
          pkcolumn_name: one.references.columns[index] ?? '',
          ...(one.references.primaryKey !== undefined && { pk_name: one.references.primaryKey }),
          update_rule: noAction,
          delete_rule: noAction,
        })),
      )
      if (foreignKeys.length > 0) await change(methods.addForeignKeys, foreignKeys)
    }
    const change = <R extends StructType>(method: Adding<R>, rows: readonly Value<R>[]) => {
      const values = { request: { constraints: rows } } as Value<Adding<R>['parameters']>
      return this.#metastore.change(method, values, what, signal)
    }
    await changing(add())
  }

  async drop({ database, name }: TableName, constraint: string, signal: AbortSignal): Promise<void> {
    const what = this.#metastore.what(`dropping constraint ${constraint} of ${database}.${name}`)
    const drop = async () => {
      // Releases fail in some other way where there is none.
      if (!namesIn(await this.of({ database, name }, signal)).includes(constraint.toLowerCase()))
        throw new StoreError('gone', `${what()}: there is no such constraint`)
      const request = { dbname: database, tablename: name, constraintname: constraint }
      await this.#metastore.change(methods.dropConstraint, { request }, what, signal)
    }
    await changing(drop())
  }

  /** None where the release has no such constraints. */
  async #rows<R>(asked: Promise<{ readonly constraints?: readonly R[] }>): Promise<readonly R[]> {
    try {
      return (await asked).constraints ?? []
    } catch (error) {
      if (isLacking(error)) return []
      throw error
    }
  }
}

/** A function that adds constraints. */
type Adding<R extends StructType> = Method<
  { readonly request: readonly [1, StructType<{ readonly constraints: readonly [1, ListType<R>] }>] },
  'void'
>

const namesIn = ({ primaryKey, ...others }: Constraints): string[] =>
  [primaryKey ?? [], ...Object.values(others)].flat().map(({ name }) => name.toLowerCase())

type Trust = Pick<Constraints['unique'][number], 'name' | 'enabled' | 'validated' | 'rely'>

const trustOf = (row: Row): Trust => ({
  name: row.name ?? '',
  enabled: row.enable_cstr ?? false,
  validated: row.validate_cstr ?? false,
  rely: row.rely_cstr ?? false,
})

const rowOf = ({ name, enabled, validated, rely }: Trust) => ({
  name,
  enable_cstr: enabled,
  validate_cstr: validated,
  rely_cstr: rely,
})

const rowsOf = (one: Trust & { readonly columns: readonly string[] }) =>
  one.columns.map((column, index) => ({
    ...rowOf(one),
    column_name: column,
    key_seq: firstColumn + index,
  }))

/** Rows of each constraint in the order of their columns, and constraints in the order of their names. */
function byName<R extends Row>(rows: readonly R[]): [R, ...R[]][] {
  const found = new Map<string, [R, ...R[]]>()
  for (const row of rows.toSorted((one, other) => (one.key_seq ?? 0) - (other.key_seq ?? 0))) {
    const same = found.get(row.name ?? '')
    if (same === undefined) found.set(row.name ?? '', [row])
    else same.push(row)
  }
  return sorted([...found.keys()]).map((name) => found.get(name)!)
}

const columnsOf = (rows: readonly Row[]): string[] => rows.map(({ column_name = '' }) => column_name)

function referencesOf(
  rows: readonly [ForeignRow, ...ForeignRow[]],
): Constraints['foreignKeys'][number]['references'] {
  const [{ pktable_db = '', pktable_name = '', pk_name }] = rows
  return {
    database: pktable_db,
    table: pktable_name,
    columns: rows.map(({ pkcolumn_name = '' }) => pkcolumn_name),
    ...(pk_name !== undefined && { primaryKey: pk_name }),
  }
}
