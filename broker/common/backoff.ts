/** First pause, doubled with each attempt up to the longest; half of it is random, so that crowds disperse. */
const firstMs = 50
const longestMs = 5_000

/** Milliseconds to wait before another attempt. @param attempt counts from 1 */
export function backoffMs(attempt: number): number {
  const full = Math.min(longestMs, firstMs * 2 ** (attempt - 1))
  return full / 2 + Math.random() * (full / 2)
}
