import { type FailureClass, storeError } from '../contract/store-error.ts'
import { WatchError } from '../feeds/feed.ts'

const unreadable: ReadonlySet<FailureClass> = new Set(['gone', 'refused', 'permission'])

/** Of what is not there or may not be read no news comes: everything is compared from time to time instead. */
export function endOf(error: unknown): Error {
  if (error instanceof WatchError) return error
  const known = storeError(error)
  if (!unreadable.has(known.failure)) return known
  return new WatchError(known.message, true, { cause: error })
}
