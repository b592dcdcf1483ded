/** The same numbers for the same seed, evenly between 0 (included) and 1 (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A whole number from 0 to below the limit. */
export const randomBelow = (random: () => number, limit: number): number => Math.floor(random() * limit)

/** One of them. */
export const oneOf = <T>(random: () => number, values: readonly T[]): T =>
  values[randomBelow(random, values.length)]!

/** All of them, in any order. */
export function shuffled<T>(random: () => number, values: readonly T[]): T[] {
  const all = [...values]
  for (let last = all.length - 1; last > 0; last--) {
    const other = randomBelow(random, last + 1)
    ;[all[last], all[other]] = [all[other]!, all[last]!]
  }
  return all
}
