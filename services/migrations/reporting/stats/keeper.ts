import { Type } from 'typebox'
import { Collection } from '../../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import type { Log } from '../../../../broker/common/log.ts'
import { every, type Task } from '../../../../broker/tasks/tasks.ts'
import { Count, list, strict } from '../../../../subjects/kit/schemas.ts'
import type { Counts } from '../../../engine/run/counts.ts'
import type { Figures } from '../figures.ts'
import { History } from './history.ts'
import { RollingStats } from './rolling-stats.ts'

/** More than any period has. */
const maxBuckets = 100

const StoredBuckets = strict({
  /** By period. */
  buckets: Type.Record(
    Type.String({ maxLength: 10 }),
    list(
      strict({
        startMs: Count('Milliseconds since 1970'),
        updatedMs: Count('Milliseconds since 1970'),
        counts: Type.Record(Type.String({ maxLength: 40 }), Count('Count')),
      }),
      maxBuckets,
    ),
  ),
})

const id = 'all'

/**
 * Counts what is moved by time, and keeps it: totals of each migration are in its own records anyway, here is what they
 * were and when.
 */
export class StatsKeeper {
  readonly rolling = new RollingStats()
  readonly history: History
  readonly #stored: Collection<typeof StoredBuckets>
  readonly #log: Log
  #figures: Pick<Figures, 'all'> | undefined
  #task: Task | undefined
  #hasChanged = false
  #keeping: Promise<void> = Promise.resolve()
  /** By internal id, as they were sampled last. */
  readonly #sampled = new Map<string, string>()

  private constructor(history: History, stored: Collection<typeof StoredBuckets>, log: Log) {
    this.history = history
    this.#stored = stored
    this.#log = log
  }

  static async open(connection: NatsConnection, log: Log): Promise<StatsKeeper> {
    const [history, stored] = await Promise.all([
      History.open(connection),
      Collection.open(connection, { bucket: 'rolling-stats', schema: StoredBuckets, version: 1 }),
    ])
    const keeper = new StatsKeeper(history, stored, log)
    const before = await stored.get(id)
    if (before !== undefined) keeper.rolling.restore(before.buckets)
    return keeper
  }

  add(counts: Readonly<Counts>): void {
    this.#hasChanged = true
    this.rolling.add(counts)
  }

  /** Keeps what is counted from now on. */
  async start(figures: Pick<Figures, 'all'>): Promise<void> {
    this.#figures = figures
    const all = await figures.all()
    await this.history.keepOnly(new Set(all.map(({ record }) => record.internalId)))
    this.#task = every('stats.keep', () => (this.#keeping = this.#keeping.then(() => this.keep())))
  }

  async stop(): Promise<void> {
    this.#task?.stop()
    await this.#keeping
    if (this.#figures !== undefined) await this.keep()
  }

  /** Forgets the history of a migration that was deleted: after the writes under way, which may know it still. */
  async forget(internalId: string): Promise<void> {
    this.#sampled.delete(internalId)
    const forgotten = this.#keeping.then(() => this.history.forget(internalId))
    this.#keeping = forgotten.catch(() => undefined)
    await forgotten
  }

  /** Writes what has changed. Never rejects: figures are worth no failure. */
  async keep(nowMs = Date.now()): Promise<void> {
    try {
      if (this.#hasChanged) {
        this.#hasChanged = false
        await this.#stored.put(id, { buckets: this.rolling.snapshot() })
      }
      for (const { record, counts } of (await this.#figures?.all()) ?? []) {
        const key = JSON.stringify(counts)
        if (this.#sampled.get(record.internalId) === key) continue
        await this.history.sample(record.internalId, counts, nowMs)
        this.#sampled.set(record.internalId, key)
      }
    } catch (error) {
      this.#log.debug({ err: error }, 'Figures cannot be kept at the moment; retrying.')
    }
  }
}
