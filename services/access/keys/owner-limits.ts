import { OwnerRooms } from '../../../broker/rpc/owner-rooms.ts'
import { product } from '../../../subjects/kit/names.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { limitsOfRoles, type OwnerLimits } from '../../../subjects/access/settings.ts'
import { type KeyCollection, keysOf, sessionsOf, type StoredKey, whyInvalid } from './keys.ts'
import { revoked } from './narrow.ts'
import { type AccessState, readSettings } from '../state.ts'

/**
 * Keys of an owner that were revoked or have expired, and sessions that ended: so many are kept for whoever looks for
 * them. The audit log knows what became of the others.
 */
const maxEnded = 100
/** Each is two requests to the broker, and somebody waits. */
const maxForgottenAtOnce = 500

type LimitState = Pick<AccessState, 'keys' | 'users' | 'settings'>

/** What the owner of a key may have: by the roles of the last sign-in, or those of the key where the owner never signs in. */
export async function ownerLimitsOf(
  { users, settings }: Pick<LimitState, 'users' | 'settings'>,
  { owner, roles }: Pick<StoredKey, 'owner' | 'roles'>,
): Promise<OwnerLimits> {
  const [user, current] = await Promise.all([users.get(owner), readSettings({ settings })])
  return limitsOfRoles(current, user?.roles ?? roles)
}

/** Holds owners to their numbers of keys and sessions. */
export class OwnerRoom {
  readonly #state: LimitState
  readonly #kick: (keyId: string) => Promise<void>
  readonly #rooms = new OwnerRooms()

  constructor(state: LimitState, kick: (keyId: string) => Promise<void>) {
    this.#state = state
    this.#kick = kick
  }

  /** Makes a key. @throws GantryError LIMIT_REACHED when the owner has as many valid keys as it may have */
  async forKey<T>(creator: Pick<StoredKey, 'owner' | 'roles'>, make: () => Promise<T>): Promise<T> {
    const { owner } = creator
    const { maxKeys } = await ownerLimitsOf(this.#state, creator)
    const whenFull = () => {
      throw new GantryError(
        'LIMIT_REACHED',
        `${owner} already has ${maxKeys} valid keys, which is the limit (maxKeys): revoke some with "${product} keys revoke", or ask an administrator to raise the limit with "${product} settings put"`,
      )
    }
    const name = keysOf(owner)
    const count = async () => (await this.#live(name)).length
    return this.#rooms.make(name, { limit: maxKeys, count, whenFull }, make)
  }

  /** Begins a session, and ends the oldest of a person who has as many as it may have: one can always sign in again. */
  async forSession<T>(owner: string, maxSessions: number, make: () => Promise<T>): Promise<T> {
    const name = sessionsOf(owner)
    let live: StoredKey[] = []
    const count = async () => {
      live = await this.#live(name)
      return live.length
    }
    const whenFull = async () => {
      const oldestFirst = live.toSorted((a, b) => (a.created < b.created ? -1 : 1))
      for (const { id } of oldestFirst.slice(0, live.length - maxSessions + 1)) {
        await this.#state.keys.update(id, revoked)
        await this.#kick(id)
      }
    }
    return this.#rooms.make(name, { limit: maxSessions, count, whenFull }, make)
  }

  /** The valid keys of a group; of the others, the oldest are forgotten. */
  async #live(group: string): Promise<StoredKey[]> {
    const { keys } = this.#state
    const all = await keys.listGroup(group)
    await forgetEnded(keys, all)
    return all.filter((key) => whyInvalid(key) === undefined)
  }
}

/** Forgets those that ended longest ago of the keys of an owner that opens nothing any more. */
async function forgetEnded(keys: KeyCollection, all: readonly StoredKey[]): Promise<void> {
  const ended = all
    .filter((key) => whyInvalid(key) !== undefined)
    .toSorted((a, b) => (endOf(a) < endOf(b) ? -1 : 1))
  const tooMany = Math.min(Math.max(0, ended.length - maxEnded), maxForgottenAtOnce)
  for (const { id } of ended.slice(0, tooMany)) await keys.erase(id)
}

/** When it ended: a key that expired may have been revoked before. */
const endOf = ({ revoked: when, expires = '' }: StoredKey): string =>
  when === undefined || (expires !== '' && expires < when) ? expires : when
