import { expect, test } from 'vitest'
import { monotonicMs } from '../../../../broker/common/monotonic.ts'
import { Comparisons } from '../../../../services/migrations/live/comparisons.ts'

test('what was missed is made up for by a comparison that is over, or by who missed nothing', () => {
  const first = new Comparisons(undefined)
  expect(first.isGapOpen).toBe(false)
  const later = new Comparisons(monotonicMs())
  expect(later.isGapOpen).toBe(true)
  later.begin()
  // A kill now would leave something missing.
  expect(later.isGapOpen).toBe(true)
  later.end()
  expect(later.isGapOpen).toBe(false)
  const told = new Comparisons(monotonicMs())
  told.nothingMissed()
  expect(told.isGapOpen).toBe(false)
  expect(told.dueMs).toBeUndefined()
})

test('one is due since the oldest of what it was asked for', () => {
  const comparisons = new Comparisons(undefined)
  for (const sinceMs of [100, 50, 70]) comparisons.ask(sinceMs)
  expect(comparisons.dueMs).toBe(50)
  expect(comparisons.begin()).toBe(50)
  expect(comparisons.dueMs).toBeUndefined()
})

test('that no change was missed is no reason to drop one that was asked for', () => {
  const comparisons = new Comparisons(10)
  comparisons.ask(100)
  comparisons.nothingMissed()
  expect(comparisons.dueMs).toBe(100)
  comparisons.begin()
  comparisons.nothingMissed()
  expect(comparisons.dueMs).toBeUndefined()
})
