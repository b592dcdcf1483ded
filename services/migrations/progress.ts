import { type Static, Type } from 'typebox'
import { Collection } from '../../broker/collection.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import { Count } from '../../subjects/schemas.ts'
import { add, type Counts, noCounts } from './engine/counts.ts'

/** What one worker has done for one migration, and which items that includes whose ack may not be stored yet. */
const WorkerProgress = Type.Object(
  {
    migration: Type.String({ minLength: 36, maxLength: 36 }),
    worker: Type.String({ maxLength: 40 }),
    counts: Type.Record(Type.String(), Count('Count')),
    counted: Type.Array(Count('Sequence of an item in its queue')),
  },
  { additionalProperties: false },
)
type WorkerProgress = Static<typeof WorkerProgress>

/** Adds what an item brought to figures that are kept in memory. */
export type CountListener = (counts: Readonly<Counts>) => void

/** The progress of all migrations that are not completed, by worker. */
export class Progress {
  readonly #workers: Collection<typeof WorkerProgress>

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
  }

  /** Whether some worker has counted an item of a migration. */
  async includes(migration: string, sequence: number): Promise<boolean> {
    const all = await this.#all()
    return all.some((one) => one.migration === migration && one.counted.includes(sequence))
  }

  /** Forgets the migrations for which `gone` says so. */
  async forget(gone: (migration: string) => boolean): Promise<void> {
    for (const one of await this.#all()) {
      if (gone(one.migration)) await this.#workers.delete(keyOf(one))
    }
  }

  #all(): Promise<WorkerProgress[]> {
    return this.#workers.list({ limit: Number.POSITIVE_INFINITY })
  }
}

const keyOf = ({ migration, worker }: Pick<WorkerProgress, 'migration' | 'worker'>) =>
  `${migration}.${worker}`

/**
 * Counts each item once, whatever dies: a worker's totals are stored, with the sequences of the items that they include,
 * before those are acked. An item that comes again is looked up there and not counted a second time.
 */
export class WorkerBook {
  readonly #progress: Progress
  readonly #migration: string
  readonly #worker: string
  readonly #onCount: CountListener
  readonly #counts = noCounts()
  /** Counted, and not known to be acked: no more than the queue hands out at once. */
  readonly #counted = new Set<number>()
  #waiting: { resolve: () => void; reject: (error: unknown) => void }[] = []
  #storing = false

  /** @param worker unique to this life of this process */
  constructor(progress: Progress, migration: string, worker: string, onCount: CountListener) {
    this.#progress = progress
    this.#migration = migration
    this.#worker = worker
    this.#onCount = onCount
  }

  /** Resolves when the counts are stored; those that come meanwhile are stored together. */
  async count(sequence: number, counts: Counts, redelivered: boolean): Promise<void> {
    const known =
      this.#counted.has(sequence) ||
      (redelivered && (await this.#progress.includes(this.#migration, sequence)))
    if (!known) {
      add(this.#counts, counts)
      this.#counted.add(sequence)
      this.#onCount(counts)
    }
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      if (!this.#storing) void this.#store()
    })
  }

  /** The queue has confirmed that the item is done: it will not come again. */
  acked(sequence: number): void {
    this.#counted.delete(sequence)
  }

  async #store(): Promise<void> {
    this.#storing = true
    while (this.#waiting.length > 0) {
      const group = this.#waiting
      this.#waiting = []
      try {
        await this.#progress.store({
          migration: this.#migration,
          worker: this.#worker,
          counts: { ...this.#counts },
          counted: [...this.#counted],
        })
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#storing = false
  }
}
