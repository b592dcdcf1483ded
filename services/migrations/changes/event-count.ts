/**
 * Nobody tells when the system drops events, as its queue is full. But then all of the queue is read in one turn of this
 * thread's loop: so many events in one turn are the sign. (Half as many, as events of ended watches are not counted.)
 */
export class EventCount {
  readonly #suspect: number
  readonly #onSuspect: () => void
  #count = 0

  /**
   * @param maxQueued events that the system keeps for us
   * @param onSuspect some may have been lost
   */
  constructor(maxQueued: number, onSuspect: () => void) {
    this.#suspect = maxQueued / 2
    this.#onSuspect = onSuspect
  }

  add(): void {
    if (this.#count++ > 0) return
    setImmediate(() => {
      const isSuspect = this.#count >= this.#suspect
      this.#count = 0
      if (isSuspect) this.#onSuspect()
    })
  }
}
