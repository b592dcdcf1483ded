import { LRUCache } from 'lru-cache'
import type { Gate } from '../audit.ts'
import { excessOf } from '../callers.ts'
import { type KeyCollection, whyInvalid } from '../keys/keys.ts'
import { revoked } from '../keys/narrow.ts'
import type { Person, Session } from '../roles/people.ts'

export interface BasicSessionOptions extends Pick<Gate, 'signIn'> {
  readonly keys: KeyCollection
  /** Drops every live connection of a key. */
  readonly kick: (keyId: string) => Promise<void>
}

/** Roles hold from a sign-in on, and who sends a password with each request never signs in: it is done for them each time. */
export const sessionMs = 3_600_000
/** People who send a password with each request. */
const maxSessions = 1_000

interface Open {
  /** What decides on the roles. */
  readonly standing: string
  readonly session: Promise<Session>
  readonly untilMs: number
}

/** The one of one source is not that of another. */
const nameOf = ({ source, subject }: Person): string => `${source}:${subject}`

/** Sessions of people who send their password with each request: one each, instead of one for each request. */
export class BasicSessions {
  readonly #options: BasicSessionOptions
  readonly #now: () => number
  /** By source and subject. */
  readonly #open = new LRUCache<string, Open>({ max: maxSessions })

  /** @param now milliseconds of a clock that only goes forward */
  constructor(options: BasicSessionOptions, now: () => number = () => performance.now()) {
    this.#options = options
    this.#now = now
  }

  /** The API token of the person's session; of another one when its groups or roles have changed, or it was revoked. */
  async tokenFor(person: Person): Promise<string> {
    const standing = JSON.stringify([person.groups.toSorted(), person.roles ?? []])
    const open = this.#open.get(nameOf(person))
    if (open === undefined) return (await this.#start(person, standing)).token
    const isCurrent = open.standing === standing && open.untilMs > this.#now()
    const before = await open.session
    const stored = await this.#options.keys.get(before.key.id)
    const isValid = stored !== undefined && whyInvalid(stored) === undefined
    if (isCurrent && isValid) return before.token
    // Of several who find this out at once, the first begins another.
    if (this.#open.get(nameOf(person)) !== open) return this.tokenFor(person)
    const next = await this.#start(person, standing)
    // What is not allowed any more must not live on in a connection; what still is may finish.
    if (isValid && excessOf(next.key.capabilities, before.key.capabilities) !== undefined) {
      await this.#end(before.key.id)
    }
    return next.token
  }

  async #start(person: Person, standing: string): Promise<Session> {
    const session = this.#options.signIn(person)
    const open = { standing, session, untilMs: this.#now() + sessionMs }
    this.#open.set(nameOf(person), open)
    try {
      return await session
    } catch (error) {
      if (this.#open.get(nameOf(person)) === open) this.#open.delete(nameOf(person))
      throw error
    }
  }

  async #end(keyId: string): Promise<void> {
    const { keys, kick } = this.#options
    await keys.update(keyId, revoked)
    await kick(keyId)
  }
}
