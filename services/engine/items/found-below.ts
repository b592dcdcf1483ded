/** How far a deep item goes down by itself, a scan as a comparison. */
export interface DescentBounds {
  /** Entries that it finds: what a thread lists in a second or two, and lists once more after a kill. */
  readonly entries: number
  /** Folders that it has found and not looked at yet, some 300 bytes each. */
  readonly waiting: number
}
export const usualBounds: DescentBounds = { entries: 100_000, waiting: 10_000 }

/**
 * Folders that a deep item has found and not looked at yet. The last one found is the next, so that what waits are the
 * siblings on the way down and not the breadth of the tree. What is beyond the bounds is handed on to other items.
 * It depends on nothing but what was found: an item that comes again hands on the same.
 */
export class FoundBelow<T> {
  readonly isDeep: boolean
  readonly #bounds: DescentBounds
  readonly #waiting: T[] = []
  #entries = 0

  constructor(isDeep: boolean, bounds: DescentBounds) {
    this.isDeep = isDeep
    this.#bounds = bounds
  }

  /** So many entries were found. */
  count(entries: number): void {
    this.#entries += entries
  }

  /** Whether the item has found as many entries as it may. */
  get isSpent(): boolean {
    return this.#entries >= this.#bounds.entries
  }

  /** Whether one more is the item's own; otherwise it is to be handed on. */
  get hasRoom(): boolean {
    return this.isDeep && !this.isSpent && this.#waiting.length < this.#bounds.waiting
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  add(one: T): void {
    this.#waiting.push(one)
  }

  /** The last ones found, so many at most; none when the item has found as much as it may, and then all are handed on. */
  take(most: number, handOn: (one: T) => void): T[] {
    if (this.isSpent) this.#waiting.splice(0).forEach(handOn)
    return this.#waiting.splice(-most)
  }
}
