import type { Key } from '../../subjects/access/keys.ts'
import type { Observation } from './judge.ts'

export const dayMs = 86_400_000

/** Of its life, at most as much is left: a key of a few days is not about to expire as soon as it is made. */
const lastShare = 1 / 3

/** What is to be told of a key that ends within a threshold, in days. */
export function expiring(
  { id, created, expires }: Pick<Key, 'id' | 'created'> & { readonly expires: string },
  thresholdDays: number,
  nowMs: number,
): Observation[] {
  const endMs = Date.parse(expires)
  const toldMs = Math.min(thresholdDays * dayMs, (endMs - Date.parse(created)) * lastShare)
  if (endMs - nowMs > toldMs) return []
  const value = Math.round((100 * (endMs - nowMs)) / dayMs) / 100
  return [{ object: id, value, summary: `the key ${id} expires at ${expires}` }]
}
