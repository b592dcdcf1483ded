/**
 * Reads for all who ask at the same time: one reading is under way, and who asks meanwhile shares the one after it. So
 * nobody gets what was read before it asked, and what reading costs does not grow with the number of those who ask.
 */
export class SharedReading<T> {
  readonly #read: () => Promise<T>
  #current: Promise<unknown> | undefined
  #next: Promise<T> | undefined

  /** @param read what it resolves to nobody may change */
  constructor(read: () => Promise<T>) {
    this.#read = read
  }

  read(): Promise<T> {
    if (this.#current === undefined) return this.#begin()
    this.#next ??= this.#current.then(() => {
      this.#next = undefined
      return this.#begin()
    })
    return this.#next
  }

  #begin(): Promise<T> {
    const reading = this.#read()
    const ended = reading.then(
      () => undefined,
      () => undefined,
    )
    this.#current = ended
    void ended.then(() => {
      // One that waited for this one may have begun.
      if (this.#current === ended) this.#current = undefined
    })
    return reading
  }
}
