import { expect, test } from 'vitest'
import { expiring } from '../../../services/alerts/expiring.ts'

const dayMs = 86_400_000
const createdMs = Date.parse('2026-01-01T00:00:00.000Z')
const at = (days: number) => new Date(createdMs + days * dayMs).toISOString()

test.for([
  ['within the threshold', 90, 14, 14],
  ['a life as short as the threshold', 14, 14, 14 / 3],
  ['a life of a day', 1, 14, 1 / 3],
  ['a short threshold', 30, 3, 3],
] as const)('%s: a key of %d days and a threshold of %d', ([, life, threshold, left]) => {
  const key = { id: 'k0', created: at(0), expires: at(life) }
  const told = (daysLeft: number) => expiring(key, threshold, createdMs + (life - daysLeft) * dayMs)
  expect(told(life)).toEqual([])
  expect(told(left + 0.01)).toEqual([])
  expect(told(left - 0.01)).toEqual([
    {
      object: 'k0',
      value: Math.round(100 * (left - 0.01)) / 100,
      summary: `the key k0 expires at ${at(life)}`,
    },
  ])
})
