import type { FailureClass, StoreError } from '../../drivers/contract/driver.ts'

/** Tries of a file or folder that fails for reasons of its own. */
export const maxAttempts = 5

/**
 * Tries while a store as a whole is the reason: with the longest wait between them they last an hour, so that a network
 * or a full disk that is mended meanwhile costs no failure.
 */
const maxOutageAttempts = 60

const outages: ReadonlySet<FailureClass> = new Set(['unreachable', 'refused', 'throttled', 'full'])

/** Whether a failure says something about the store and not about the file. */
export const isOutage = (error: StoreError): boolean => outages.has(error.failure)

/** Waits grow fourfold: 1 s, 4 s, 16 s, 60 s; a queue of many files is not held up by one. */
const backoff = { firstMs: 1_000, factor: 4, maxMs: 60_000 } as const
/** A store may ask for more, but not for a day. */
const longestAskedMs = 15 * 60_000
/** The random part of a wait, at most. */
const jitter = 1 / 3

/**
 * How long to wait after the given attempt, in milliseconds; a third of it is random, so that what failed together does not
 * come back together. A store's own wish is honoured.
 */
export function backoffMs(attempt: number, askedMs = 0): number {
  const plainMs = Math.min(backoff.firstMs * backoff.factor ** (attempt - 1), backoff.maxMs)
  return Math.round(Math.max(Math.min(askedMs, longestAskedMs), plainMs) * (1 + Math.random() * jitter))
}

/**
 * How long an item that is not to be worked on before a moment has still to wait, in milliseconds; no longer than any wait
 * is: the clock was set back when it seems to be longer.
 */
export function stillToWaitMs(notBeforeMs: number, nowMs: number): number {
  const waitMs = notBeforeMs - nowMs
  return waitMs > longestAskedMs * (1 + jitter) ? 0 : Math.max(0, waitMs)
}

/** Whether something that failed at this attempt is worth another. */
export const isWorthRetry = (error: StoreError, attempt: number): boolean =>
  error.retryable && attempt < (isOutage(error) ? maxOutageAttempts : maxAttempts)
