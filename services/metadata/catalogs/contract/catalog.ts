import type { Database, Partition, Table, TableSummary } from '../../../../subjects/metadata/objects.ts'

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

  close(): void
}

export interface TableName {
  readonly database: string
  readonly name: string
}

/** Partitions that are asked for at once: each has some kB, and a batch stays in memory. */
export const partitionsAtOnce = 1_000
