import { abortable } from '../../../broker/common/abortable.ts'

/**
 * Entries that the jobs of a thread hold together without waiting for each other, some 550 bytes each. Over a network
 * a thread lists 16 folders at once, most of them small.
 */
const sharedEntries = 50_000

/** Entries of one listing that are held in memory. */
export interface HeldEntries extends Disposable {
  /**
   * So many more are held. Where the thread has as many as it may, waits until others are done.
   * @param turn resolves when nothing else of the same job has to end before this may end: whoever is to exceed the budget
   *   must not have to wait for somebody who waits for the budget
   */
  take(count: number, turn: Promise<void>, signal: AbortSignal): Promise<void>
}

/**
 * Bounds the entries that a thread holds at the same time, so that several large folders at once do not end it. Beyond the
 * shared budget a single listing at a time goes on, up to its own limit.
 */
export class EntryBudget {
  readonly #shared: number
  #held = 0
  /** The one that may exceed the budget. */
  #exceeding: HeldEntries | undefined
  #released = Promise.withResolvers<void>()

  constructor(shared = sharedEntries) {
    this.#shared = shared
  }

  /** Entries that are held. */
  get held(): number {
    return this.#held
  }

  /** For one listing; to be disposed of when its entries are no longer needed. */
  hold(): HeldEntries {
    let own = 0
    const held: HeldEntries = {
      take: async (count, turn, signal) => {
        if (this.#held + count > this.#shared && this.#exceeding !== held) {
          await turn
          await this.#room(held, count, signal)
        }
        own += count
        this.#held += count
      },
      [Symbol.dispose]: () => {
        this.#held -= own
        own = 0
        if (this.#exceeding === held) this.#exceeding = undefined
        this.#released.resolve()
        this.#released = Promise.withResolvers<void>()
      },
    }
    return held
  }

  async #room(held: HeldEntries, count: number, signal: AbortSignal): Promise<void> {
    while (this.#held + count > this.#shared && this.#exceeding !== undefined)
      await abortable(this.#released.promise, signal)
    if (this.#held + count > this.#shared) this.#exceeding = held
  }
}

/** Of this thread: each has its own memory. */
export const threadBudget = new EntryBudget()
