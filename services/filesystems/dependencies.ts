import type { Collection } from '../../broker/collection.ts'
import type { Log } from '../../broker/log.ts'
import type { Sealer } from '../../broker/seal.ts'
import type { FilesystemRecord } from './record.ts'
import type { Stores } from './stores.ts'

export interface FilesystemDependencies {
  readonly filesystems: Collection<typeof FilesystemRecord>
  readonly sealer: Sealer
  readonly stores: Stores
  /** Names of the migrations that need a filesystem. */
  readonly usesOf: (fileSystemId: string) => Promise<string[]>
  readonly log: Log
}
