import { Type } from 'typebox'
import { strict } from '../../../../subjects/kit/schemas.ts'
import {
  CatalogFunction,
  Constraints,
  Database,
  Privileges,
  Table,
  TableStatistics,
} from '../../../../subjects/metadata/objects.ts'
import type { StorePath } from '../../../drivers/contract/driver.ts'
import type { TableName } from '../contract/catalog.ts'
import { decodeName, documentFile, documentName, encodeName, pathOf } from './document-names.ts'
import type { Documents } from './documents.ts'
import { PartitionFiles } from './partition-files.ts'

/** A database, with who may do what with it. */
const DatabaseDocument = strict({ ...Database.properties, privileges: Type.Optional(Privileges) })
export type DatabaseDocument = Type.Static<typeof DatabaseDocument>

/** A table, with what is known of it beyond. */
const TableDocument = strict({
  ...Table.properties,
  constraints: Type.Optional(Constraints),
  statistics: Type.Optional(TableStatistics),
  privileges: Type.Optional(Privileges),
})
export type TableDocument = Type.Static<typeof TableDocument>

/** Where each object of a catalog is, and what is in its document. */
export class ObjectDocuments {
  readonly #documents: Documents

  constructor(documents: Documents) {
    this.#documents = documents
  }

  get concurrency(): number {
    return this.#documents.concurrency
  }

  /** Names of what may be databases; each is one if it has a document. */
  async folderNames(signal: AbortSignal): Promise<string[]> {
    const folders = await this.#documents.list(pathOf(), 'folder', signal)
    return folders.flatMap((folder) => decodeName(folder) ?? [])
  }

  hasDatabase(name: string, signal: AbortSignal): Promise<boolean> {
    return this.#documents.isThere(databasePath(name), signal)
  }

  async database(name: string, signal: AbortSignal): Promise<DatabaseDocument | undefined> {
    const path = databasePath(name)
    const database = await this.#documents.read(path, DatabaseDocument, signal)
    return this.#named(path, { name }, database)
  }

  /** @param isNew see `Documents.write` */
  putDatabase(database: DatabaseDocument, signal: AbortSignal, isNew = false): Promise<void> {
    return this.#documents.write(databasePath(database.name), database, signal, isNew)
  }

  async removeDatabase(name: string, signal: AbortSignal): Promise<void> {
    await this.#documents.remove(databasePath(name), signal)
    for (const folder of [tablesPath(name), functionsPath(name), pathOf(encodeName(name))])
      await this.#documents.removeFolder(folder, signal)
  }

  tableNames(database: string, signal: AbortSignal): Promise<string[]> {
    return this.#namesIn(tablesPath(database), signal)
  }

  async table(table: TableName, signal: AbortSignal): Promise<TableDocument | undefined> {
    const path = tablePath(table)
    const { database, name } = table
    return this.#named(path, { database, name }, await this.#documents.read(path, TableDocument, signal))
  }

  /** @param isNew see `Documents.write` */
  putTable(document: TableDocument, signal: AbortSignal, isNew = false): Promise<void> {
    return this.#documents.write(tablePath(document), document, signal, isNew)
  }

  removeTable(table: TableName, signal: AbortSignal): Promise<void> {
    return this.#documents.remove(tablePath(table), signal)
  }

  partitionsOf({ database, name }: TableName): PartitionFiles {
    const folder = [encodeName(database), 'tables', `${encodeName(name)}.partitions`]
    return new PartitionFiles(this.#documents, folder)
  }

  functionNames(database: string, signal: AbortSignal): Promise<string[]> {
    return this.#namesIn(functionsPath(database), signal)
  }

  async function(database: string, name: string, signal: AbortSignal): Promise<CatalogFunction | undefined> {
    const path = functionPath(database, name)
    const made = await this.#documents.read(path, CatalogFunction, signal)
    return this.#named(path, { database, name }, made)
  }

  putFunction(made: CatalogFunction, signal: AbortSignal): Promise<void> {
    return this.#documents.write(functionPath(made.database, made.name), made, signal)
  }

  removeFunction(database: string, name: string, signal: AbortSignal): Promise<void> {
    return this.#documents.remove(functionPath(database, name), signal)
  }

  async #namesIn(folder: StorePath, signal: AbortSignal): Promise<string[]> {
    return (await this.#documents.list(folder, 'file', signal)).flatMap((file) => documentName(file) ?? [])
  }

  /** A document is of the object that its path names: who copies one changes the name in it too. */
  #named<T extends object>(path: StorePath, names: Partial<T>, document: T | undefined): T | undefined {
    for (const [field, name] of Object.entries<unknown>(names))
      if (document !== undefined && document[field as keyof T] !== name)
        throw this.#documents.refused(
          path,
          `${field} must be ${String(name)}, as in the path of the document`,
        )
    return document
  }
}

const databasePath = (name: string) => pathOf(encodeName(name), 'database.json')
const tablesPath = (database: string) => pathOf(encodeName(database), 'tables')
const tablePath = ({ database, name }: TableName) =>
  pathOf(encodeName(database), 'tables', documentFile(name))
const functionsPath = (database: string) => pathOf(encodeName(database), 'functions')
const functionPath = (database: string, name: string) =>
  pathOf(encodeName(database), 'functions', documentFile(name))
