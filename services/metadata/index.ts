import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Log } from '../../broker/common/log.ts'
import type { Sealer } from '../../broker/identity/seal.ts'
import { Owners } from '../../broker/rpc/owners.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import { Collection } from '../../broker/state/collection.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import type { StoreBounds } from '../drivers/contract/bounds.ts'
import { StoreError } from '../drivers/contract/store-error.ts'
import { service } from '../kit/part.ts'
import { QuestionThreads } from '../questions/question-threads.ts'
import type { MetadataDependencies } from './api/dependencies.ts'
import { catalogHandlers } from './api/handlers.ts'
import { CatalogRecord } from './api/record.ts'
import type { CatalogAnswer } from './catalogs/questions.ts'

export interface MetadataNeeds {
  readonly connection: NatsConnection
  readonly journals: RecordJournals
  readonly sealer: Sealer
  readonly log: Log
  /** Where catalogs may be, as filesystems. */
  readonly bounds: StoreBounds
}

/** Metadata of data lakes: catalogs, and what is in them. */
export const metadataService = service({
  name: 'metadata',
  contracts: { metadataCatalogs },
  start: async ({ connection, journals, sealer, bounds, log }: MetadataNeeds) => {
    const threads = new QuestionThreads<object, CatalogAnswer>({
      entry: new URL('./catalogs/catalog-thread.ts', import.meta.url),
      workerData: { bounds },
      what: 'the catalog',
    })
    // The kind of a question decides what it asks for and what comes.
    const ask = (async (kind, spec, asked, asker) => {
      try {
        return await threads.ask({ kind, spec, ...asked }, asker)
      } catch (error) {
        // Callers are not told what is there.
        if (error instanceof StoreError && error.detail !== undefined)
          log.warn({ kind: spec.kind, reason: error.detail }, 'The endpoint of a catalog is not that of one.')
        throw error
      }
    }) as MetadataDependencies['ask']
    const dependencies: MetadataDependencies = {
      owners: new Owners(connection),
      catalogs: await Collection.open(connection, {
        bucket: 'metadata-catalogs',
        schema: CatalogRecord,
        version: 1,
        groupOf: ({ owner }) => owner,
        journals,
      }),
      sealer,
      ask,
    }
    return {
      handlers: { metadataCatalogs: catalogHandlers(dependencies) },
      halt: () => threads.close(),
    }
  },
})
