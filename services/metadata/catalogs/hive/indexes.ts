import type { TableIndex } from '../../../../subjects/metadata/objects.ts'
import type { Indexes, TableName } from '../contract/catalog.ts'
import { byCodePoints } from '../order.ts'
import { methods } from './idl.ts'
import { isLacking, type Metastore } from './metastore.ts'
import { hiveTable } from './tables.ts'

const allIndexes = -1

/** Indexes of tables, which releases before 3 have. */
export class HiveIndexes implements Indexes {
  readonly #metastore: Metastore

  constructor(metastore: Metastore) {
    this.#metastore = metastore
  }

  async of({ database, name }: TableName, signal: AbortSignal): Promise<readonly TableIndex[] | undefined> {
    const what = this.#metastore.what(`indexes of ${database}.${name}`)
    const asked = { database, table: name, limit: allIndexes }
    let found
    try {
      found = await this.#metastore.ask(methods.indexes, asked, what, signal)
    } catch (error) {
      if (isLacking(error)) return undefined
      throw error
    }
    // It answers with nothing where there is no such table.
    if (found.length === 0) await hiveTable(this.#metastore, database, name, signal)
    return found
      .map(({ indexName = '', indexHandlerClass = '', indexTableName, sd, deferredRebuild = false }) => ({
        name: indexName,
        handler: indexHandlerClass,
        columns: (sd?.cols ?? []).map((column) => column.name ?? ''),
        ...(indexTableName !== undefined && { indexTable: indexTableName }),
        deferredRebuild,
      }))
      .toSorted((one, other) => byCodePoints(one.name, other.name))
  }
}
