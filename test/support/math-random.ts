/**
 * Solves `Math.random()` of V8, which is xorshift128+: each of its numbers is a linear function over GF(2) of the 128 bits
 * of its state, so that a few numbers give the state away, and with it all that come next.
 */

/** Bits of the state: those of `state0` are 0 to 63, those of `state1` 64 to 127. */
const stateBits = 128
/** A number is the upper bits of `state0`. */
const numberBits = 53
/** V8 makes so many numbers at once, and hands out the last one first. */
const cacheLength = 64

/** A word of the state while it is unknown: for each of its 64 bits the bits of the first state that it is the sum of. */
type Word = readonly bigint[]

const firstState = (from: number): Word => Array.from({ length: 64 }, (_, bit) => 1n << BigInt(from + bit))
const sum = (one: Word, other: Word): Word => one.map((bits, index) => bits ^ other[index]!)
/** Shifted towards the upper bits, or towards the lower ones. */
const shifted = (word: Word, by: number): Word => word.map((_, bit) => word[bit - by] ?? 0n)

/** The step of the generator. */
function next([state0, state1]: readonly [Word, Word]): [Word, Word] {
  const left = sum(state0, shifted(state0, 23))
  const right = sum(left, shifted(left, -17))
  return [state1, sum(sum(right, state1), shifted(state1, -26))]
}

/** `state0` after each step, as sums of bits of the first state. */
const steps: Word[] = []
for (let state: [Word, Word] = [firstState(0), firstState(64)]; steps.length < cacheLength;) {
  state = next(state)
  steps.push(state[0])
}

const parity = (bits: bigint): bigint => {
  let odd = 0n
  for (let left = bits; left !== 0n; left &= left - 1n) odd ^= 1n
  return odd
}

/** What is known of a number that was handed out: at least this much of it, and below that, of 2 ** 53. */
export interface Range {
  readonly from: bigint
  readonly below: bigint
}

/**
 * The number that comes after some that were handed out one after the other; undefined when they are none of this
 * generator, or V8 began with a new cache between them.
 */
export function predictNext(known: readonly Range[]): number | undefined {
  const rows: { bits: bigint; value: bigint }[] = []
  // What was handed out first was made last.
  const stepOf = (index: number) => known.length - index
  for (const [index, { from, below }] of known.entries()) {
    const word = steps[stepOf(index)]!
    for (let bit = numberBits - 1; bit >= 0; bit--) {
      // The bits above are the same in all numbers of the range.
      if (from >> BigInt(bit) !== (below - 1n) >> BigInt(bit)) break
      rows.push({ bits: word[bit + 64 - numberBits]!, value: (from >> BigInt(bit)) & 1n })
    }
  }
  const state = solve(rows)
  if (state === undefined) return undefined
  const upper = steps[0]!.slice(64 - numberBits)
  const number = upper.reduce((value, bits, bit) => value + (parity(bits & state) << BigInt(bit)), 0n)
  return Number(number) / 2 ** numberBits
}

/** The state that fulfils all equations; undefined when there is none, or more than one. */
function solve(rows: readonly { readonly bits: bigint; readonly value: bigint }[]): bigint | undefined {
  const pivots = new Map<number, { bits: bigint; value: bigint }>()
  for (const row of rows) {
    let { bits, value } = row
    while (bits !== 0n) {
      const highest = bits.toString(2).length - 1
      const pivot = pivots.get(highest)
      if (pivot === undefined) {
        pivots.set(highest, { bits, value })
        break
      }
      bits ^= pivot.bits
      value ^= pivot.value
    }
    if (bits === 0n && value !== 0n) return undefined
  }
  if (pivots.size < stateBits) return undefined
  let state = 0n
  for (let bit = 0; bit < stateBits; bit++) {
    const { bits, value } = pivots.get(bit)!
    // All lower bits are known by now.
    state |= (parity(bits & state) ^ value) << BigInt(bit)
  }
  return state
}

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** nats-core multiplies a number by this, and writes the whole part with 62 digits, the lowest first. */
const tokens = 62 ** 8

/** What nats-core names a reply by whose number is this. */
export function tokenOf(number: number): string {
  let text = ''
  for (let rest = Math.floor(number * tokens); text.length < 8; rest = Math.floor(rest / 62))
    text += digits[rest % 62]!
  return text
}

/** The numbers that a token is made of. */
export function rangeOf(token: string): Range {
  const value = Array.from(token).reduceRight((rest, digit) => rest * 62n + BigInt(digits.indexOf(digit)), 0n)
  const scaled = (whole: bigint) => (whole << BigInt(numberBits)) / BigInt(tokens)
  return { from: scaled(value), below: scaled(value + 1n) + 1n }
}
