import { setTimeout as delay } from 'node:timers/promises'

/** First pause, doubled with each attempt up to the longest; half of it is random, so that crowds disperse. */
const firstMs = 50
const longestMs = 5_000

/** Milliseconds to wait before another attempt. @param attempt counts from 1 */
export function backoffMs(attempt: number): number {
  const full = Math.min(longestMs, firstMs * 2 ** (attempt - 1))
  return full / 2 + Math.random() * (full / 2)
}

/** Waits before another attempt, at most until the signal aborts. Never rejects. @param attempt that has failed, counts from 1 */
export async function pauseAfter(attempt: number, signal?: AbortSignal): Promise<void> {
  await delay(backoffMs(attempt), undefined, signal && { signal }).catch(() => undefined)
}

export interface RetryOptions {
  /** Whether another attempt may succeed after this error; always by default. What it throws is thrown. */
  readonly mayPass?: (error: unknown, attempt: number) => boolean | Promise<boolean>
  /** Ends it between two attempts: then it rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** Does what is idempotent until it succeeds, or fails with an error that does not pass. */
export async function retry<T>(
  work: (attempt: number) => Promise<T>,
  { mayPass, signal }: RetryOptions = {},
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      if (mayPass !== undefined && !(await mayPass(error, attempt))) throw error
      await pauseAfter(attempt, signal)
      signal?.throwIfAborted()
    }
  }
}
