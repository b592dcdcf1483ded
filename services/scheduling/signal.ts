/** Lets a loop wait until something may have happened. */
export class Signal {
  #woken = Promise.withResolvers<void>()

  /** Ends the wait that is under way. */
  wake(): void {
    this.#woken.resolve()
  }

  /** Until `wake` is called, at most so long; not at all once the signal has aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    this.#woken = Promise.withResolvers<void>()
    const timer = setTimeout(this.#woken.resolve, ms)
    if (signal.aborted) this.wake()
    await this.#woken.promise
    clearTimeout(timer)
  }
}
