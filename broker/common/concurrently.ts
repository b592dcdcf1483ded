/**
 * Works on items, so many at a time. The first failure is thrown once what is under way has ended; nothing new is begun
 * after it.
 */
export async function concurrently<T>(
  items: Iterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]()
  let failed = false
  const lane = async () => {
    for (let next = iterator.next(); !failed && next.done !== true; next = iterator.next()) {
      try {
        await work(next.value)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  const lanes = await Promise.allSettled(Array.from({ length: limit }, lane))
  const failure = lanes.find((result) => result.status === 'rejected')
  if (failure !== undefined) throw failure.reason
}
