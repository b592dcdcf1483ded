/**
 * Batches that a scan may have sent without an answer. The lister is faster than the queue: without a bound, a folder of
 * a million files would be held in memory. With 32 items of 512 names in a batch it is some 130,000 names ahead.
 */
export const maxBatchesUnacknowledged = 8

/** Counts batches that may still be sent. */
export class Credit {
  readonly #signal: AbortSignal
  #left = maxBatchesUnacknowledged
  #wake = Promise.withResolvers<void>()

  /** @param signal ends the wait */
  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', () => this.#wake.resolve(), { once: true })
  }

  /** Sends once that is allowed. Throws the signal's reason. */
  async take(send: () => void): Promise<void> {
    this.#signal.throwIfAborted()
    while (this.#left === 0) {
      await this.#wake.promise
      this.#signal.throwIfAborted()
    }
    this.#left--
    send()
  }

  give(): void {
    this.#left++
    this.#wake.resolve()
    this.#wake = Promise.withResolvers<void>()
  }
}
