import type { Deferral } from '../../../subjects/migrations/model/condition-terms.ts'

/** What is kept of them: a store that is unreachable defers all that is in the queue, and one reason is as good as another. */
const maxKnown = 10_000

/** From this failure of an item on it is told: a few may come of a broker that is away for a moment. */
export const toldFailure = 5

/** What is tried again later, and why: until that is done, or deferred for another reason. */
export class Deferrals {
  readonly #known = new Map<string, Deferral>()
  /** How often items failed as a whole. */
  readonly #failures = new Map<string, number>()

  /** @param id of the item that is tried again, or of the lane where that is not known */
  note(id: string, deferral: Deferral): void {
    this.#known.delete(id)
    if (this.#known.size < maxKnown) this.#known.set(id, deferral)
  }

  /** An item failed as a whole, for a reason that is no failure of a path, and comes again. */
  failed(id: string, error: unknown): void {
    const times = (this.#failures.get(id) ?? 0) + 1
    if (times > 1 || this.#failures.size < maxKnown) this.#failures.set(id, times)
    if (times < toldFailure) return
    const why = error instanceof Error ? error.message : String(error)
    this.note(id, {
      reason: 'TRYING_AGAIN',
      message: `a work item failed ${times} times: ${why}`,
    })
  }

  settle(id: string | undefined): void {
    if (id === undefined) return
    this.#known.delete(id)
    this.#failures.delete(id)
  }

  /** One of each reason, with what was said last. */
  get reasons(): Deferral[] {
    return [...new Map(Array.from(this.#known.values(), (one) => [one.reason, one])).values()]
  }
}
