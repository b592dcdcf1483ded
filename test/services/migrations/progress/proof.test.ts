import { expect, test } from 'vitest'
import { addSums, lossOf, sumBetween, sumOfAll } from '../../../../services/migrations/progress/proof.ts'
import { SequenceRuns } from '../../../../services/migrations/progress/sequence-runs.ts'
import { randomBelow, seededRandom } from '../../../support/random.ts'

const sum = (sequences: readonly number[]) => sequences.reduce(addSums, 0)
const booked = (...sequences: number[]) => ({ done: sequences.length, sum: sum(sequences), published: 0 })
const empty = { messages: 0, lastSequence: 4 }

test('an empty queue is proven to be done by number and sum of what was done', () => {
  const isExact = true
  expect(lossOf(empty, booked(3, 1, 2, 4), { isExact })).toBeUndefined()
  expect(lossOf(empty, booked(1, 2, 4), { isExact })).toEqual({ items: 1, isBroken: false })
  // One came back and was done twice, another is missing.
  expect(lossOf(empty, booked(1, 1, 2, 4), { isExact })).toEqual({ items: 1, isBroken: false })
  expect(lossOf(empty, booked(1, 2, 3, 4, 4), { isExact })).toEqual({ items: 1, isBroken: false })
  // Something was counted meanwhile: it is to be asked once more.
  expect(lossOf(empty, booked(1, 2, 3, 4, 5))).toBeUndefined()
})

test('what is neither there nor done is lost while something waits, too', () => {
  expect(lossOf({ messages: 2, lastSequence: 4 }, booked(1, 2))).toBeUndefined()
  expect(lossOf({ messages: 1, lastSequence: 4 }, booked(1))).toEqual({ items: 2, isBroken: false })
})

test('a queue whose last sequence is lower than one that it gave has lost its end', () => {
  const { done, sum: total } = booked(1, 2, 3, 4)
  expect(lossOf(empty, { done, sum: total, published: 6 })).toEqual({ items: 2, isBroken: true })
})

test('sums stay exact beyond what a number holds', () => {
  const last = 3_000_000_000
  const more = sumBetween(sumOfAll(last), sumOfAll(last + 2))
  expect(more).toBe(addSums(last + 1, last + 2))
  expect(sumOfAll(5)).toBe(15)
})

test('runs of sequences have what was added, whatever the order', () => {
  const random = seededRandom(16)
  const runs = new SequenceRuns()
  const added = new Set<number>()
  for (let step = 0; step < 2_000; step++) {
    const sequence = 1 + randomBelow(random, 1_500)
    expect(runs.has(sequence)).toBe(added.has(sequence))
    runs.add(sequence)
    added.add(sequence)
  }
  for (let sequence = 0; sequence <= 1_501; sequence++) expect(runs.has(sequence)).toBe(added.has(sequence))
})
