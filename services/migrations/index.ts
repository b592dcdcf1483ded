import type { Log } from '../../broker/common/log.ts'
import type { Sealer } from '../../broker/identity/seal.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { Owners } from '../../broker/rpc/owners.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import type { Events } from '../../broker/state/events.ts'
import type { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import type { StoreBounds } from '../drivers/contract/bounds.ts'
import { Assembly } from '../kit/assembly.ts'
import { part } from '../kit/part.ts'
import { agentService, knownAgents } from './agents/part.ts'
import { migrationService } from './api/part.ts'
import { bandwidthLimits, bandwidthService } from '../bandwidth/part.ts'
import { cleanupService } from './jobs/cleanups/part.ts'
import { verificationService } from './jobs/verifications/part.ts'
import { migrationRecords, scheduling } from './lifecycle/part.ts'
import { places } from './places/part.ts'
import { workStores } from './progress/part.ts'
import { reporting } from './reporting/part.ts'
import { counting, statsService } from './reporting/stats/part.ts'
import { ruleService } from './rules/part.ts'
import { engine, removalGuards, resolving, running } from './execution/part.ts'

export interface MigrationsNeeds {
  readonly journals: RecordJournals
  readonly connection: NatsConnection
  readonly sealer: Sealer
  /** Where filesystems may be. */
  readonly bounds: StoreBounds
  /** Modules with more kinds of filesystems. */
  readonly kinds: readonly string[]
  readonly events: Events
  readonly maxFileBytes: number
  /** Folder for reports; made when there are any. */
  readonly reportsFolder: string
  /** The same for cleanups. */
  readonly cleanupsFolder: string
  readonly metrics: MetricRegistry
  readonly log: Log
}

const owners = part({
  name: 'owners',
  start: ({ connection }: MigrationsNeeds) => ({ gives: { owners: new Owners(connection) } }),
})

/** Migrations with all that belongs to them. Each part ends before those that it uses. */
export const migrationsService = new Assembly<MigrationsNeeds>()
  .add(engine)
  .add(owners)
  .add(migrationRecords)
  .add(workStores)
  .add(places)
  .add(ruleService)
  .add(counting)
  .add(bandwidthLimits)
  .add(knownAgents)
  .add(bandwidthService)
  .add(removalGuards)
  .add(resolving)
  .add(running)
  .add(agentService)
  .add(verificationService)
  .add(cleanupService)
  .add(reporting)
  .add(scheduling)
  .add(statsService)
  .add(migrationService)
  .as('migrations')
