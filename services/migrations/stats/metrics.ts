import type { Collection } from '../../../broker/collection.ts'
import type { Counter, MetricRegistry } from '../../../subjects/metric-registry.ts'
import { migrationStates } from '../../../subjects/migration-model.ts'
import type { Counts } from '../engine/counts.ts'
import type { MigrationRecord } from '../record.ts'

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

/** All records are read for it. */
const intervalMs = 60_000

/** Figures of the engine for whoever watches the whole platform. */
export class MigrationMetrics {
  readonly #counters: readonly { readonly count: keyof Counts; readonly counter: Counter }[]
  readonly #states: ReadonlyMap<string, { set(value: number): void }>
  #timer: NodeJS.Timeout | undefined

  constructor(registry: MetricRegistry) {
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

  async start(records: Pick<Collection<typeof MigrationRecord>, 'list'>): Promise<void> {
    const look = async () => {
      const all = await records.list({ limit: Infinity })
      for (const [state, gauge] of this.#states) gauge.set(all.filter((one) => one.state === state).length)
    }
    await look()
    // The broker may be away; then the figures are those of before.
    this.#timer = setInterval(() => void look().catch(() => undefined), intervalMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
