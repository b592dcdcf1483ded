import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { part, service } from '../kit/part.ts'
import { type BandwidthDependencies, bandwidthHandlers } from './handlers.ts'
import { Limits } from './limits.ts'
import { idOf, openPolicies, type Place, type Policies } from './policies.ts'

interface LimitNeeds {
  readonly connection: NatsConnection
  readonly journals: RecordJournals
}

/** The limits as they hold at the moment. */
export const bandwidthLimits = part({
  name: 'bandwidth limits',
  tasks: ['bandwidth.timetable'],
  start: async ({ connection, journals }: LimitNeeds) => {
    const policies = await openPolicies(connection, journals)
    const limits = new Limits()
    return {
      gives: {
        policies,
        limits,
        /** Another migration, agent or target of the same name is not to inherit its limit. */
        forgetLimitOf: async (place: Place) => {
          const id = idOf(place)
          if ((await policies.get(id)) !== undefined) await policies.delete(id)
        },
      },
      run: () => limits.start(policies),
      halt: () => limits.stop(),
    }
  },
})

interface BandwidthNeeds {
  readonly policies: Policies
  /** @throws GantryError NOT_FOUND */
  readonly findMigration: (migrationId: string) => Promise<unknown>
  /** @throws GantryError NOT_FOUND */
  readonly place: (fileSystemId: string) => Promise<{ readonly isSource: boolean }>
  readonly requireAgent: BandwidthDependencies['requireAgent']
}

export const bandwidthService = service({
  name: 'bandwidth',
  contracts: { bandwidth },
  start: ({ policies, findMigration, place, requireAgent }: BandwidthNeeds) => ({
    handlers: {
      bandwidth: bandwidthHandlers({
        policies,
        requireMigration: async (migrationId) => {
          await findMigration(migrationId)
        },
        requireTarget: async (fileSystemId) => {
          if ((await place(fileSystemId)).isSource)
            throw new GantryError('NOT_FOUND', `${fileSystemId} is a source; there is no target of that name`)
        },
        requireAgent,
      }),
    },
  }),
})
