import { isDeepStrictEqual } from 'node:util'
import type { CatalogRules } from '../contract/kind.ts'
import type {
  CatalogFunction,
  Constraints,
  Database,
  Partition,
  Privilege,
  Table,
  TableStatistics,
} from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/driver.ts'
import type { CatalogWriter, PrivilegesOf, TableName } from '../contract/catalog.ts'
import { byCodePoints } from '../order.ts'
import { partitionName } from '../partition-names.ts'
import { textOf } from './documents.ts'
import type { DatabaseDocument, ObjectDocuments, TableDocument } from './objects.ts'
import type { Change } from './partition-files.ts'

export const noConstraints: Constraints = {
  foreignKeys: [],
  unique: [],
  notNull: [],
  defaults: [],
  checks: [],
}

/** Documents hold everything, and nothing of their own. */
export const documentRules: CatalogRules = { refuses: () => undefined, isOwnParameter: () => false }

/** Writes the documents of a catalog, each as a whole. Of two who write at once one may undo what the other has done. */
export class DocumentWriter implements CatalogWriter {
  readonly refuses = documentRules.refuses
  readonly isOwnParameter = documentRules.isOwnParameter
  readonly #objects: ObjectDocuments
  readonly #place: string

  constructor(objects: ObjectDocuments, place: string) {
    this.#objects = objects
    this.#place = place
  }

