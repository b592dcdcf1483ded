import { abortable } from '../../../broker/common/abortable.ts'
import { beyondJobs, jobSignal } from './job-signal.ts'

/** Something that holds for a time. */
export interface Lease<T> {
  readonly value: T
  /** Milliseconds since 1970; Infinity for ever. */
  readonly untilMs: number
}

/** What is asked for again before it ends. */
export interface Renewable<T> {
  /** The value that holds. Rejects with what asking for it throws. */
  get(): Promise<T>
  /** The next one is asked for anew. Not there where it would be the same. @param value only if it is still this one */
  forget?(value: T): void
}

/** What is about to end is not given out any more: requests take time, and clocks differ. */
const spareMs = 5 * 60_000
/** Whoever gives it may give the same again until it is nearly over, or fail: it is not asked again with each request. */
const pauseMs = 30_000

/**
 * Asks for something that ends, once for all who want it at the same time, and again minutes before its end. When that fails,
 * it goes on with what still holds.
 */
export class Renewed<T> implements Renewable<T> {
  readonly #ask: () => Promise<Lease<T>>
  #lease: Lease<T> | undefined
  #dueMs = 0
  #asked: Promise<T> | undefined

  /** @param ask the next one */
  constructor(ask: () => Promise<Lease<T>>) {
    this.#ask = ask
  }

  get(): Promise<T> {
    const nowMs = Date.now()
    if (this.#lease !== undefined && nowMs < Math.min(this.#dueMs, this.#lease.untilMs))
      return Promise.resolve(this.#lease.value)
    this.#asked ??= beyondJobs(() => this.#renew())
    return abortable(this.#asked, jobSignal())
  }

  forget(value: T): void {
    if (this.#lease?.value === value) this.#lease = undefined
  }

  async #renew(): Promise<T> {
    try {
      const lease = await this.#ask()
      const nowMs = Date.now()
      this.#lease = lease
      this.#dueMs = Math.max(lease.untilMs - spareMs, nowMs + Math.min(pauseMs, (lease.untilMs - nowMs) / 2))
      return lease.value
    } catch (error) {
      const nowMs = Date.now()
      if (this.#lease === undefined || this.#lease.untilMs <= nowMs) throw error
      this.#dueMs = nowMs + pauseMs
      return this.#lease.value
    } finally {
      this.#asked = undefined
    }
  }
}
