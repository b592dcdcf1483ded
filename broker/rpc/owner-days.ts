import { LRUCache } from 'lru-cache'
import type { OwnerLimits } from '../../subjects/access/settings.ts'
import { Allowance as Left, maxRemembered } from '../limits/allowances.ts'
import { type Allowance, limitReached } from './owners.ts'

const daySeconds = 86_400

/** What owners may do so much of within a day. */
interface Daily {
  readonly limit: keyof OwnerLimits
  /** How much one of the limit is; default 1. */
  readonly unit?: number
  /** What an owner has done too much of. @param most as the settings have it */
  readonly problem: (owner: string, most: number) => string
  /** What needs less of it. */
  readonly fix: string
}

/** Holds owners to what they may do within a day, all their keys together. It begins again with each start of the platform. */
export class OwnerDays {
  readonly #daily: Daily
  readonly #byOwner = new LRUCache<string, { readonly most: number; readonly left: Left }>({
    max: maxRemembered,
  })

  constructor(daily: Daily) {
    this.#daily = daily
  }

  /** @param allowance of whoever asks @throws GantryError LIMIT_REACHED */
  charge({ owner, limits }: Allowance, amount = 1): void {
    const { limit, unit = 1, problem, fix } = this.#daily
    const most = limits[limit]
    let known = this.#byOwner.get(owner)
    if (known?.most !== most) {
      const burst = most * unit
      known = { most, left: new Left({ burst, refillPerSecond: burst / daySeconds }) }
      this.#byOwner.set(owner, known)
    }
    if (known.left.left < amount) throw limitReached(problem(owner, most), limit, fix)
    known.left.charge(amount)
  }
}
