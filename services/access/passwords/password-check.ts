import { createHmac, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { GantryError } from '../../../subjects/kit/errors.ts'
import type { Person } from '../roles/people.ts'
import { PasswordThrottle } from './password-throttle.ts'

/** Where passwords are checked: the configuration, or a directory. */
export interface PasswordSource {
  /**
   * The person with this name and password; undefined when there is none. The time it takes says nothing about which.
   * @throws GantryError UNAVAILABLE when nobody could say
   */
  verify(credentials: Credentials): Promise<Person | undefined>
  close(): void
}

export interface Credentials {
  readonly userName: string
  readonly password: string
}

/** So long a password that was right is taken again without a look: a change in the directory holds after that. */
export const trustMs = 60_000
/** People who send a password with each request. */
const maxRemembered = 1_000

interface Remembered {
  readonly person: Promise<Person | undefined>
  readonly untilMs: number
  /** Not while the first check is under way; who was wrong is forgotten. */
  wasRight: boolean
}

const wrong = () => new GantryError('UNAUTHENTICATED', 'the user name or the password is wrong')

/**
 * Checks passwords at a source, each right one once a minute however many requests carry it. What is remembered are
 * hashes under a key of this process, of which nothing can be learned about a password, nor from the time of a look-up.
 */
export class PasswordCheck {
  readonly #source: PasswordSource
  readonly #throttle: PasswordThrottle
  readonly #now: () => number
  readonly #key = randomBytes(32)
  /** By hash of name and password. What is older than its time has been right once. */
  readonly #remembered = new LRUCache<string, Remembered>({ max: maxRemembered })

  /** @param now milliseconds of a clock that only goes forward */
  constructor(source: PasswordSource, now: () => number = () => performance.now()) {
    this.#source = source
    this.#throttle = new PasswordThrottle(now)
    this.#now = now
  }

  /**
   * @param mayTrust whether it is enough that the password was right a moment ago
   * @throws GantryError UNAUTHENTICATED, THROTTLED after too many wrong ones, UNAVAILABLE
   */
  async check(credentials: Credentials, address: string, mayTrust: boolean): Promise<Person> {
    const { userName, password } = credentials
    // A directory takes an empty password for a request to come in as nobody, and lets it in.
    if (userName === '' || password === '') throw wrong()
    const hash = createHmac('sha256', this.#key)
      .update(JSON.stringify([userName, password]))
      .digest('base64')
    const person = await this.#personOf(hash, credentials, address, mayTrust)
    if (person === undefined) throw wrong()
    return person
  }

  #personOf(hash: string, credentials: Credentials, address: string, mayTrust: boolean) {
    const known = this.#remembered.get(hash)
    if (known === undefined) return this.#tryOut(hash, credentials, address)
    const isFresh = known.untilMs > this.#now()
    if (isFresh && (mayTrust || !known.wasRight)) return known.person
    // Whoever has been here with this password is no guesser.
    return this.#verify(hash, credentials)
  }

  async #tryOut(hash: string, credentials: Credentials, address: string): Promise<Person | undefined> {
    const undo = this.#throttle.begin(address, credentials.userName)
    let isWrong = false
    try {
      const person = await this.#verify(hash, credentials)
      isWrong = person === undefined
      return person
    } finally {
      if (!isWrong) undo()
    }
  }

  /** Remembers the check itself, so that requests which come while it is under way wait for the same one. */
  async #verify(hash: string, credentials: Credentials): Promise<Person | undefined> {
    const person = this.#source.verify(credentials)
    const before = this.#remembered.get(hash)
    const remembered = { person, untilMs: this.#now() + trustMs, wasRight: before?.wasRight ?? false }
    this.#remembered.set(hash, remembered)
    try {
      const found = await person
      if (found === undefined) this.#remembered.delete(hash)
      else remembered.wasRight = true
      return found
    } catch (error) {
      // Nobody could say: it is as right as it was before.
      if (before === undefined) this.#remembered.delete(hash)
      else this.#remembered.set(hash, before)
      throw error
    }
  }

  close(): void {
    this.#source.close()
  }
}
