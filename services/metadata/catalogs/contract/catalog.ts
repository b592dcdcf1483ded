import type {
  CatalogFunction,
  Constraints,
  Database,
  Partition,
  Principal,
  Privilege,
  Table,
  TableIndex,
  TableStatistics,
  TableSummary,
} from '../../../../subjects/metadata/objects.ts'

import type { StoreError } from '../../../drivers/contract/store-error.ts'

/*
 * The interface between metadata migrations and a catalog, as that of stores is (`services/drivers/contract`): whoever uses
 * one goes by what it says that it can do, never by its kind. Every operation that fails throws a `StoreError`: `gone` for an
 * object that is not there, `refused` for credentials, `permission`, `unreachable`, `throttled`, `unsupported`, `io`; one whose signal is
 * aborted throws the signal's reason.
 */

export interface Catalog {
  /** What it is, and where, for people: it stands in messages. */
  readonly place: string

  /** Checks that it still is where catalogs may be. Throws GantryError INVALID_INPUT. */
  requirePlace(): void

  /** Proves that something answers that is such a catalog, and takes the credentials. */
  probe(signal: AbortSignal): Promise<void>

  /** What it says of itself, for people; undefined where it says nothing. */
  version(signal: AbortSignal): Promise<string | undefined>

  /** Names of all databases, in the order of their code points. */
  databases(signal: AbortSignal): Promise<readonly string[]>

  /** Undefined where there is none. */
  database(name: string, signal: AbortSignal): Promise<Database | undefined>

  /** All tables and views of a database, in the order of their names. Throws `gone` where there is no such database. */
  tables(database: string, signal: AbortSignal): Promise<readonly TableSummary[]>

  /** Undefined where there is none. */
  table(database: string, name: string, signal: AbortSignal): Promise<Table | undefined>

  /** Names of all partitions, such as `year=2026/month=11`, in the order of their code points. Throws `gone`. */
  partitionNames(table: TableName, signal: AbortSignal): Promise<readonly string[]>

  /**
   * The partitions of these names, those that are gone left out, in any order. Throws `gone` where the table is gone.
   * @param names up to `partitionsAtOnce` of them
   */
  partitions(table: TableName, names: readonly string[], signal: AbortSignal): Promise<readonly Partition[]>

  /** Of what it can hold beyond databases, tables and partitions: absent where it knows nothing of the kind. */
  readonly functions?: Functions
  readonly constraints?: TableConstraints
  readonly statistics?: ColumnStatistics
  readonly privileges?: Privileges
  readonly writeIds?: WriteIdsOfTables
  /** To look at, and never migrated. */
  readonly indexes?: Indexes
  readonly settings?: CatalogSettings

  /** What has changed in it; absent where it does not say. */
  readonly feed?: CatalogFeed

  /** Absent where it can only be read. */
  readonly writer?: CatalogWriter

  close(): void
}

/** What functions there are in a database. */
export interface Functions {
  /**
   * All of them, in the order of their names. Throws `gone`.
   * @param onUnreadable is told of those that alone cannot be read; without it one of them fails all
   */
  list(
    database: string,
    signal: AbortSignal,
    onUnreadable?: OnUnreadable,
  ): Promise<readonly CatalogFunction[]>
}

export type OnUnreadable = (name: string, failure: StoreError) => void

/** What is promised of the rows of a table. */
export interface TableConstraints {
  of(table: TableName, signal: AbortSignal): Promise<Constraints>
}

