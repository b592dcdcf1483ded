import { setImmediate as nextTurn } from 'node:timers/promises'

/** Longest work in one turn of the event loop: less than a call of an extension takes anyway. */
const defaultSliceMs = 4

/**
 * Long work in the thread that answers everybody: one after the other, and a little in each turn of the event loop, however
 * many ask for it.
 */
export class TimeSlicer {
  readonly #sliceMs: number
  #beganMs = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(sliceMs = defaultSliceMs) {
    this.#sliceMs = sliceMs
  }

  /** @param work yields where it can be left for a while */
  run<T>(work: Generator<void, T>): Promise<T> {
    const done = this.#last.then(() => this.#do(work))
    this.#last = done.catch(() => undefined)
    return done
  }

  async #do<T>(work: Generator<void, T>): Promise<T> {
    for (;;) {
      const { done, value } = work.next()
      if (done === true) return value
      if (performance.now() - this.#beganMs >= this.#sliceMs) {
        await nextTurn()
        this.#beganMs = performance.now()
      }
    }
  }
}
