import { expect, test } from 'vitest'
import { differing } from '../../../services/alerts/differing.ts'

const verified = (migrationId: string, totalDiscrepancies: number, unreadablePaths = 0) => ({
  migrationId,
  totalDiscrepancies,
  unreadablePaths,
})

test('the last verification of each migration that there is counts', () => {
  const all = [verified('the a', 2, 1), verified('the a', 0), verified('b', 0), verified('b', 7)]
  const there = ['the a', 'b', 'c'].map((migrationId) => ({ migrationId }))
  expect(differing([...all, verified('c', 0, 1), verified('deleted', 3)], there)).toEqual([
    {
      object: 'the a',
      value: 3,
      summary: `the last verification of migration “the a” found 2 differences and 1 unreadable path: see "gantry verifications report 'the a'", and verify it again once they are resolved`,
    },
    { object: 'c', value: 1, summary: expect.stringContaining('found 1 unreadable path: see') as string },
  ])
})
