import { call } from '../../broker/rpc/client.ts'
import { Collection } from '../../broker/state/collection.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Log } from '../../broker/common/log.ts'
import { Owners } from '../../broker/rpc/owners.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import type { Sealer } from '../../broker/identity/seal.ts'
import { migrationsInternal } from '../../subjects/migrations/internal.ts'
import type { StoreBounds } from '../drivers/contract/bounds.ts'
import { filesystemHandlers, filesystemInternalHandlers } from './handlers.ts'
import { FilesystemRecord } from './record.ts'
import { Stores } from './stores.ts'

export interface FilesystemsOptions {
  readonly journals: RecordJournals
  readonly connection: NatsConnection
  readonly sealer: Sealer
  /** Where filesystems may be. */
  readonly bounds: StoreBounds
  readonly log: Log
}

/** Opens the collection of filesystems and makes its handlers. */
export async function startFilesystems({ connection, journals, sealer, bounds, log }: FilesystemsOptions) {
  const stores = new Stores({ bounds })
  const dependencies = {
    filesystems: await Collection.open(connection, {
      bucket: 'filesystems',
      schema: FilesystemRecord,
      version: 1,
      groupOf: ({ owner }) => owner,
      journals,
    }),
    owners: new Owners(connection),
    sealer,
    stores,
    usesOf: (fileSystemId: string) => call(connection, migrationsInternal.uses, { fileSystemId }),
    forgetTarget: async (fileSystemId: string) => {
      await call(connection, migrationsInternal['forget-target'], { fileSystemId })
    },
    log,
  }
  return {
    handlers: filesystemHandlers(dependencies),
    internalHandlers: filesystemInternalHandlers(dependencies),
    stop: () => stores.close(),
  }
}