  async createDatabase(database: Database, signal: AbortSignal): Promise<void> {
    const { name } = database
    if (await this.#objects.hasDatabase(name, signal)) throw this.#isThere(`database ${name}`)
    await this.#objects.putDatabase(database, signal, true)
  }

  async alterDatabase(database: Database, signal: AbortSignal): Promise<void> {
    const { privileges } = await this.#databaseOf(database.name, signal)
    await this.#objects.putDatabase({ ...database, ...(privileges && { privileges }) }, signal)
  }

  async dropDatabase(name: string, signal: AbortSignal): Promise<void> {
    await this.#requireDatabase(name, signal)
    const [table] = await this.#objects.tableNames(name, signal)
    if (table !== undefined) throw this.#changed(`the database ${name} contains the table ${table}`)
    // Before the database, which would have them again when it is made anew.
    for (const its of await this.#objects.functionNames(name, signal))
      await this.#objects.removeFunction(name, its, signal)
    await this.#objects.removeDatabase(name, signal)
  }

  async createTable(table: Table, signal: AbortSignal): Promise<void> {
    await this.#requireDatabase(table.database, signal)
    if ((await this.#objects.table(table, signal)) !== undefined)
      throw this.#isThere(`table ${table.database}.${table.name}`)
    // Those of one that was dropped by somebody who did not come to the end of it.
    await this.#objects.partitionsOf(table).clear(signal)
    await this.#objects.putTable(table, signal, true)
  }

  async alterTable(table: Table, signal: AbortSignal): Promise<void> {
    const { constraints, statistics, privileges } = await this.#tableOf(table, signal)
    await this.#objects.putTable(documentOf({ ...table, constraints, statistics, privileges }), signal)
  }

  async dropTable(table: TableName, signal: AbortSignal): Promise<void> {
    await this.#tableOf(table, signal)
    await this.#objects.removeTable(table, signal)
    await this.#objects.partitionsOf(table).clear(signal)
  }

  addPartitions(table: TableName, partitions: readonly Partition[], signal: AbortSignal): Promise<void> {
    return this.#putPartitions(table, partitions, (partition) => (now) => now ?? partition, signal)
  }

  alterPartitions(table: TableName, partitions: readonly Partition[], signal: AbortSignal): Promise<void> {
    const alter =
      (partition: Partition, name: string): Change =>
      (now) => {
        if (now === undefined) throw this.#isGone(`partition ${name} in ${table.database}.${table.name}`)
        const { statistics } = now
        return { ...partition, ...(statistics && { statistics }) }
      }
    return this.#putPartitions(table, partitions, alter, signal)
  }

  async dropPartitions(table: TableName, names: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#tableOf(table, signal)
    const changes = new Map(names.map((name): [string, Change] => [name, () => undefined]))
    await this.#objects.partitionsOf(table).change(changes, signal)
  }

  readonly functions = {
    create: async (made: CatalogFunction, signal: AbortSignal): Promise<void> => {
      const { database, name } = made
      await this.#requireDatabase(database, signal)
      if ((await this.#objects.function(database, name, signal)) !== undefined)
        throw this.#isThere(`function ${database}.${name}`)
      await this.#objects.putFunction(made, signal)
    },
    alter: async (made: CatalogFunction, signal: AbortSignal): Promise<void> => {
      await this.#requireFunction(made.database, made.name, signal)
      await this.#objects.putFunction(made, signal)
    },
    drop: async (database: string, name: string, signal: AbortSignal): Promise<void> => {
      await this.#requireFunction(database, name, signal)
      await this.#objects.removeFunction(database, name, signal)
    },
  }

  readonly constraints = {
    add: async (table: TableName, added: Constraints, signal: AbortSignal): Promise<void> => {
      const { constraints = noConstraints, ...its } = await this.#tableOf(table, signal)
      const known = namesOf(constraints)
      const twice = [...namesOf(added)].find((name) => known.has(name))
      if (twice !== undefined) throw this.#isThere(`constraint ${twice} of ${table.database}.${table.name}`)
      if (added.primaryKey !== undefined && constraints.primaryKey !== undefined)
        throw this.#isThere(`primary key of ${table.database}.${table.name}`)
      const both = joined(constraints, added)
      await this.#objects.putTable(documentOf({ ...its, constraints: both }), signal)
    },
    drop: async (table: TableName, name: string, signal: AbortSignal): Promise<void> => {
      const { constraints = noConstraints, ...its } = await this.#tableOf(table, signal)
      if (!namesOf(constraints).has(name))
        throw this.#isGone(`constraint ${name} of ${table.database}.${table.name}`)
      const rest = without(constraints, name)
      await this.#objects.putTable(documentOf({ ...its, constraints: rest }), signal)
    },
  }

  readonly statistics = {
    put: async (table: TableName, statistics: TableStatistics, signal: AbortSignal): Promise<void> => {
      await this.#objects.putTable(
        documentOf({ ...(await this.#tableOf(table, signal)), statistics }),
        signal,
      )
    },
    putPartitions: async (
      table: TableName,
      all: ReadonlyMap<string, TableStatistics>,
      signal: AbortSignal,
    ): Promise<void> => {
      await this.#tableOf(table, signal)
      const put =
        (name: string, statistics: TableStatistics): Change =>
        (now) => {
          if (now === undefined) throw this.#isGone(`partition ${name} in ${table.database}.${table.name}`)
          return { ...now, statistics: inOrder(statistics) }
        }
      const changes = new Map(Array.from(all, ([name, its]) => [name, put(name, its)]))
      await this.#objects.partitionsOf(table).change(changes, signal)
    },
  }

  readonly privileges = {
    grant: (object: PrivilegesOf, granted: readonly Privilege[], signal: AbortSignal): Promise<void> =>
      this.#changePrivileges(object, (now) => [...now, ...granted], signal),
    revoke: (object: PrivilegesOf, revoked: readonly Privilege[], signal: AbortSignal): Promise<void> =>
      this.#changePrivileges(
        object,
        (now) => now.filter((one) => !revoked.some((other) => isDeepStrictEqual(one, other))),
        signal,
      ),
  }

  async #changePrivileges(
    { database, name }: PrivilegesOf,
    change: (now: readonly Privilege[]) => readonly Privilege[],
    signal: AbortSignal,
  ): Promise<void> {
    if (name === undefined) {
      const { privileges = [], ...its } = await this.#databaseOf(database, signal)
      await this.#objects.putDatabase({ ...its, ...privilegesIn(change(privileges)) }, signal)
    } else {
      const document = await this.#tableOf({ database, name }, signal)
      const privileges = [...change(document.privileges ?? [])]
      await this.#objects.putTable(documentOf({ ...document, privileges }), signal)
    }
  }

  async #putPartitions(
    table: TableName,
    partitions: readonly Partition[],
    changeTo: (partition: Partition, name: string) => Change,
    signal: AbortSignal,
  ): Promise<void> {
    const { partitionKeys } = await this.#tableOf(table, signal)
    const keys = partitionKeys.map(({ name }) => name)
    const changes = new Map(
      partitions.map((partition): [string, Change] => {
        const name = partitionName(keys, partition.values)
        return [name, changeTo(partition, name)]
      }),
    )
    await this.#objects.partitionsOf(table).change(changes, signal)
  }

  async #requireDatabase(name: string, signal: AbortSignal): Promise<void> {
    if (!(await this.#objects.hasDatabase(name, signal))) throw this.#isGone(`database ${name}`)
  }

  async #databaseOf(name: string, signal: AbortSignal): Promise<DatabaseDocument> {
    const found = await this.#objects.database(name, signal)
    if (found === undefined) throw this.#isGone(`database ${name}`)
    return found
  }

  async #requireFunction(database: string, name: string, signal: AbortSignal): Promise<void> {
    if ((await this.#objects.function(database, name, signal)) === undefined)
      throw this.#isGone(`function ${database}.${name}`)
  }

  async #tableOf(table: TableName, signal: AbortSignal): Promise<TableDocument> {
    const { database, name } = table
    await this.#requireDatabase(database, signal)
    const found = await this.#objects.table(table, signal)
    if (found === undefined) throw this.#isGone(`table ${database}.${name}`)
    return found
  }

  #isThere(what: string): StoreError {
    return this.#changed(`${what} already exists`)
  }

  #isGone(what: string): StoreError {
    return this.#changed(`there is no ${what}`)
  }

  #changed(problem: string): StoreError {
    return new StoreError('changed', `${this.#place}: ${problem}`)
  }
}

/** A table, with what is known of it beyond as it came. */
type TableParts = Omit<TableDocument, 'constraints' | 'statistics' | 'privileges'> & {
  readonly [P in 'constraints' | 'statistics' | 'privileges']?: TableDocument[P] | undefined
}

/** The document of a table; lists whose order says nothing are in that of their names. */
function documentOf({ constraints, statistics, privileges = [], ...table }: TableParts): TableDocument {
  return {
    ...table,
    ...(constraints !== undefined && namesOf(constraints).size > 0 && { constraints }),
    ...(statistics !== undefined && { statistics: inOrder(statistics) }),
    ...privilegesIn(privileges),
  }
}

const inOrder = ({ columns }: TableStatistics): TableStatistics => ({
  columns: columns.toSorted((one, other) => byCodePoints(one.column, other.column)),
})

const privilegesIn = (privileges: readonly Privilege[]): Pick<TableDocument, 'privileges'> =>
  privileges.length === 0
    ? {}
    : { privileges: privileges.toSorted((one, other) => byCodePoints(textOf(one), textOf(other))) }

const lists = ['foreignKeys', 'unique', 'notNull', 'defaults', 'checks'] as const

function namesOf(constraints: Constraints): Set<string> {
  const all = [constraints.primaryKey ?? [], ...lists.map((list) => constraints[list])].flat()
  return new Set(all.map(({ name }) => name))
}

function joined(some: Constraints, more: Constraints): Constraints {
  const both = <T extends { name: string }>(one: readonly T[], other: readonly T[]): T[] =>
    [...one, ...other].toSorted((a, b) => byCodePoints(a.name, b.name))
  const primaryKey = more.primaryKey ?? some.primaryKey
  return {
    ...(primaryKey !== undefined && { primaryKey }),
    foreignKeys: both(some.foreignKeys, more.foreignKeys),
    unique: both(some.unique, more.unique),
    notNull: both(some.notNull, more.notNull),
    defaults: both(some.defaults, more.defaults),
    checks: both(some.checks, more.checks),
  }
}

function without({ primaryKey, ...others }: Constraints, name: string): Constraints {
  const rest = <T extends { name: string }>(all: readonly T[]): T[] => all.filter((one) => one.name !== name)
  return {
    ...(primaryKey !== undefined && primaryKey.name !== name && { primaryKey }),
    foreignKeys: rest(others.foreignKeys),
    unique: rest(others.unique),
    notNull: rest(others.notNull),
    defaults: rest(others.defaults),
    checks: rest(others.checks),
  }
}
