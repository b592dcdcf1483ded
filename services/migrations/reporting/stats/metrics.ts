import type { Collection } from '../../../../broker/state/collection.ts'
import { every, type Task } from '../../../../broker/tasks/tasks.ts'
import type { Counter, MetricRegistry } from '../../../../subjects/observability/metric-registry.ts'
import { type MigrationState, migrationStates } from '../../../../subjects/migrations/model/model.ts'
import type { WorkState } from '../../progress/conditions.ts'
import type { Counts } from '../../../engine/run/counts.ts'
import { PassingGauges, StateGauges } from '../../../kit/gauges.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'

/** What is counted of all migrations together; what each has done is among its own figures. */
const counted = [
  ['filesScanned', 'migrations.files.scanned.total', 'Files found'],
  ['filesMigrated', 'migrations.files.migrated.total', 'Files copied'],
  ['bytesMigrated', 'migrations.bytes.migrated.total', 'Bytes of files copied'],
  ['foldersMigrated', 'migrations.folders.migrated.total', 'Folders created'],
  ['filesSkipped', 'migrations.files.skipped.total', 'Files that were already at the target'],
  ['filesExcluded', 'migrations.files.excluded.total', 'Files excluded by rules'],
  ['filesRemoved', 'migrations.files.removed.total', 'Files removed at the target'],
  ['failures', 'migrations.failures.total', 'Files and folders that could not be copied'],
] as const satisfies readonly (readonly [keyof Counts, string, string])[]

/** Figures of the engine for whoever watches the whole platform. */
export class MigrationMetrics {
  readonly #counters: readonly { readonly count: keyof Counts; readonly counter: Counter }[]
  readonly #states: StateGauges<MigrationState>
  readonly #lags: PassingGauges
  #tasks: readonly Task[] = []

  constructor(registry: MetricRegistry) {
    this.#counters = counted.map(([count, name, help]) => ({
      count,
      counter: registry.counter(name, { help }),
    }))
    this.#states = new StateGauges(registry, 'migrations.count', 'Migrations, by state', migrationStates)
    this.#lags = new PassingGauges(registry)
  }

  add(counts: Readonly<Counts>): void {
    for (const { count, counter } of this.#counters) if (counts[count] > 0) counter.add(counts[count])
  }

  /** @param works how the work on each migration goes */
  async start(
    records: Pick<Collection<typeof MigrationRecord>, 'all'>,
    works: () => readonly Pick<WorkState, 'record' | 'changes'>[],
  ): Promise<void> {
    const count = async () => this.#states.set(await records.all())
    await count()
    this.#tasks = [
      // The broker may be away; then the figures are those of before.
      every('migrations.count', () => count().catch(() => undefined)),
      every('migrations.lag', () => this.measureLag(works())),
    ]
  }

  /** Of live migrations, also of those that were left; others have no lag. */
  measureLag(works: readonly Pick<WorkState, 'record' | 'changes'>[]): void {
    this.#lags.set(
      works.flatMap(({ record, changes }) => {
        if (changes === undefined) return []
        const labels = { migration: record.migrationId }
        const { lagSeconds, unscheduled, scheduled } = changes
        return [
          {
            name: 'migrations.lag.seconds',
            help: 'Age of the oldest change that is not at the target yet',
            labels,
            value: lagSeconds,
          },
          {
            name: 'migrations.lag.changes',
            help: 'Changes that are not at the target yet',
            labels,
            value: unscheduled + scheduled,
          },
        ]
      }),
    )
  }

  stop(): void {
    for (const task of this.#tasks) task.stop()
  }
}
