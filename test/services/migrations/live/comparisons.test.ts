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
