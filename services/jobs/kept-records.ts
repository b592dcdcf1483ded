import type { Emission } from '../../broker/state/events.ts'
import type { JobRecord } from './job-record.ts'
import type { JobRecords } from './walk-jobs.ts'

/** What of a collection is used to keep them. */
export interface StoredRecords<R extends JobRecord> extends JobRecords<R> {
  create(id: string, record: R): Promise<void>
}

/**
 * The records of a sort of jobs, which nobody else may write: all are read once, and are in memory from then on. What is
 * written is there before the writer hears of it.
 */
export class KeptRecords<R extends JobRecord> implements StoredRecords<R> {
  readonly #stored: StoredRecords<R>
  #known: Promise<Map<string, R>> | undefined
  #turn: Promise<unknown> = Promise.resolve()

  constructor(stored: StoredRecords<R>) {
    this.#stored = stored
  }

  get(id: string): Promise<R | undefined> {
    return this.#stored.get(id)
  }

  async all(): Promise<R[]> {
    return [...(await this.#all()).values()]
  }

  create(id: string, record: R): Promise<void> {
    return this.#write(async (known) => {
      await this.#stored.create(id, record)
      known.set(id, record)
    })
  }

  update(
    id: string,
    change: (current: R) => R | undefined,
    emit?: (next: R) => readonly Emission[],
  ): Promise<R> {
    return this.#write(async (known) => {
      const next = await this.#stored.update(id, change, emit)
      known.set(id, next)
      return next
    })
  }

  delete(id: string, allowed?: (current: R) => void): Promise<R> {
    return this.#write(async (known) => {
      const last = await this.#stored.delete(id, allowed)
      known.delete(id)
      return last
    })
  }

  #all(): Promise<Map<string, R>> {
    this.#known ??= this.#stored.all().then(
      (all) => new Map(all.map((record) => [record.id, record])),
      (error: unknown) => {
        this.#known = undefined
        throw error
      },
    )
    return this.#known
  }

  /** One after the other: of two at once nobody knows which is heard of last. */
  #write<T>(write: (known: Map<string, R>) => Promise<T>): Promise<T> {
    const written = this.#turn.then(async () => {
      const known = await this.#all()
      try {
        return await write(known)
      } catch (error) {
        // It may be stored all the same.
        this.#known = undefined
        throw error
      }
    })
    this.#turn = written.catch(() => undefined)
    return written
  }
}
