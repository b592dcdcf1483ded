import type { Collection } from '../../broker/state/collection.ts'
import type { Log } from '../../broker/common/log.ts'
import type { Owners } from '../../broker/rpc/owners.ts'
import type { Sealer } from '../../broker/identity/seal.ts'
import type { FilesystemRecord } from './record.ts'
import type { ReportedChanges } from './reported-changes.ts'
import type { Stores } from './stores.ts'
import type { Place } from './while-unused.ts'

export interface FilesystemDependencies {
  readonly owners: Owners
  readonly filesystems: Collection<typeof FilesystemRecord>
  readonly sealer: Sealer
  readonly stores: Stores
  readonly reported: ReportedChanges
  /** Tells readers that there is more in what was reported. */
  readonly tellReported: (fileSystemId: string) => void
  /** Names of the migrations that need a filesystem. */
  readonly usesOf: (fileSystemId: string) => Promise<string[]>
  /** Does work at a place while no migration works there. @throws PlaceInUse */
  readonly whileUnused: <T>(place: Place, work: (signal: AbortSignal) => Promise<T>) => Promise<T>
  /** Forgets what other services keep of a target. */
  readonly forgetTarget: (fileSystemId: string) => Promise<void>
  readonly log: Log
}
