import { concurrently } from '../../../../broker/common/concurrently.ts'
import type { FilesystemSpec } from '../../../../subjects/filesystems/kinds.ts'
import type { CatalogOptions } from '../../../../subjects/metadata/kinds.ts'
import type {
  CatalogFunction,
  Constraints,
  Database,
  Partition,
  Privilege,
  Table,
  TableStatistics,
  TableSummary,
} from '../../../../subjects/metadata/objects.ts'
import type { StoreBounds } from '../../../drivers/contract/bounds.ts'
import { type Driver, openDriver, StoreError, type StorePath } from '../../../drivers/index.ts'
import { pathFromText } from '../../../drivers/paths/path-text.ts'
import type { Catalog, OnUnreadable, PrivilegesOf, TableName } from '../contract/catalog.ts'
import { unlessOfAll } from '../unless-of-all.ts'
import { byCodePoints } from '../order.ts'
import { Documents } from './documents.ts'
import { ObjectDocuments, type TableDocument } from './objects.ts'
import { DocumentWriter, noConstraints } from './writer.ts'

/** Opens the catalog of a folder; nothing is asked of the store yet. Throws GantryError NOT_ACCEPTED, INVALID_INPUT. */
export async function openDocuments(
  { fileSystemId, rootFolder = '/' }: CatalogOptions<'filesystem'>,
  spec: FilesystemSpec,
  bounds: StoreBounds | undefined,
): Promise<DocumentCatalog> {
  const root = pathFromText(rootFolder, 'rootFolder')
  // What is opened as a target can be written to, and read as well.
  const driver = await openDriver(spec, 'target', bounds)
  return new DocumentCatalog(driver, root, `the documents in ${rootFolder} of ${fileSystemId}`)
}

/** Type of a table whose document cannot be read; the comment on it says why. */
const unreadable = 'UNREADABLE'

/** A catalog of documents, one for each object, in a folder of a store. */
export class DocumentCatalog implements Catalog {
  readonly place: string
  readonly writer: DocumentWriter
  readonly #driver: Driver
  readonly #root: StorePath
  readonly #objects: ObjectDocuments

  constructor(driver: Driver, root: StorePath, place: string) {
    this.place = place
    this.#driver = driver
    this.#root = root
    this.#objects = new ObjectDocuments(new Documents(driver, root))
    this.writer = new DocumentWriter(this.#objects, place)
  }

  requirePlace(): void {
    this.#driver.requirePlace?.()
  }

  /** A folder that is not there yet is no error: the first document makes it. */
  async probe(signal: AbortSignal): Promise<void> {
    await this.#driver.probe(signal)
    if (this.#root.length === 0) return
    const entry = await this.#driver.stat(this.#root)
    if (entry !== undefined && entry.type !== 'folder')
      throw new StoreError('unsupported', `${this.place}: rootFolder is not a folder`)
  }

  async version(): Promise<undefined> {
    return undefined
  }

  async databases(signal: AbortSignal): Promise<readonly string[]> {
    const found: string[] = []
    await this.#each(await this.#objects.folderNames(signal), async (name) => {
      if (await this.#objects.hasDatabase(name, signal)) found.push(name)
    })
    return found.toSorted(byCodePoints)
  }

  async database(name: string, signal: AbortSignal): Promise<Database | undefined> {
    const document = await this.#objects.database(name, signal)
    if (document === undefined) return undefined
    const { privileges: _, ...database } = document
    return database
  }

  async tables(database: string, signal: AbortSignal): Promise<readonly TableSummary[]> {
    await this.#requireDatabase(database, signal)
    const found: TableSummary[] = []
    await this.#each(await this.#objects.tableNames(database, signal), async (name) => {
      try {
        const table = await this.#objects.table({ database, name }, signal)
        // Gone since its name was told.
        if (table === undefined) return
        const { comment } = table.parameters
        found.push({ name, type: table.type, ...(comment !== undefined && { comment }) })
      } catch (error) {
        found.push({ name, type: unreadable, comment: unlessOfAll(error).message })
      }
    })
    return found.toSorted((one, other) => byCodePoints(one.name, other.name))
  }

  async table(database: string, name: string, signal: AbortSignal): Promise<Table | undefined> {
    const document = await this.#document({ database, name }, signal)
    if (document === undefined) return undefined
    const { constraints: _, statistics: __, privileges: ___, ...table } = document
    return table
  }

  async partitionNames(table: TableName, signal: AbortSignal): Promise<readonly string[]> {
    await this.#existing(table, signal)
    return this.#objects.partitionsOf(table).names(signal)
  }

  async partitions(
    table: TableName,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly Partition[]> {
    await this.#existing(table, signal)
    const found = await this.#objects.partitionsOf(table).of(names, signal)
    return found.map(([, document]) => {
      const { statistics: _, ...partition } = document
      return partition
    })
  }

  readonly functions = {
    list: async (
      database: string,
      signal: AbortSignal,
      onUnreadable?: OnUnreadable,
    ): Promise<readonly CatalogFunction[]> => {
      await this.#requireDatabase(database, signal)
      const found: CatalogFunction[] = []
      await this.#each(await this.#objects.functionNames(database, signal), async (name) => {
        try {
          const made = await this.#objects.function(database, name, signal)
          if (made !== undefined) found.push(made)
        } catch (error) {
          if (onUnreadable === undefined) throw error
          onUnreadable(name, unlessOfAll(error))
        }
      })
      return found.toSorted((one, other) => byCodePoints(one.name, other.name))
    },
  }

  readonly constraints = {
    of: async (table: TableName, signal: AbortSignal): Promise<Constraints> =>
      (await this.#existing(table, signal)).constraints ?? noConstraints,
  }

  readonly statistics = {
    ofTable: async (table: TableName, signal: AbortSignal): Promise<TableStatistics | undefined> =>
      (await this.#existing(table, signal)).statistics,
    ofPartitions: async (
      table: TableName,
      names: readonly string[],
      signal: AbortSignal,
    ): Promise<ReadonlyMap<string, TableStatistics>> => {
      await this.#existing(table, signal)
      const found = await this.#objects.partitionsOf(table).of(names, signal)
      return new Map(
        found.flatMap(([name, { statistics }]) => (statistics === undefined ? [] : [[name, statistics]])),
      )
    },
  }

  readonly privileges = {
    of: async (object: PrivilegesOf, signal: AbortSignal): Promise<readonly Privilege[]> => {
      const { database, name } = object
      if (name !== undefined) return (await this.#existing({ database, name }, signal)).privileges ?? []
      const document = await this.#objects.database(database, signal)
      if (document !== undefined) return document.privileges ?? []
      throw new StoreError('gone', `there is no database ${database} in ${this.place}`)
    },
  }

  close(): void {
    // Nothing is under way, and whoever closes it has no use for what fails in doing so.
    void this.#driver.close().catch(() => undefined)
  }

  #each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
    return concurrently(items, this.#objects.concurrency, work)
  }

  async #requireDatabase(database: string, signal: AbortSignal): Promise<void> {
    if (await this.#objects.hasDatabase(database, signal)) return
    throw new StoreError('gone', `there is no database ${database} in ${this.place}`)
  }

  async #document(table: TableName, signal: AbortSignal): Promise<TableDocument | undefined> {
    if (!(await this.#objects.hasDatabase(table.database, signal))) return undefined
    return this.#objects.table(table, signal)
  }

  async #existing(table: TableName, signal: AbortSignal): Promise<TableDocument> {
    const document = await this.#document(table, signal)
    if (document !== undefined) return document
    throw new StoreError('gone', `there is no table ${table.database}.${table.name} in ${this.place}`)
  }
}
