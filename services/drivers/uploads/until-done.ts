import { setTimeout as delay } from 'node:timers/promises'
import { beyondJobs, cleaningUp } from '../http/job-signal.ts'

/** Before each further try while a store is away: often while an outage is young, and three quarters of an hour in all. */
const defaultWaitsMs = [
  ...[1_000, 2_000, 4_000, 8_000],
  ...Array.from({ length: 8 }, () => 15_000),
  ...Array.from({ length: 43 }, () => 60_000),
]
/** What waits for this to be done goes on after so long: a store that is away longer stops it in other ways. */
const maxSettleMs = 60_000
/** An outage leaves no more than what was under way: what is beyond that is found by a sweep. */
const maxWaiting = 1_000

/**
 * Removes what is given up, if need be when the store is back: whoever wrote it lives, so that no sweep takes it for a leftover.
 */
export class UntilDone {
  readonly #waitsMs: readonly number[]
  readonly #end = new AbortController()
  readonly #waiting = new Set<Promise<void>>()

  /** @param waitsMs before each further try */
  constructor(waitsMs: readonly number[] = defaultWaitsMs) {
    this.#waitsMs = waitsMs
  }

  /**
   * Tries once, and goes on in the background where that fails. Never rejects.
   * @param times how often it is to succeed
   */
  async do(work: () => Promise<unknown>, times = 1): Promise<void> {
    const missing = times - ((await succeeds(() => cleaningUp(work))) ? 1 : 0)
    if (missing === 0 || this.#waiting.size >= maxWaiting) return
    const later = beyondJobs(() => this.#later(work, missing)).finally(() => this.#waiting.delete(later))
    this.#waiting.add(later)
  }

  /**
   * Resolves when all of it is done, or after a minute, and when it is closed.
   * @param signal ends the wait; never rejects
   */
  async settled(signal?: AbortSignal): Promise<void> {
    const end = new AbortController()
    const signals = [end.signal, ...(signal === undefined ? [] : [signal])]
    const timeout = delay(maxSettleMs, undefined, { signal: AbortSignal.any(signals) }).catch(() => undefined)
    await Promise.race([Promise.all(this.#waiting), timeout])
    end.abort()
  }

  async #later(work: () => Promise<unknown>, times: number): Promise<void> {
    let missing = times
    try {
      for (const waitMs of this.#waitsMs) {
        await delay(waitMs, undefined, { signal: this.#end.signal, ref: false })
        if ((await succeeds(work)) && --missing === 0) return
      }
    } catch {
      // It was closed.
    }
  }

  close(): void {
    this.#end.abort()
  }
}

const succeeds = (work: () => Promise<unknown>): Promise<boolean> =>
  work().then(
    () => true,
    () => false,
  )
