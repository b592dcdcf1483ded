import { hash } from 'node:crypto'

/** How much somebody may do at once, and how much it may go on doing. */
interface Rate {
  readonly burst: number
  readonly refillPerSecond: number
}

/** Refusals in a row that a person makes who has mixed up tokens, and a program that has not heard of a rotation. */
const burst = 20
/** Guesses that go on: with 256 bits in a token it does not matter, but each costs a connection. */
const refusals: Rate = { burst, refillPerSecond: 1 }
/** Guesses that come at once are judged at once; their refusals are debts, paid back within a minute after the last. */
const maxDebt = 60
/** A token that was refused is so for ever, but for a node of a cluster that had not heard of it yet. */
const wrongForMs = 10_000
/** Addresses and keys that are remembered, and tokens that were right: some 100 bytes each. */
const maxRemembered = 10_000

/** The people of a company behind one address, all of whom begin their day; each beginning costs the provider a little. */
const defaultRate: Rate = { burst: 100, refillPerSecond: 1 }

/** An allowance that comes back with time. */
class Allowance {
  readonly #rate: Rate
  #left: number
  #atMs = performance.now()

  constructor(rate: Rate) {
    this.#rate = rate
    this.#left = rate.burst
  }

  get left(): number {
    const now = performance.now()
    const { burst, refillPerSecond } = this.#rate
    this.#left = Math.min(burst, this.#left + ((now - this.#atMs) / 1_000) * refillPerSecond)
    this.#atMs = now
    return this.#left
  }

  charge(): void {
    this.#left = Math.max(-maxDebt, this.left - 1)
  }
}

/** The most recently used entries of a map. */
class Recent<V> {
  readonly #entries = new Map<string, V>()

  get(key: string): V | undefined {
    const value = this.#entries.get(key)
    if (value === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, value)
    return value
  }

  set(key: string, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= maxRemembered) return
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined) this.#entries.delete(oldest)
  }
}

/**
 * Slows down who guesses tokens, by address and by key: refusals use up an allowance, and without one nobody is asked
 * whether a token is right. It locks no owner out: a token that was right once is always asked for, and so is any from an
 * address that has had no refusal lately. A program that goes on sending one wrong token, or one that was right, guesses
 * nothing, and uses up nothing.
 */
export class Throttle {
  readonly #addresses = new Recent<Allowance>()
  readonly #keys = new Recent<Allowance>()
  readonly #right = new Recent<true>()
  /** Until when a token is known to be wrong. */
  readonly #wrong = new Recent<number>()

  /** What is to be done with a token: to `ask` whether it is right, to `refuse` it as before, or to let its sender `wait`. */
  judge(address: string, keyId: string, token: string): 'ask' | 'refuse' | 'wait' {
    const digest = digestOf(token)
    if ((this.#wrong.get(digest) ?? 0) > performance.now()) return 'refuse'
    const byAddress = this.#addresses.get(address)?.left ?? burst
    if (byAddress >= burst || this.#right.get(digest) !== undefined) return 'ask'
    return byAddress >= 1 && (this.#keys.get(keyId)?.left ?? burst) >= 1 ? 'ask' : 'wait'
  }

  wasRight(token: string): void {
    this.#right.set(digestOf(token), true)
  }

  wasRefused(address: string, keyId: string, token: string): void {
    const digest = digestOf(token)
    this.#wrong.set(digest, performance.now() + wrongForMs)
    // Revoked or expired since, and no guess.
    if (this.#right.get(digest) !== undefined) return
    charge(this.#addresses, address)
    charge(this.#keys, keyId)
  }
}

/** Bounds how often an address may have something done that anybody may ask for. */
export class RateLimit {
  readonly #rate: Rate
  readonly #addresses = new Recent<Allowance>()

  constructor(rate = defaultRate) {
    this.#rate = rate
  }

  /** Whether it is done once more. */
  admit(address: string): boolean {
    const allowance = this.#addresses.get(address) ?? new Allowance(this.#rate)
    this.#addresses.set(address, allowance)
    const isAdmitted = allowance.left >= 1
    if (isAdmitted) allowance.charge()
    return isAdmitted
  }
}

function charge(allowances: Recent<Allowance>, key: string): void {
  const allowance = allowances.get(key) ?? new Allowance(refusals)
  allowance.charge()
  allowances.set(key, allowance)
}

/** Tokens are kept nowhere. */
const digestOf = (token: string): string => hash('sha256', token, 'base64url')