export interface ColumnStatistics {
  /** Of the table as a whole; undefined where there are none. */
  ofTable(table: TableName, signal: AbortSignal): Promise<TableStatistics | undefined>
  /**
   * Of partitions by their names, those that have none left out. Absent where it keeps none of partitions.
   * @param names up to `partitionsAtOnce` of them
   */
  ofPartitions?(
    table: TableName,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, TableStatistics>>
}

/** Who may do what. */
export interface Privileges {
  /** All of a database by itself, or of a table with its columns. Throws `gone`. */
  of(object: PrivilegesOf, signal: AbortSignal): Promise<readonly Privilege[]>
  /** Who has a role; undefined where there is no such role. Absent where it knows nothing of roles. */
  members?(role: string, signal: AbortSignal): Promise<readonly Principal[] | undefined>
}

/** Which writes of transactional tables count. */
export interface WriteIdsOfTables {
  /**
   * In the order of the tables; undefined where the server is of a release that has none. There are none of a table that nobody
   * has written to, and of one that is not there.
   */
  of(tables: readonly TableName[], signal: AbortSignal): Promise<readonly WriteIds[] | undefined>
}

/**
 * Ids of the writes to a table, from 1 on: files in it are in folders that are named by them. Those that are neither open nor
 * aborted count.
 */
export interface WriteIds {
  /** 0 where there are none. */
  readonly highest: number
  /** Up to it. */
  readonly open: readonly number[]
  readonly aborted: readonly number[]
}

/** A database, or a table in it. */
export interface PrivilegesOf {
  readonly database: string
  readonly name?: string
}

export interface Indexes {
  /** In the order of their names; undefined where the server is of a release that has none. Throws `gone`. */
  of(table: TableName, signal: AbortSignal): Promise<readonly TableIndex[] | undefined>
}

/** What the service is set up with. */
export interface CatalogSettings {
  /** Names of those that matter to migrations. */
  readonly names: readonly string[]
  /** Undefined where it is not set. */
  value(name: string, signal: AbortSignal): Promise<string | undefined>
}

/** Tells which objects have changed. It may tell of more than have, and of one more than once; whoever hears looks at them. */
export interface CatalogFeed {
  /** After what has happened until now; undefined where the catalog keeps no account of it. */
  position(signal: AbortSignal): Promise<string | undefined>
  /**
   * What has happened after a position, in order. Throws `gone` where the catalog does not know any more all that
   * has happened since.
   * @param limit events that are told at most
   */
  changes(after: string, limit: number, signal: AbortSignal): Promise<CatalogChanges>
}

export interface CatalogChanges {
  readonly changes: readonly CatalogChange[]
  /** After the last of them: where the next question goes on. */
  readonly position: string
  /** Events that are known to be there after it. */
  readonly behind: number
}

/** An object that may have changed, been made or be gone. Without a table: the database itself. */
export interface CatalogChange {
  readonly database: string
  readonly table?: string
  /** Names of the partitions; absent for the table itself, with all of its partitions where it was made, renamed or dropped. */
  readonly partitions?: readonly string[]
  /** What the table was called before, where it has got another name. */
  readonly renamedFrom?: TableName
  /** Whether it is told to be gone: dropped, or called something else. It may be there again. */
  readonly isGone?: true
  /** Whether functions of the database have changed. */
  readonly functions?: true
  /** When that happened, in milliseconds since 1970. */
  readonly atMs: number
}

/**
 * What can be written. Nothing of it touches files: what is dropped leaves its data where they are, also of managed tables.
 * An object that is made and is there already, or that is changed and is not there, throws `changed`: somebody else was
 * faster, and who calls looks again.
 */
export interface CatalogWriter {
  /**
   * Why it can never hold a table by its own rules, such as a kind that it has no word for; undefined when it can.
   * Asks nobody.
   */
  refuses(table: Table): string | undefined

  createDatabase(database: Database, signal: AbortSignal): Promise<void>
  alterDatabase(database: Database, signal: AbortSignal): Promise<void>
  /** One with tables in it throws `changed`. */
  dropDatabase(name: string, signal: AbortSignal): Promise<void>

