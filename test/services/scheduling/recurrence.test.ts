import { describe, expect, test } from 'vitest'
import { changed } from '../../../services/migrations/api/update.ts'
import {
  begun,
  ended,
  isOpen,
  mayRun,
  nextOf,
  type Recurrence,
  trackerOf,
  unused,
  windowChangeMs,
} from '../../../services/scheduling/recurrence.ts'
import { planOf } from '../../../services/migrations/api/recurrence-input.ts'
import { maxIterations, periodSeconds } from '../../../subjects/migrations/model/recurrence.ts'
import { migrationRecord } from '../../support/migration-records.ts'

const ms = (iso: string) => Date.parse(`2026-02-01T${iso}Z`)
const outcome = { filesMigrated: 2, bytesMigrated: 20, failedPathCount: 1 }
const scanFrom = (plan: Recurrence, from: string, to: string) => ended(begun(plan, ms(from)), outcome, ms(to))

describe('a period', () => {
  test.each([
    [90, 90],
    ['30S', 30],
    ['10M', 600],
    ['4H', 14_400],
    ['1d', 86_400],
  ])('%s is %i seconds', (period, seconds) => {
    expect(periodSeconds(period)).toBe(seconds)
    expect(planOf({ period })).toMatchObject({ periodSeconds: seconds })
  })

  test('counts from start to start', () => {
    const { nextRun } = scanFrom(planOf({ period: '1H' }), '10:00:00', '10:20:00')
    expect(nextRun).toBe('2026-02-01T11:00:00.000Z')
  })

  test('that was over before the scan was makes the next one due at once', () => {
    const { nextRun } = scanFrom(planOf({ period: '1M' }), '10:00:00', '10:20:00')
    expect(Date.parse(nextRun!)).toBeLessThanOrEqual(ms('10:20:00'))
    expect(scanFrom(planOf({ period: 0 }), '10:00:00', '10:20:00').nextRun).toBe('2026-02-01T10:00:00.000Z')
  })
})

describe('a schedule', () => {
  const nightly = planOf({ recurringSchedule: '0 22 * * *', recurringTimeZone: 'Europe/Berlin' })

  test('is of its time zone', () => {
    expect(scanFrom(nightly, '10:00:00', '10:20:00').nextRun).toBe('2026-02-01T21:00:00.000Z')
    const { nextRun } = scanFrom(planOf({ recurringSchedule: '0 22 * * *' }), '10:00:00', '10:20:00')
    expect(nextRun).toBe('2026-02-01T22:00:00.000Z')
  })

  test('leaves out what passed during a scan', () => {
    const { nextRun } = scanFrom(planOf({ recurringSchedule: '*/10 * * * *' }), '10:00:00', '10:25:00')
    expect(nextRun).toBe('2026-02-01T10:30:00.000Z')
  })

  test('comes once when clocks are set back, and comes all the same when they are set forward', () => {
    const times = (schedule: string, from: string) => {
      const found: string[] = []
      for (let at = Date.parse(from); found.length < 2; at = Date.parse(found.at(-1)!))
        found.push(nextOf(schedule, 'Europe/Berlin', at)!.toISOString())
      return found
    }
    expect(times('30 2 * * *', '2026-10-24T12:00:00Z')).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ])
    const [first, second] = times('30 2 * * *', '2026-03-28T12:00:00Z')
    expect(first).toMatch(/^2026-03-29T01:/)
    expect(second).toBe('2026-03-30T00:30:00.000Z')
  })
})

describe('a window', () => {
  const plan = (window: number | string, schedule = '0 22 * * *') =>
    planOf({ recurringSchedule: schedule, recurringTimeZone: 'Europe/Berlin', recurringWindow: window })

  test('begins with each time of the schedule, in its time zone, and its end is no part of it', () => {
    const nightly = plan('8H')
    expect(nightly).toMatchObject({ windowSeconds: 28_800 })
    expect(isOpen(nightly, ms('20:59:59.999'))).toBe(false)
    expect(isOpen(nightly, ms('21:00:00'))).toBe(true)
    expect(isOpen(nightly, ms('04:59:59.999'))).toBe(true)
    expect(isOpen(nightly, ms('05:00:00'))).toBe(false)
    expect(windowChangeMs(nightly, ms('04:00:00.500'))).toBe(ms('05:00:00'))
    expect(windowChangeMs(nightly, ms('05:00:00'))).toBe(ms('21:00:00'))
    expect(unused(nightly)).toEqual(nightly)
  })

  test('may overlap with the next', () => {
    const always = plan('90M', '0 * * * *')
    expect(isOpen(always, ms('10:45:00'))).toBe(true)
    expect(mayRun(always, ms('01:00:00'), ms('10:30:00'))).toBe(true)
  })

  test('without one it may run at any time', () => {
    expect(plan(0).windowSeconds).toBeUndefined()
    expect(isOpen(plan(0), ms('12:00:00'))).toBe(true)
    expect(windowChangeMs(plan(0), ms('12:00:00'))).toBeUndefined()
    expect(mayRun(planOf({ period: 60 }), ms('10:00:00'), ms('12:00:00'))).toBe(true)
  })

  test('is lasting in a change, until it is changed itself or the schedule goes', () => {
    const recurring = migrationRecord({ kind: 'recurring', recurrence: plan('8H') })
    const windowAfter = (changes: Parameters<typeof changed>[1]) =>
      changed(recurring, changes, ms('10:00:00')).recurrence?.windowSeconds
    expect(windowAfter({ recurringSchedule: '0 20 * * *' })).toBe(28_800)
    expect(windowAfter({ recurringWindow: '1H' })).toBe(3_600)
    expect(windowAfter({ recurringWindow: 0 })).toBeUndefined()
    expect(windowAfter({ recurringPeriodSeconds: 60 })).toBeUndefined()
  })
})

