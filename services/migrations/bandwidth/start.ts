import type { Collection } from '../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import type { PlaceDependencies } from '../places/places.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { type BandwidthDependencies, bandwidthHandlers } from './handlers.ts'
import { Limits } from './limits.ts'
import { idOf, openPolicies, type Place } from './policies.ts'

export interface BandwidthOptions {
  readonly connection: NatsConnection
  readonly journals: RecordJournals
  readonly records: Pick<Collection<typeof MigrationRecord>, 'get'>
  readonly place: PlaceDependencies['place']
  readonly requireAgent: BandwidthDependencies['requireAgent']
}

/** Opens the limits and makes their handlers; `run` sets them, and follows their changes. */
export async function startBandwidth({
  connection,
  journals,
  records,
  place,
  requireAgent,
}: BandwidthOptions) {
  const policies = await openPolicies(connection, journals)
  const limits = new Limits()
  return {
    limits,
    handlers: bandwidthHandlers({
      policies,
      requireMigration: async (migrationId) => {
        if ((await records.get(migrationId)) === undefined)
          throw new GantryError('NOT_FOUND', `there is no migration ${migrationId}`)
      },
      requireTarget: async (fileSystemId) => {
        if ((await place(fileSystemId)).isSource)
          throw new GantryError('NOT_FOUND', `${fileSystemId} is a source; there is no target of that name`)
      },
      requireAgent,
    }),
    /** Another migration or agent of the same name is not to inherit its limit. */
    forget: async (place: Place) => {
      const id = idOf(place)
      if ((await policies.get(id)) !== undefined) await policies.delete(id)
    },
    run: () => limits.start(policies),
    stop: () => limits.stop(),
  }
}
