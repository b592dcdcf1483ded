import { GantryError } from '../../subjects/kit/errors.ts'

type GiveUp = (error: GantryError) => void

/** Calls that extensions are working on, which are given up when nobody is left who could answer. */
export class UnderWay {
  readonly #calls = new Map<string, Set<GiveUp>>()
  readonly #lost: () => Promise<readonly { readonly prefix: string }[]>
  #isAsking = false
  #isStale = false

  /** @param lost the extensions that are gone without a goodbye, at the moment */
  constructor(lost: () => Promise<readonly { readonly prefix: string }[]>) {
    this.#lost = lost
  }

  /** The answer, when it comes. @throws GantryError UNAVAILABLE when the extension was lost before */
  async answerOf<T>(prefix: string, answer: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>()
    const calls = this.#calls.get(prefix) ?? new Set()
    this.#calls.set(prefix, calls.add(reject))
    try {
      return await Promise.race([answer, promise])
    } finally {
      calls.delete(reject)
      if (calls.size === 0) this.#calls.delete(prefix)
    }
  }

  /** Looks whether somebody waits in vain, after a change of an extension. */
  look(prefix: string): void {
    if (!this.#calls.has(prefix)) return
    this.#isStale = true
    if (!this.#isAsking) void this.#ask()
  }

  /** Once for all changes that come meanwhile. Where it cannot be learnt, callers wait for the limit of the call. */
  async #ask(): Promise<void> {
    this.#isAsking = true
    while (this.#isStale) {
      this.#isStale = false
      for (const { prefix } of await this.#lost().catch(() => [])) {
        for (const giveUp of this.#calls.get(prefix) ?? [])
          giveUp(
            new GantryError(
              'UNAVAILABLE',
              `the extension ${prefix} disconnected before it answered; try again`,
            ),
          )
      }
    }
    this.#isAsking = false
  }
}
