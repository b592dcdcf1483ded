import { LRUCache } from 'lru-cache'

/** Refusals in a row that a person makes who has mixed up tokens, and a program that has not heard of a rotation. */
export const burst = 20
/** Guesses that go on: with 256 bits in a token it does not matter, but each costs a connection. */
export const refillPerSecond = 1
/** Guesses that come at once are judged at once; their refusals are debts, paid back within a minute after the last. */
const maxDebt = 60
/** Addresses and keys that are remembered, and tokens: some 100 bytes each. */
export const maxRemembered = 10_000

/** How much somebody may do at once, and how much it may go on doing. */
export interface Rate {
  readonly burst: number
  readonly refillPerSecond: number
}

/** An allowance that comes back with time. */
export class Allowance {
  readonly #rate: Rate
  readonly #maxDebt: number
  #left: number
  #atMs = performance.now()

  constructor(rate: Rate, mostOwed: number = maxDebt) {
    this.#rate = rate
    this.#maxDebt = mostOwed
    this.#left = rate.burst
  }

  get left(): number {
    const now = performance.now()
    const { burst, refillPerSecond } = this.#rate
    this.#left = Math.min(burst, this.#left + ((now - this.#atMs) / 1_000) * refillPerSecond)
    this.#atMs = now
    return this.#left
  }

  /** @returns what is left; below 0 it is owed */
  charge(amount = 1): number {
    this.#left = Math.max(-this.#maxDebt, this.left - amount)
    return this.#left
  }
}

/** Allowances by name, of refusals unless it is said otherwise; who is not known, or forgotten, has all of it. */
export class Allowances {
  readonly #rate: Rate
  readonly #byName = new LRUCache<string, Allowance>({ max: maxRemembered })

  constructor(rate: Rate = { burst, refillPerSecond }) {
    this.#rate = rate
  }

  left(name: string): number {
    return this.#byName.get(name)?.left ?? this.#rate.burst
  }

  charge(name: string): void {
    const allowance = this.#byName.get(name) ?? new Allowance(this.#rate)
    allowance.charge()
    this.#byName.set(name, allowance)
  }
}