  /** With all but its partitions. */
  createTable(table: Table, signal: AbortSignal): Promise<void>
  /** All but its partitions, which stay. */
  alterTable(table: Table, signal: AbortSignal): Promise<void>
  /**
   * Gives a table or view another name, in another database where that is so, and all else but its partitions, which stay.
   * Absent where it knows no renames. Where there is one of that name already it throws `changed`, and `unsupported` for one
   * whose files would be moved.
   */
  renameTable?(before: TableName, table: Table, signal: AbortSignal): Promise<void>
  /**
   * Gives a table that was made by a hidden name (`hiddenNameOf`) its own, with all else as it is. Absent where a table can have no
   * other name. Where there is one of that name already it throws `changed`.
   */
  revealTable?(table: Table, signal: AbortSignal): Promise<void>
  /** With its partitions, and its write ids: those of the next table of its name begin anew. */
  dropTable(table: TableName, signal: AbortSignal): Promise<void>

  /** Those that are there already stay as they are. @param partitions up to `partitionsAtOnce` of them */
  addPartitions(table: TableName, partitions: readonly Partition[], signal: AbortSignal): Promise<void>
  /** @param partitions up to `partitionsAtOnce` of them */
  alterPartitions(table: TableName, partitions: readonly Partition[], signal: AbortSignal): Promise<void>
  /** Those that are not there are no matter. @param names up to `partitionsAtOnce` of them */
  dropPartitions(table: TableName, names: readonly string[], signal: AbortSignal): Promise<void>

  /** Absent where it holds none. */
  readonly functions?: {
    create(made: CatalogFunction, signal: AbortSignal): Promise<void>
    alter(made: CatalogFunction, signal: AbortSignal): Promise<void>
    drop(database: string, name: string, signal: AbortSignal): Promise<void>
  }
  readonly constraints?: {
    add(table: TableName, constraints: Constraints, signal: AbortSignal): Promise<void>
    drop(table: TableName, name: string, signal: AbortSignal): Promise<void>
  }
  readonly statistics?: {
    put(table: TableName, statistics: TableStatistics, signal: AbortSignal): Promise<void>
    /** What of them it can hold; absent where that is all. */
    held?(statistics: TableStatistics): TableStatistics
    /** @param statistics of partitions that are there, by their names: of up to `partitionsAtOnce` */
    putPartitions?(
      table: TableName,
      statistics: ReadonlyMap<string, TableStatistics>,
      signal: AbortSignal,
    ): Promise<void>
  }

  readonly privileges?: {
    /** @param privileges that are not there yet */
    grant(object: PrivilegesOf, privileges: readonly Privilege[], signal: AbortSignal): Promise<void>
    /** What of one it can hold; absent where that is all. */
    readonly held?: (privilege: Privilege) => Privilege
    /** @param privileges that are there */
    revoke(object: PrivilegesOf, privileges: readonly Privilege[], signal: AbortSignal): Promise<void>
    /** Absent where it takes what is granted to any role, whether there is one or not. */
    readonly roles?: {
      create(role: string, signal: AbortSignal): Promise<void>
      /** @param member who does not have it yet */
      add(role: string, member: Principal, signal: AbortSignal): Promise<void>
    }
  }

  readonly writeIds?: {
    /**
     * Makes those up to the highest one count that are not aborted. What it does not get done, the same call does later.
     * Throws `changed` where others have written to the table.
     */
    put(table: TableName, writeIds: Pick<WriteIds, 'highest' | 'aborted'>, signal: AbortSignal): Promise<void>
  }

  /**
   * Whether a parameter of a database, table or partition is the catalog's own account of what it has done, such as when
   * a table was last changed: it says nothing about the object, is not migrated and not compared.
   */
  isOwnParameter(name: string): boolean
}

export interface TableName {
  readonly database: string
  readonly name: string
}

/** Whether no other object of the catalog would fare better. */
export const isOfAll = ({ failure }: StoreError): boolean =>
  failure === 'unreachable' || failure === 'refused' || failure === 'throttled'

/** Partitions that are asked for at once: each has some kB, and a batch stays in memory. */
export const partitionsAtOnce = 1_000
