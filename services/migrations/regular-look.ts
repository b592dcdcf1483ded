/** However fast things move, whoever follows them hears so often. */
const lookEveryMs = 1_000

/** Looks once a second at what moves, never twice at a time. */
export class RegularLook {
  readonly #look: () => Promise<void>
  readonly #failed: (error: unknown) => void
  #looking: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  /** @param failed hears why a look failed; the next one comes all the same */
  constructor(look: () => Promise<void>, failed: (error: unknown) => void) {
    this.#look = look
    this.#failed = failed
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), lookEveryMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }

  /** Looks now; resolves when the look that is under way is over, if there is one. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch(this.#failed)
      .finally(() => (this.#looking = undefined))
    return this.#looking
  }
}
