import { type Static, Type } from 'typebox'
import { Collection } from '../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { Count } from '../../../subjects/kit/schemas.ts'
import { add, type Counts, noCounts } from '../../engine/run/counts.ts'

/** What one worker has done for one migration. */
const WorkerProgress = Type.Object(
  {
    /** Work id of the migration's generation. */
    migration: Type.String({ minLength: 36, maxLength: 60 }),
    worker: Type.String({ maxLength: 40 }),
    counts: Type.Record(Type.String(), Count('Count')),
    /** Sequences of items that the counts include, and whose acknowledgement may not be stored yet. */
    counted: Type.Array(Count('Sequence of an item in its queue')),
    /** Items that were done before the item that made them was, by the sequence of that: it may make them again. */
    early: Type.Record(Type.String(), Type.Array(Type.String({ maxLength: 64 }))),
    /** Items that the counts include; negative in a correction. Releases before did not count them. */
    done: Type.Optional(Type.Integer()),
    /** The sum of the sequences of those (`addSums`). */
    sum: Type.Optional(Count('Sum')),
    /** Items up to this sequence were published before the counts were stored. */
    published: Type.Optional(Count('Sequence of an item in its queue')),
  },
  { additionalProperties: false },
)
export type WorkerProgress = Static<typeof WorkerProgress>

/** The progress of all migrations that are not completed, by worker. */
export class Progress {
  readonly #workers: Collection<typeof WorkerProgress>
  /** By migration; what is not there has not changed since this process began. */
  readonly #changes = new Map<string, number>()

  private constructor(workers: Collection<typeof WorkerProgress>) {
    this.#workers = workers
  }

  static async open(connection: NatsConnection): Promise<Progress> {
    return new Progress(
      await Collection.open(connection, { bucket: 'progress', schema: WorkerProgress, version: 1 }),
    )
  }

  /** Sum over all workers, by migration. */
  async totals(): Promise<Map<string, Counts>> {
    const sums = new Map<string, Counts>()
    for (const { migration, counts } of await this.#all()) {
      sums.set(migration, add(sums.get(migration) ?? noCounts(), { ...noCounts(), ...counts }))
    }
    return sums
  }

  async store(value: WorkerProgress): Promise<void> {
    await this.#workers.put(keyOf(value), value)
    this.#changes.set(value.migration, this.changes(value.migration) + 1)
  }

  /** How often that of a migration was stored: another number when it is another. Nothing is asked for it. */
  changes(migration: string): number {
    return this.#changes.get(migration) ?? 0
  }

  /** What each worker has done for a migration. */
  async of(migration: string): Promise<WorkerProgress[]> {
    const all = await this.#all()
    return all.filter((one) => one.migration === migration)
  }

  /** Forgets the migrations for which `gone` says so. */
  async forget(gone: (migration: string) => boolean): Promise<void> {
    for (const one of await this.#all()) {
      if (!gone(one.migration)) continue
      await this.#workers.erase(keyOf(one))
      this.#changes.delete(one.migration)
    }
  }

  #all(): Promise<WorkerProgress[]> {
    return this.#workers.all()
  }
}

const keyOf = ({ migration, worker }: Pick<WorkerProgress, 'migration' | 'worker'>) =>
  `${migration}.${worker}`
