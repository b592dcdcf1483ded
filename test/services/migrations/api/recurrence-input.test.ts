import { expect, test } from 'vitest'
import { planOf } from '../../../../services/migrations/api/recurrence-input.ts'

const noneDone = { count: 0, iterations: [] }

test('a recurrence has a period, 0 included, or a schedule', () => {
  expect(planOf({ period: '1H' })).toEqual({ periodSeconds: 3_600, ...noneDone })
  expect(planOf({ period: 0 })).toEqual({ periodSeconds: 0, ...noneDone })
  expect(planOf({ recurringSchedule: '0 22 * * *' })).toMatchObject({ schedule: '0 22 * * *' })
  expect(() => planOf({})).toThrow('recurringPeriod is required for a recurring migration')
  // What is wrong with it otherwise is told first.
  expect(() => planOf({ recurringWindow: '1H' })).toThrow('recurringWindow is only for recurringSchedule')
})
