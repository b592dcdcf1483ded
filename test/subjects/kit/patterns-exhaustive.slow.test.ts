import { expect, test } from 'vitest'
import { ruleCovers, uncovered } from '../../../subjects/kit/patterns.ts'
import { randomBelow, seededRandom } from '../../support/random.ts'

/** Longest pattern; subjects are one token longer, which stands for all that is. */
const maxTokens = 4
const cases = 1_000_000
const seed = Number(process.env['PATTERN_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

function tuplesOf(words: readonly string[], length: number): string[][] {
  if (length === 0) return [[]]
  return tuplesOf(words, length - 1).flatMap((tuple) => words.map((word) => [...tuple, word]))
}
const upTo = (words: readonly string[], length: number) =>
  Array.from({ length }, (_, index) => tuplesOf(words, index + 1)).flat()

/** `x` is in no pattern, and stands for all other words. */
const subjects = upTo(['a', 'b', 'x'], maxTokens + 2)
const patterns = [
  ...upTo(['a', 'b', '*'], maxTokens),
  ...[[], ...upTo(['a', 'b', '*'], maxTokens)].map((tokens) => [...tokens, '>']),
].map((tokens) => tokens.join('.'))

/** The subjects that a pattern matches, a bit each: the definition of wildcards, and not how the code decides. */
function subjectsIn(pattern: string): bigint {
  const tokens = pattern.split('.')
  const bits = subjects.map((subject) => {
    const open = tokens.at(-1) === '>'
    const fixed = open ? tokens.slice(0, -1) : tokens
    const fits = open ? subject.length > fixed.length : subject.length === fixed.length
    return fits && fixed.every((token, index) => token === '*' || token === subject[index]) ? '1' : '0'
  })
  return BigInt(`0b${bits.join('')}`)
}
const sets = patterns.map(subjectsIn)
const isSubset = (inner: bigint, outer: bigint) => (inner & ~outer) === 0n

test(`of all ${patterns.length ** 2} pairs of patterns up to ${maxTokens} tokens, a rule covers what it matches all of`, () => {
  const wrong: string[] = []
  for (const [i, rule] of patterns.entries()) {
    for (const [j, requested] of patterns.entries()) {
      if (ruleCovers(rule, requested) !== isSubset(sets[j]!, sets[i]!)) wrong.push(`${rule} ${requested}`)
    }
  }
  expect(wrong).toEqual([])
})

test(`of ${cases} capabilities and roles, none that is within the role reaches a subject that the role does not (PATTERN_SEED=${seed})`, () => {
  const random = seededRandom(seed)
  const pick = () =>
    Array.from({ length: 1 + randomBelow(random, 3) }, () => randomBelow(random, patterns.length))
  const union = (list: readonly number[]) => list.reduce((all, index) => all | sets[index]!, 0n)
  const namesOf = (list: readonly number[]) => list.map((index) => patterns[index]!)
  const wrong: string[] = []
  let within = 0
  for (let count = 0; count < cases; count++) {
    const [role, asked] = [pick(), pick()]
    const isWithin = uncovered(namesOf(role), namesOf(asked)).length === 0
    if (isWithin) within += 1
    if (isWithin && !isSubset(union(asked), union(role)))
      wrong.push(`${namesOf(asked).join(' ')} in ${namesOf(role).join(' ')}`)
  }
  expect(wrong).toEqual([])
  expect(within).toBeGreaterThan(0)
})
