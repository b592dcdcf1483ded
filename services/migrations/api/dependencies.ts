import type { Condition } from '../../../subjects/migrations/model/conditions.ts'
import type { CleanupRecord } from '../jobs/cleanups/record.ts'
import type { ChangesView } from '../live/following.ts'
import type { InFlightProgress } from '../progress/in-flight-progress.ts'
import type { MappingDependencies } from '../rules/mappings/handlers.ts'
import type { RuleDependencies } from '../rules/explain.ts'
import type { Plans } from '../jobs/plans/plans.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import type { SourceIs } from '../lifecycle/source-identity.ts'
import type { RollingStats } from '../reporting/stats/rolling-stats.ts'
import type { Forgotten } from '../../jobs/forget-jobs.ts'
import type { WorkStores } from '../progress/work.ts'

/** What the handlers of migrations work with. */
export interface MigrationDependencies extends RuleDependencies, MappingDependencies, WorkStores {
  readonly stats: RollingStats
  readonly inFlight: Pick<InFlightProgress, 'of'>
  /** What the source of a migration is now; undefined for one that is no folder of this host. @throws GantryError */
  readonly sourceNow: (
    record: MigrationRecord,
  ) => Promise<{ readonly is: SourceIs; readonly isOther: boolean }>
  /** How a live migration follows its source, or how long nobody has. */
  readonly changesOf: (record: MigrationRecord) => ChangesView | undefined
  /** Why a migration does not move, and what of it did not arrive. */
  readonly conditionsOf: (record: MigrationRecord, failed: number) => Condition[]
  /** Gives migrations their turn; resolves when that is done. */
  readonly look: () => Promise<void>
  /** Forgets the limit of a migration, if it has one. */
  readonly forgetLimit: (migrationId: string) => Promise<void>
  /** The same of a target. */
  readonly forgetTargetLimit: (fileSystemId: string) => Promise<void>
  /** Forgets what a migration had done when. */
  readonly forgetHistory: (internalId: string) => Promise<void>
  /** Removes from its target what writers that died had under construction for a migration. */
  readonly removeLeftovers: (record: MigrationRecord) => Promise<void>
  /** Forgets the verifications or cleanups of a migration with their reports. */
  readonly forgetVerifications: (internalId: string) => Promise<Forgotten>
  readonly forgetCleanups: (internalId: string) => Promise<Forgotten>
  /** The cleanups of all sources; they are in memory. */
  readonly allCleanups: () => Promise<readonly CleanupRecord[]>
  readonly plans: Pick<Plans, 'handlers'>
}
