import { LRUCache } from 'lru-cache'
import { Allowance, maxRemembered } from '../../broker/limits/allowances.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { askLimits, limitReached } from '../../broker/rpc/owners.ts'

const daySeconds = 86_400
/** A limit that was changed holds after this at the latest. */
const askAgainMs = 60_000

interface Known {
  readonly limit: number
  readonly allowance: Allowance
  askedMs: number
}

/**
 * Holds owners to what their extensions may record within a day: all extensions share the ledger. It begins again with
 * each start of the platform.
 */
export class OwnerRecords {
  readonly #connection: NatsConnection
  readonly #byOwner = new LRUCache<string, Known>({ max: maxRemembered })

  constructor(connection: NatsConnection) {
    this.#connection = connection
  }

  /** Counts one more. @throws GantryError LIMIT_REACHED */
  async charge(keyId: string, owner: string): Promise<void> {
    const { limit, allowance } = await this.#known(keyId, owner)
    if (allowance.left < 1)
      throw limitReached(
        `the extensions of ${owner} have made ${limit} records of usage within a day, the most they may`,
        'maxUsageRecords',
        'sum up before you record',
      )
    allowance.charge()
  }

  async #known(keyId: string, owner: string): Promise<Known> {
    const known = this.#byOwner.get(owner)
    const nowMs = performance.now()
    if (known !== undefined && nowMs - known.askedMs < askAgainMs) return known
    const { limits } = await askLimits(this.#connection, keyId)
    const limit = limits.maxUsageRecords
    // Of many at once, one makes it.
    const current = this.#byOwner.get(owner)
    if (current?.limit === limit) {
      current.askedMs = nowMs
      return current
    }
    const rate = { burst: limit, refillPerSecond: limit / daySeconds }
    const made = { limit, allowance: new Allowance(rate), askedMs: nowMs }
    this.#byOwner.set(owner, made)
    return made
  }
}
