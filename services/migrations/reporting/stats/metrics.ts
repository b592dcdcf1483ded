import type { Collection } from '../../../../broker/state/collection.ts'
import { every, type Task } from '../../../../broker/tasks/tasks.ts'
import type { Counter, Gauge, MetricRegistry } from '../../../../subjects/observability/metric-registry.ts'
import { migrationStates } from '../../../../subjects/migrations/model/model.ts'
import type { WorkState } from '../../progress/conditions.ts'
import type { Counts } from '../../../engine/run/counts.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'

/** What is counted of all migrations together; what each has done is among its own figures. */
const counted = [
  ['filesScanned', 'migrations.files.scanned.total', 'Files found'],
  ['filesMigrated', 'migrations.files.migrated.total', 'Files that arrived'],
  ['bytesMigrated', 'migrations.bytes.migrated.total', 'Bytes of files that arrived'],
  ['foldersMigrated', 'migrations.folders.migrated.total', 'Folders that arrived'],
  ['filesSkipped', 'migrations.files.skipped.total', 'Files that were at the target already'],
  ['filesExcluded', 'migrations.files.excluded.total', 'Files that rules left out'],
  ['filesRemoved', 'migrations.files.removed.total', 'Files that were taken away at the target'],
  ['failures', 'migrations.failures.total', 'Files and folders that were given up'],
] as const satisfies readonly (readonly [keyof Counts, string, string])[]

/** Figures of the engine for whoever watches the whole platform. */
export class MigrationMetrics {
  readonly #counters: readonly { readonly count: keyof Counts; readonly counter: Counter }[]
  readonly #states: ReadonlyMap<string, { set(value: number): void }>
  readonly #registry: MetricRegistry
  /** Those that were set last. */
  readonly #lags = new Set<Gauge>()
  #tasks: readonly Task[] = []

  constructor(registry: MetricRegistry) {
    this.#registry = registry
    this.#counters = counted.map(([count, name, help]) => ({
      count,
      counter: registry.counter(name, { help }),
    }))
    const help = 'Migrations, by state'
    this.#states = new Map(
      migrationStates.map((state) => [
        state,
        registry.gauge('migrations.count', { help, labels: { state } }),
      ]),
    )
  }

  add(counts: Readonly<Counts>): void {
    for (const { count, counter } of this.#counters) if (counts[count] > 0) counter.add(counts[count])
  }

  /** @param works how the work on each migration goes */
  async start(
    records: Pick<Collection<typeof MigrationRecord>, 'all'>,
    works: () => readonly Pick<WorkState, 'record' | 'changes'>[],
  ): Promise<void> {
    const count = async () => {
      const all = await records.all()
      for (const [state, gauge] of this.#states) gauge.set(all.filter((one) => one.state === state).length)
    }
    await count()
    this.#tasks = [
      // The broker may be away; then the figures are those of before.
      every('migrations.count', () => count().catch(() => undefined)),
      every('migrations.lag', () => this.measureLag(works())),
    ]
  }

  /** Of live migrations, also of those that were left; others have no lag. */
  measureLag(works: readonly Pick<WorkState, 'record' | 'changes'>[]): void {
    for (const gauge of this.#lags) gauge.unset()
    this.#lags.clear()
    for (const { record, changes } of works) {
      if (changes === undefined) continue
      const labels = { migration: record.migrationId }
      const set = (name: string, help: string, value: number) => {
        const gauge = this.#registry.gauge(name, { help, labels })
        gauge.set(value)
        this.#lags.add(gauge)
      }
      const { lagSeconds, unscheduled, scheduled } = changes
      set('migrations.lag.seconds', 'Age of the oldest change that is not at the target yet', lagSeconds)
      set('migrations.lag.changes', 'Changes that are not at the target yet', unscheduled + scheduled)
    }
  }

  stop(): void {
    for (const task of this.#tasks) task.stop()
  }
}
