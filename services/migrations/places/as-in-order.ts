/** Waits for what is done at once, and rejects as if it had been done one after the other: with the first in the list. */
export async function asInOrder<const T extends readonly Promise<unknown>[]>(
  all: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(all)
  const values: unknown[] = []
  for (const each of all) values.push(await each)
  return values as { -readonly [K in keyof T]: Awaited<T[K]> }
}
