import type { ClockOffset } from '../contract/driver.ts'

/** Amazon and Azure refuse what is signed for a time further from theirs; nobody is known to take less. */
const allowedOffsetMs = 15 * 60_000

/** Stores tell times in whole seconds. */
const secondMs = 1_000

/**
 * How much the clock of a store is ahead of this host's, as the dates of its answers tell: its times are of its own clock,
 * and are compared with this host's. Each answer leaves room for a second and the time that it took; several narrow it.
 */
export class StoreClock {
  #leastMs = Number.NEGATIVE_INFINITY
  #mostMs = Number.POSITIVE_INFINITY

  /** @param date an HTTP date: when the store made an answer, between the two moments of this host's clock */
  told(date: string, askedMs: number, answeredMs: number): void {
    const storeMs = Date.parse(date)
    if (Number.isNaN(storeMs)) return
    const [leastMs, mostMs] = [storeMs - answeredMs, storeMs + secondMs - askedMs]
    this.#leastMs = Math.max(this.#leastMs, leastMs)
    this.#mostMs = Math.min(this.#mostMs, mostMs)
    // One of the clocks was set.
    if (this.#leastMs > this.#mostMs) [this.#leastMs, this.#mostMs] = [leastMs, mostMs]
  }

  /** What is sure of it, for people; undefined as long as no answer told. */
  get offset(): ClockOffset | undefined {
    if (!Number.isFinite(this.#leastMs)) return undefined
    const aheadMs = Math.max(this.#leastMs, Math.min(0, this.#mostMs))
    return { aheadMs, allowedMs: allowedOffsetMs }
  }

  /**
   * Milliseconds in whole seconds; 0 as long as the clocks may be the same. Below 0: the store's is behind. As much as it
   * may be: what came shortly after a moment then seems to have come before it, never the other way round.
   */
  get aheadMs(): number {
    if (this.#leastMs <= 0 && this.#mostMs >= 0) return 0
    return Math.floor(this.#mostMs / secondMs) * secondMs
  }
}
