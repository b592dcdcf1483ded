/**
 * What is written when a job is stopped gets so long to be done: a request to a store that answers takes less, but for a
 * part over a slow line, which is written once more. People wait for the end, and so does whoever stops the platform.
 */
export const writeGraceMs = 5_000

/** Tells a job to end soon. A thread that works synchronously hears no message, so that the flag is in shared memory. */
export class Stop {
  readonly #flag: Int32Array
  readonly #graceMs: number
  readonly #controller = new AbortController()
  readonly #late = new AbortController()
  #timer: NodeJS.Timeout | undefined

  /**
   * @param flag one number in shared memory; not 0 means stop
   * @param graceMs how long what is written may go on then; default: not at all
   */
  constructor(flag: Int32Array, graceMs = 0) {
    this.#flag = flag
    this.#graceMs = graceMs
  }

  /** For what the job only reads. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** For all else that it asks of stores: it aborts when the grace is over. */
  get lateSignal(): AbortSignal {
    return this.#late.signal
  }

  /** @param reason what the job ends with */
  abort(reason = new Error('the job was stopped')): void {
    this.#controller.abort(reason)
    this.#timer ??= setTimeout(() => this.#late.abort(this.signal.reason), this.#graceMs)
  }

  /** The job has ended. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }

  /** To be called between files. Throws when the job is to end. */
  check(): void {
    if (Atomics.load(this.#flag, 0) !== 0) this.abort()
    this.signal.throwIfAborted()
  }
}
