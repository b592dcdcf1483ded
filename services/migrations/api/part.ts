import type { Log } from '../../../broker/common/log.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import type { Mover, MoveSpec } from '../../engine/mover.ts'
import { service } from '../../kit/part.ts'
import { migrationsInternal } from '../../../subjects/migrations/internal.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import type { Place } from '../../bandwidth/policies.ts'
import { Plans } from '../jobs/plans/plans.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import type { RemovalGuards } from '../removals/removal-guards.ts'
import type { StatsKeeper } from '../reporting/stats/keeper.ts'
import { removeLeftovers } from '../execution/clearing.ts'
import { sourceIdentityNow } from '../execution/roots.ts'
import type { MigrationDependencies } from './dependencies.ts'
import { migrationHandlers, migrationInternalHandlers } from './handlers.ts'

/** What the handlers have that is not given as it is. */
type Made =
  'stats' | 'plans' | 'sourceNow' | 'removeLeftovers' | 'forgetLimit' | 'forgetTargetLimit' | 'forgetHistory'

interface MigrationNeeds extends Omit<MigrationDependencies, Made> {
  readonly bounds: StoreBounds
  readonly mover: Mover
  readonly guards: RemovalGuards
  readonly statsKeeper: StatsKeeper
  readonly reportsFolder: string
  readonly findMigration: (migrationId: string) => Promise<MigrationRecord>
  readonly resolve: (record: MigrationRecord) => Promise<MoveSpec>
  readonly forgetLimitOf: (place: Place) => Promise<void>
  readonly log: Log
}

/** Migrations, for those who make, steer and watch them. */
export const migrationService = service({
  name: 'migrations',
  contracts: { migrations, migrationsInternal },
  start: (needs: MigrationNeeds) => {
    const { bounds, statsKeeper, reportsFolder, resolve, forgetLimitOf } = needs
    const plans = new Plans({ ...needs, spillFolder: reportsFolder })
    const dependencies: MigrationDependencies = {
      ...needs,
      plans,
      stats: statsKeeper.rolling,
      sourceNow: async (record) => sourceIdentityNow(await resolve(record), record, bounds),
      removeLeftovers: (record) => removeLeftovers(needs, record),
      forgetLimit: (name) => forgetLimitOf({ scope: 'migration', name }),
      forgetTargetLimit: (name) => forgetLimitOf({ scope: 'target', name }),
      forgetHistory: (internalId) => statsKeeper.forget(internalId),
    }
    return {
      handlers: {
        migrations: migrationHandlers(dependencies),
        migrationsInternal: migrationInternalHandlers(dependencies),
      },
      halt: () => plans.stop(),
    }
  },
})
