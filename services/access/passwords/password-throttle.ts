import { LRUCache } from 'lru-cache'
import { networkOf } from '../../../broker/messages/client-address.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'

/** Somebody who mistypes needs a few tries; whoever guesses gets these many in each window. */
export const maxWrongForUser = 5
/** From one address for all users together: many people may be behind one, and a guesser may try many names. */
export const maxWrongFromAddress = 50
export const windowMs = 60_000
/** Bounds the memory that strangers can take; who is forgotten may try again. */
const maxCounters = 10_000

interface Counter {
  tries: number
  readonly untilMs: number
}

/** A try that turned out to be none: the password was right, or nobody could say. */
export type Undo = () => void

/**
 * Counts tries with passwords by address and user. It never locks a user: whoever guesses from somewhere holds up
 * nobody elsewhere. Stricter than the throttle of tokens, which nobody can guess anyhow: a password is one of few.
 */
export class PasswordThrottle {
  readonly #counters = new LRUCache<string, Counter>({ max: maxCounters })
  readonly #now: () => number

  /** @param now milliseconds of a clock that only goes forward */
  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Counts a try before it is made, so that many at once do not get past. Right ones are to be undone.
   * @throws GantryError THROTTLED when there were too many
   */
  begin(address: string, userName: string): Undo {
    const place = networkOf(address)
    const counted: [name: string, max: number][] = [
      [JSON.stringify([place]), maxWrongFromAddress],
      [JSON.stringify([place, userName]), maxWrongForUser],
    ]
    const waitMs = Math.max(...counted.map(([name, max]) => this.#waitMs(name, max)))
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1_000)
      throw new GantryError(
        'THROTTLED',
        `too many wrong passwords from this address; try again in ${seconds} s`,
      )
    }
    const counters = counted.map(([name]) => this.#count(name))
    return () => {
      for (const counter of counters) counter.tries--
    }
  }

  #waitMs(name: string, max: number): number {
    const counter = this.#counters.get(name)
    if (counter === undefined || counter.tries < max) return 0
    return Math.max(0, counter.untilMs - this.#now())
  }

  #count(name: string): Counter {
    const now = this.#now()
    const known = this.#counters.get(name)
    if (known !== undefined && known.untilMs > now) {
      known.tries++
      return known
    }
    const counter = { tries: 1, untilMs: now + windowMs }
    this.#counters.set(name, counter)
    return counter
  }
}
