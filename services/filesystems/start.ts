import { call } from '../../broker/client.ts'
import { Collection } from '../../broker/collection.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import type { Log } from '../../broker/log.ts'
import type { Sealer } from '../../broker/seal.ts'
import { migrationsInternal } from '../../subjects/migrations-internal.ts'
import { filesystemHandlers, filesystemInternalHandlers } from './index.ts'
import { FilesystemRecord } from './record.ts'
import { Stores } from './stores.ts'

export interface FilesystemsOptions {
  readonly connection: NatsConnection
  readonly sealer: Sealer
  readonly log: Log
}

/** Opens the collection of filesystems and makes its handlers. */
export async function startFilesystems({ connection, sealer, log }: FilesystemsOptions) {
  const stores = new Stores()
  const dependencies = {
    filesystems: await Collection.open(connection, {
      bucket: 'filesystems',
      schema: FilesystemRecord,
      version: 1,
    }),
    sealer,
    stores,
    usesOf: (fileSystemId: string) => call(connection, migrationsInternal.uses, { fileSystemId }),
    log,
  }
  return {
    handlers: filesystemHandlers(dependencies),
    internalHandlers: filesystemInternalHandlers(dependencies),
    stop: () => stores.close(),
  }
}
