import type { Log } from '../../../../broker/common/log.ts'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import type { Collection } from '../../../../broker/state/collection.ts'
import { diagnostics } from '../../../../subjects/migrations/diagnostics.ts'
import { stats } from '../../../../subjects/migrations/stats.ts'
import type { MetricRegistry } from '../../../../subjects/observability/metric-registry.ts'
import type { Counts } from '../../../engine/run/counts.ts'
import { part, service } from '../../../kit/part.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'
import type { WorkState } from '../../progress/conditions.ts'
import { InFlightProgress } from '../../progress/in-flight-progress.ts'
import type { Figures } from '../figures.ts'
import { diagnosticsHandlers } from './diagnostics.ts'
import { statsHandlers } from './handlers.ts'
import { StatsKeeper } from './keeper.ts'
import { MigrationMetrics } from './metrics.ts'

interface CountingNeeds {
  readonly connection: NatsConnection
  readonly metrics: MetricRegistry
  readonly log: Log
}

/** Counts what workers do. It ends after them. */
export const counting = part({
  name: 'counting',
  tasks: ['stats.keep', 'migrations.count', 'migrations.lag'],
  start: async ({ connection, metrics, log }: CountingNeeds) => {
    const statsKeeper = await StatsKeeper.open(connection, log)
    const migrationMetrics = new MigrationMetrics(metrics)
    return {
      gives: {
        statsKeeper,
        migrationMetrics,
        onCount: (counts: Readonly<Counts>) => {
          statsKeeper.add(counts)
          migrationMetrics.add(counts)
        },
        inFlight: new InFlightProgress((moved) => statsKeeper.rolling.addMoved(moved)),
      },
      halt: async () => {
        migrationMetrics.stop()
        await statsKeeper.stop()
      },
    }
  },
})

interface StatsNeeds {
  readonly connection: NatsConnection
  readonly records: Collection<typeof MigrationRecord>
  readonly figures: Figures
  readonly statsKeeper: StatsKeeper
  readonly migrationMetrics: MigrationMetrics
  readonly workStates: () => readonly WorkState[]
  readonly threads: number
}

/** Answers what was counted, and keeps it from then on. */
export const statsService = service({
  name: 'stats',
  contracts: { stats, diagnostics },
  start: ({
    connection,
    records,
    figures,
    statsKeeper,
    migrationMetrics,
    workStates,
    threads,
  }: StatsNeeds) => ({
    handlers: {
      stats: statsHandlers(figures, statsKeeper),
      diagnostics: diagnosticsHandlers({ connection, figures, rolling: statsKeeper.rolling, threads }),
    },
    run: async () => {
      await statsKeeper.start(figures)
      await migrationMetrics.start(records, workStates)
    },
  }),
})
