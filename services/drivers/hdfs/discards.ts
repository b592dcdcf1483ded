import { setTimeout as delay } from 'node:timers/promises'
import { StoreError, type StorePath } from '../contract/driver.ts'

type Remove = (path: StorePath, what: () => string) => Promise<unknown>

/** Before each further try to remove something while the cluster is away: three quarters of an hour in all. */
const waitsMs = [1_000, 4_000, 16_000, ...Array.from({ length: 44 }, () => 60_000)]
/** Of what a request left that got no answer: the cluster may still be working on it at the first. */
const triesAfterSilence = 2
/** An outage leaves no more than what was under way: what is beyond that is found by a sweep. */
const maxWaiting = 1_000

/** Removes what is given up, if need be when the cluster is back: whoever wrote it lives, so that no sweep takes it for a leftover. */
export class Discards {
  readonly #remove: Remove
  readonly #end = new AbortController()
  #waiting = 0

  constructor(remove: Remove) {
    this.#remove = remove
  }

  /**
   * Tries once, and goes on in the background where that fails. Never rejects.
   * @param cause why it is given up; undefined when nobody writes to it any more
   */
  async discard(path: StorePath, what: () => string, cause?: unknown): Promise<void> {
    const isSilent = cause instanceof StoreError && cause.failure === 'unreachable'
    const missing = (isSilent ? triesAfterSilence : 1) - ((await this.#isRemoved(path, what)) ? 1 : 0)
    if (missing > 0 && this.#waiting < maxWaiting) void this.#later(path, what, missing)
  }

  async #later(path: StorePath, what: () => string, times: number): Promise<void> {
    this.#waiting++
    let missing = times
    try {
      for (const waitMs of waitsMs) {
        await delay(waitMs, undefined, { signal: this.#end.signal, ref: false })
        if ((await this.#isRemoved(path, what)) && --missing === 0) return
      }
    } catch {
      // The driver was closed.
    } finally {
      this.#waiting--
    }
  }

  #isRemoved(path: StorePath, what: () => string): Promise<boolean> {
    return this.#remove(path, what).then(
      () => true,
      () => false,
    )
  }

  close(): void {
    this.#end.abort()
  }
}
