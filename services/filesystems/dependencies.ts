import type { Collection } from '../../broker/state/collection.ts'
import type { Log } from '../../broker/common/log.ts'
import type { Owners } from '../../broker/rpc/owners.ts'
import type { Sealer } from '../../broker/identity/seal.ts'
import type { FilesystemRecord } from './record.ts'
import type { Stores } from './stores.ts'

export interface FilesystemDependencies {
  readonly owners: Owners
  readonly filesystems: Collection<typeof FilesystemRecord>
  readonly sealer: Sealer
  readonly stores: Stores
  /** Names of the migrations that need a filesystem. */
  readonly usesOf: (fileSystemId: string) => Promise<string[]>
  /** Migrations that work at a path of a filesystem, above or below it. */
  readonly workingAt: (fileSystemId: string, path: string) => Promise<string[]>
  /** Forgets what other services keep of a target. */
  readonly forgetTarget: (fileSystemId: string) => Promise<void>
  readonly log: Log
}
