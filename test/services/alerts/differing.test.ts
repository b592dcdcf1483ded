import { expect, test } from 'vitest'
import { differing } from '../../../services/alerts/differing.ts'

const verified = (migrationId: string, totalDiscrepancies: number, unreadablePaths = 0) => ({
  id: `id of ${migrationId}`,
  migrationId,
  internalId: `internal ${migrationId}`,
  level: 'size' as const,
  totalDiscrepancies,
  unreadablePaths,
})

test('what was found at the targets of migrations that there are is told', () => {
  const there = ['the a', 'c'].map((name) => ({ internalId: `internal ${name}` }))
  expect(differing([verified('the a', 2, 1), verified('c', 0, 1), verified('deleted', 3)], there)).toEqual([
    {
      object: 'the a',
      value: 3,
      summary:
        'a verification of migration “the a” found 2 differences and 1 unreadable path: see "gantry verifications report id of the a", and verify the same again with --level size once they are resolved',
    },
    { object: 'c', value: 1, summary: expect.stringContaining('found 1 unreadable path: see') as string },
  ])
})