describe('what cannot be is refused, by its field', () => {
  test.each([
    [{ recurringSchedule: 'every night' }, 'recurringSchedule must be a cron expression'],
    [{ recurringSchedule: '61 * * * *' }, 'recurringSchedule must be a cron expression'],
    [{ recurringSchedule: '0 0 31 2 *' }, 'recurringSchedule has no time in the future'],
    [
      { recurringSchedule: '0 0 * * *', recurringTimeZone: 'Mars/Olympus' },
      'recurringTimeZone must be the name',
    ],
    [
      { recurringSchedule: '0 0 * * *', period: 60 },
      'recurringPeriod cannot be combined with recurringSchedule',
    ],
    [{ recurringTimeZone: 'UTC', period: 60 }, 'recurringTimeZone is only for recurringSchedule'],
    [{ recurringWindow: '8H', period: 60 }, 'recurringWindow is only for recurringSchedule'],
    [
      { recurringWindow: 59, recurringSchedule: '0 0 * * *' },
      'recurringWindow must be 0 (none) or at least 60',
    ],
    [{ period: '9999D' }, 'recurringPeriod must be at most'],
  ])('%j', (asked, message) => {
    expect(() => planOf(asked)).toThrow(message)
  })
})

test('a scan that was only interrupted is one; a folder scanned in between is none', () => {
  const plan = begun(planOf({ period: 60 }), ms('10:00:00'))
  expect(begun(plan, ms('10:05:00'))).toBe(plan)
  const over = ended(plan, outcome, ms('10:20:00'))
  expect(ended(over, outcome, ms('10:40:00'))).toBe(over)
  expect(over).toMatchObject({ count: 1, iterations: [{ iteration: 1, ...outcome }] })
})

test('the last iterations are remembered, and all are counted', () => {
  let plan = planOf({ period: 0 })
  for (let i = 0; i < maxIterations + 5; i++) plan = scanFrom(plan, '10:00:00', '10:00:10')
  const tracker = trackerOf(plan, ms('10:00:10'))
  expect(tracker).toMatchObject({ recurringCount: maxIterations + 5, avgDurationInSeconds: 10 })
  expect(tracker.scansInLastTwentyFourHours).toBe(maxIterations)
  expect(tracker.iterations).toHaveLength(maxIterations)
  expect(tracker.iterations.at(-1)).toMatchObject({ iteration: maxIterations + 5, durationInSeconds: 10 })
  expect(trackerOf(plan, ms('10:00:10') + 8 * 24 * 3_600_000).scansInLastSevenDays).toBe(0)
  expect(unused(plan)).toEqual(planOf({ period: 0 }))
})

describe('a change', () => {
  const recurring = migrationRecord({
    kind: 'recurring',
    recurrence: scanFrom(planOf({ period: '1H' }), '10:00:00', '10:20:00'),
  })

  test('of the period changes the next time', () => {
    const { recurrence } = changed(recurring, { recurringPeriodSeconds: 1_800 }, ms('10:21:00'))
    expect(recurrence).toMatchObject({ periodSeconds: 1_800, nextRun: '2026-02-01T10:30:00.000Z', count: 1 })
  })

  test('of the period is one, with a unit or in seconds', () => {
    const { recurrence } = changed(recurring, { recurringPeriod: '30M' }, ms('10:21:00'))
    expect(recurrence).toMatchObject({ periodSeconds: 1_800 })
    const both = { recurringPeriod: '30M', recurringPeriodSeconds: 1_800 }
    expect(() => changed(recurring, both, 0)).toThrow(
      'recurringPeriodSeconds cannot be combined with recurringPeriod',
    )
  })

  test('to a schedule takes the place of the period, and back', () => {
    const byCron = changed(recurring, { recurringSchedule: '0 22 * * *' }, ms('10:21:00'))
    expect(byCron.recurrence).toMatchObject({ schedule: '0 22 * * *', timeZone: 'UTC' })
    expect(byCron.recurrence?.periodSeconds).toBeUndefined()
    const elsewhere = changed(byCron, { recurringTimeZone: 'Asia/Tokyo' }, ms('10:21:00'))
    expect(elsewhere.recurrence?.nextRun).toBe('2026-02-01T13:00:00.000Z')
    const again = changed(elsewhere, { recurringPeriodSeconds: 60 }, ms('10:21:00'))
    expect(again.recurrence).toMatchObject({ periodSeconds: 60 })
    expect(again.recurrence?.schedule).toBeUndefined()
  })

  test('of the priority leaves the rest', () => {
    expect(changed(recurring, { migrationPriority: 'HIGH' }, 0)).toEqual({ ...recurring, priority: 'HIGH' })
  })

  test('of the movers leaves the rest, and a live one is moved by the platform', () => {
    expect(changed(recurring, { movedBy: 'AGENTS' }, 0)).toEqual({ ...recurring, movedBy: 'AGENTS' })
    const live = migrationRecord({ kind: 'live' })
    expect(changed(live, { movedBy: 'SERVER' }, 0)).toEqual({ ...live, movedBy: 'SERVER' })
    expect(() => changed(live, { movedBy: 'AGENTS' }, 0)).toThrow(
      'movedBy must not be AGENTS for a live migration',
    )
  })

  test('of a recurrence that there is none of is refused', () => {
    const change = () => changed(migrationRecord(), { recurringPeriodSeconds: 1 }, 0)
    expect(change).toThrow(
      'recurringPeriodSeconds is only for recurring migrations; this migration is one-time',
    )
  })
})
