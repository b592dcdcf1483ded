import type { NatsConnection } from '@nats-io/transport-node'
import type { Caller } from '../subjects/contract.ts'
import { GantryError } from '../subjects/errors.ts'
import { keysInternal } from '../subjects/keys.ts'
import { product } from '../subjects/names.ts'
import type { OwnerLimits } from '../subjects/settings.ts'
import { call } from './client.ts'
import { OwnerRooms } from './owner-rooms.ts'

/** What owners may have so many of. */
export interface Owned {
  readonly limit: keyof OwnerLimits
  /** In the plural. */
  readonly what: string
  /** What makes room. */
  readonly fix: string
  /** How many an owner has. */
  readonly count: (owner: string) => Promise<number>
}

/** What an owner may have, by the key of a caller. @throws GantryError NOT_FOUND when there is no such key */
export const askLimits = (connection: NatsConnection, id: string) =>
  call(connection, keysInternal.limits, { id })

/** Holds owners to the number of things that the settings let them have. */
export class Owners {
  readonly #connection: NatsConnection
  readonly #rooms = new OwnerRooms()

  constructor(connection: NatsConnection) {
    this.#connection = connection
  }

  /** Whose key asks; undefined for the platform itself. */
  async ownerOf(caller: Caller): Promise<string | undefined> {
    return caller.kind === 'platform' ? undefined : (await askLimits(this.#connection, caller.keyId)).owner
  }

  /**
   * Makes something for its owner; what the platform itself makes is nobody's, and not limited.
   * @throws GantryError LIMIT_REACHED
   */
  async make<T>(
    caller: Caller,
    { limit: name, what, fix, count }: Owned,
    make: (owner?: string) => Promise<T>,
  ): Promise<T> {
    if (caller.kind === 'platform') return make()
    const { owner, limits } = await askLimits(this.#connection, caller.keyId)
    const limit = limits[name]
    const whenFull = () => {
      throw limitReached(`${owner} has ${limit} ${what}, the most it may have`, name, fix)
    }
    const room = { limit, count: () => count(owner), whenFull }
    return this.#rooms.make(`${name} ${owner}`, room, () => make(owner))
  }
}

/** @param problem what there is too much of @param fix what makes room */
export const limitReached = (problem: string, name: keyof OwnerLimits, fix: string): GantryError =>
  new GantryError(
    'LIMIT_REACHED',
    `${problem} (${name}): ${fix}, or have an administrator raise the limit with "${product} settings put"`,
  )
