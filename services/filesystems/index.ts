import { call } from '../../broker/rpc/client.ts'
import { Collection } from '../../broker/state/collection.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Log } from '../../broker/common/log.ts'
import { emission, type Events } from '../../broker/state/events.ts'
import { Owners } from '../../broker/rpc/owners.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import type { Sealer } from '../../broker/identity/seal.ts'
import { filesystemEvents, filesystems } from '../../subjects/filesystems/filesystems.ts'
import { filesystemsInternal } from '../../subjects/filesystems/internal.ts'
import { migrationsInternal } from '../../subjects/migrations/internal.ts'
import type { StoreBounds } from '../drivers/contract/bounds.ts'
import { service } from '../kit/part.ts'
import type { FilesystemDependencies } from './dependencies.ts'
import { filesystemHandlers, filesystemInternalHandlers } from './handlers.ts'
import { FilesystemRecord } from './record.ts'
import { ReportedChanges } from './reported-changes.ts'
import { Stores } from './stores.ts'
import { type Place, whileUnused } from './while-unused.ts'

export interface FilesystemsNeeds {
  readonly journals: RecordJournals
  readonly connection: NatsConnection
  readonly events: Events
  readonly maxFileBytes: number
  readonly sealer: Sealer
  /** Where filesystems may be. */
  readonly bounds: StoreBounds
  /** Modules with more kinds of filesystems. */
  readonly kinds: readonly string[]
  readonly log: Log
}

/** Filesystems: where stores are, and how they are reached. */
export const filesystemsService = service({
  name: 'filesystems',
  contracts: { filesystems, filesystemsInternal },
  start: async ({
    connection,
    events,
    maxFileBytes,
    journals,
    sealer,
    bounds,
    kinds,
    log,
  }: FilesystemsNeeds) => {
    const stores = new Stores({ bounds, kinds })
    const workingAt = (place: Place) => call(connection, migrationsInternal['working-at'], place)
    const dependencies: FilesystemDependencies = {
      filesystems: await Collection.open(connection, {
        bucket: 'filesystems',
        schema: FilesystemRecord,
        version: 1,
        groupOf: ({ owner }) => owner,
        journals,
      }),
      reported: await ReportedChanges.open(connection, maxFileBytes),
      tellReported: (fileSystemId) =>
        events.publishEphemeral(
          emission(filesystemEvents['changes-reported'], fileSystemId, { fileSystemId }),
        ),
      owners: new Owners(connection),
      sealer,
      stores,
      usesOf: (fileSystemId) => call(connection, migrationsInternal.uses, { fileSystemId }),
      whileUnused: (place, work) => whileUnused({ connection, workingAt }, place, work),
      forgetTarget: async (fileSystemId) => {
        await call(connection, migrationsInternal['forget-target'], { fileSystemId })
      },
      log,
    }
    return {
      handlers: {
        filesystems: filesystemHandlers(dependencies),
        filesystemsInternal: filesystemInternalHandlers(dependencies),
      },
      halt: () => stores.close(),
    }
  },
})
