/**
 * How many entries may be removed at the target of a live migration, in shared memory: what all threads of a process have
 * removed so far, and what that may come to. The main thread moves the second one on as time goes by.
 */
export type RemovalBudget = SharedArrayBuffer

/**
 * The longest that the work on a migration goes on after something was held, so that it is known how much waits; and how
 * long told names that wait are left alone then, so that they are looked at once before the migration stops.
 */
export const holdingMs = 5_000
export const heldForMs = holdingMs + 1_000

/** In 64-bit words. */
const removedAt = 0
const allowedAt = 1
const unsettledAt = 2
const words = 3
const unlimited = 2n ** 62n

/** A budget without a limit. */
export function newRemovalBudget(): RemovalBudget {
  const budget = new SharedArrayBuffer(words * BigInt64Array.BYTES_PER_ELEMENT)
  new BigInt64Array(budget)[allowedAt] = unlimited
  return budget
}

/** One thread's view of a budget. */
export class RemovalBudgetView {
  readonly #longs: BigInt64Array

  constructor(budget: RemovalBudget) {
    this.#longs = new BigInt64Array(budget)
  }

  /** What was removed so far. */
  get removed(): number {
    return Number(Atomics.load(this.#longs, removedAt))
  }

  /** Sets what `removed` may come to; undefined for no limit. */
  allow(total: number | undefined): void {
    Atomics.store(this.#longs, allowedAt, total === undefined ? unlimited : BigInt(total))
  }

  /** Whether something is charged of which nobody has said yet whether it was removed. */
  get isUnsettled(): boolean {
    return Atomics.load(this.#longs, unsettledAt) > 0n
  }

  /** Charges an entry that is about to be removed, which is to be settled; false when nothing more may be. */
  charge(): boolean {
    Atomics.add(this.#longs, unsettledAt, 1n)
    for (;;) {
      const removed = Atomics.load(this.#longs, removedAt)
      if (removed >= Atomics.load(this.#longs, allowedAt)) {
        Atomics.sub(this.#longs, unsettledAt, 1n)
        return false
      }
      if (Atomics.compareExchange(this.#longs, removedAt, removed, removed + 1n) === removed) return true
    }
  }

  /** @param isRemoved whether what was charged is gone because of it; else it counts no more */
  settle(isRemoved: boolean): void {
    if (!isRemoved) Atomics.sub(this.#longs, removedAt, 1n)
    Atomics.sub(this.#longs, unsettledAt, 1n)
  }
}
