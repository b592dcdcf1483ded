/**
 * What a promise comes to, unless the signal aborts first, or has: then rejects with its reason. What the promise comes to then
 * is left alone, an error too.
 * @param signal undefined for one that never aborts
 */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([aborted.promise, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
