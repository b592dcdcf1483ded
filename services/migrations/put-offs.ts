import type { PutOff } from '../../subjects/condition-terms.ts'

/** What is kept of them: a store that is away puts off all that is in the queue, and one reason is as good as another. */
const maxKnown = 10_000

/** What is tried again later, and why: until that is done, or put off for another reason. */
export class PutOffs {
  readonly #known = new Map<string, PutOff>()

  /** @param id of the item that is tried again, or of the lane where that is not known */
  note(id: string, putOff: PutOff): void {
    this.#known.delete(id)
    if (this.#known.size < maxKnown) this.#known.set(id, putOff)
  }

  settle(id: string | undefined): void {
    if (id !== undefined) this.#known.delete(id)
  }

  /** One of each reason, with what was said last. */
  get reasons(): PutOff[] {
    return [...new Map(Array.from(this.#known.values(), (one) => [one.reason, one])).values()]
  }
}
