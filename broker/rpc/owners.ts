import type { NatsConnection } from '@nats-io/transport-node'
import type { Caller } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { keysInternal } from '../../subjects/access/keys.ts'
import { product } from '../../subjects/kit/names.ts'
import type { OwnerLimits } from '../../subjects/access/settings.ts'
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

/** An owner, and what it may have. */
export type Allowance = Awaited<ReturnType<typeof askLimits>>

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

  /** Whose key asks, and what that owner may have; undefined for the platform itself. */
  async allowanceOf(caller: Caller): Promise<Allowance | undefined> {
    return caller.kind === 'platform' ? undefined : askLimits(this.#connection, caller.keyId)
  }

  /**
   * Makes something for its owner; what the platform itself makes is nobody's, and not limited.
   * @param allowance of whoever asks
   * @throws GantryError LIMIT_REACHED
   */
  async make<T>(
    allowance: Allowance | undefined,
    { limit: name, what, fix, count }: Owned,
    make: (owner?: string) => Promise<T>,
  ): Promise<T> {
    if (allowance === undefined) return make()
    const { owner, limits } = allowance
    const limit = limits[name]
    const whenFull = () => {
      throw limitReached(`${owner} already has ${limit} ${what}, which is the limit`, name, fix)
    }
    const room = { limit, count: () => count(owner), whenFull }
    return this.#rooms.make(`${name} ${owner}`, room, () => make(owner))
  }
}

/** @param problem what there is too much of @param fix what makes room */
export const limitReached = (problem: string, name: keyof OwnerLimits, fix: string): GantryError =>
  new GantryError(
    'LIMIT_REACHED',
    `${problem} (${name}): ${fix}, or ask an administrator to raise the limit with "${product} settings put"`,
  )
