import { concurrently } from '../../../broker/common/concurrently.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import {
  type MetadataMigration,
  type MetadataState,
  metadataStates,
} from '../../../subjects/metadata/migrations.ts'
import type { Gauge, MetricRegistry } from '../../../subjects/observability/metric-registry.ts'
import { PassingGauges, StateGauges } from '../../kit/gauges.ts'
import {
  type Figures,
  type MetadataMigrationRecord,
  noFigures,
  type ProgressRecord,
  publicMigration,
} from './record.ts'

const readsAtOnce = 64

const at = (state: string) => ({
  name: 'metadata.objects.count',
  help: 'Objects at the targets of metadata migrations, by kind',
  labels: { kind: state },
})
const not = (state: string) => ({
  name: 'metadata.objects.unsettled.count',
  help: 'Objects of metadata migrations that are missing or outdated at their targets, by state',
  labels: { state },
})

/** Of all migrations together; what each has, it says itself. */
const counted = {
  databases: at('database'),
  tables: at('table'),
  partitions: at('partition'),
  functions: at('function'),
  failed: not('failed'),
  conflicts: not('conflict'),
  waiting: not('waiting'),
  held: not('held'),
} as const satisfies Record<keyof Figures, object>
const countedNames = Object.keys(counted) as (keyof Figures)[]

/** Figures of metadata migrations for whoever watches the whole platform. */
export class MetadataMetrics {
  readonly #states: StateGauges<MetadataState>
  readonly #figures: ReadonlyMap<keyof Figures, Gauge>
  readonly #lags: PassingGauges
  #task: Task | undefined

  constructor(registry: MetricRegistry) {
    this.#states = new StateGauges(
      registry,
      'metadata.migrations.count',
      'Metadata migrations, by state',
      metadataStates,
    )
    this.#figures = new Map(
      countedNames.map((name) => {
        const { name: metric, help, labels } = counted[name]
        return [name, registry.gauge(metric, { help, labels })]
      }),
    )
    this.#lags = new PassingGauges(registry)
  }

  async start(
    records: Pick<Collection<typeof MetadataMigrationRecord>, 'all'>,
    progress: Pick<Collection<typeof ProgressRecord>, 'get'>,
  ): Promise<void> {
    const measure = async () => {
      const all = await records.all()
      const seen: MetadataMigration[] = []
      await concurrently(all, readsAtOnce, async (record) => {
        seen.push(publicMigration(record, await progress.get(record.internalId)))
      })
      this.measure(seen)
    }
    await measure()
    // The broker may be away; then the figures are those of before.
    this.#task = every('metadata.metrics', () => measure().catch(() => undefined))
  }

  measure(migrations: readonly MetadataMigration[]): void {
    this.#states.set(migrations)
    const sums = { ...noFigures }
    for (const migration of migrations) for (const name of countedNames) sums[name] += migration[name]
    for (const [name, gauge] of this.#figures) gauge.set(sums[name])
    this.#lags.set(
      migrations.flatMap(({ migrationName, lagSeconds, lagEvents }) => {
        const labels = { migration: migrationName }
        const seconds = {
          name: 'metadata.migrations.lag.seconds',
          help: 'Age of the oldest metadata change that may not be at the target yet',
          labels,
        }
        const events = {
          name: 'metadata.migrations.lag.events',
          help: 'Events of the source that were not processed yet',
          labels,
        }
        return [
          ...(lagSeconds === undefined ? [] : [{ ...seconds, value: lagSeconds }]),
          ...(lagEvents === undefined ? [] : [{ ...events, value: lagEvents }]),
        ]
      }),
    )
  }

  stop(): void {
    this.#task?.stop()
  }
}
