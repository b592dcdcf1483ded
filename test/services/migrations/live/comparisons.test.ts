import { expect, test } from 'vitest'
import { Comparisons } from '../../../../services/migrations/live/comparisons.ts'

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
