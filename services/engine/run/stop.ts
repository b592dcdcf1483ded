/** Tells a job to end soon. A thread that works synchronously hears no message, so that the flag is in shared memory. */
export class Stop {
  readonly #flag: Int32Array
  readonly #controller = new AbortController()

  /** @param flag one number in shared memory; not 0 means stop */
  constructor(flag: Int32Array) {
    this.#flag = flag
  }

  /** For the asynchronous work of drivers. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** @param reason what the job ends with */
  abort(reason = new Error('the job was stopped')): void {
    this.#controller.abort(reason)
  }

  /** To be called between files. Throws when the job is to end. */
  check(): void {
    if (Atomics.load(this.#flag, 0) !== 0) this.abort()
    this.signal.throwIfAborted()
  }
}
