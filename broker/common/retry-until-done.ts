import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from './backoff.ts'

/** Does what may be done twice again and again until it is done. Rejects with the signal's reason when that aborts. */
export async function retryUntilDone<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    try {
      return await work()
    } catch {
      await delay(backoffMs(attempt), undefined, { signal })
    }
  }
}
