import { notAccepted } from '../../../subjects/kit/errors.ts'
import {
  defaultTimeZone,
  maxPeriodSeconds,
  minWindowSeconds,
  periodSeconds,
} from '../../../subjects/migrations/model/recurrence.ts'
import { nextOf, type Recurrence } from '../../scheduling/recurrence.ts'

/** When scans are to begin, as somebody asks for it. */
interface Asked {
  readonly period?: number | string
  readonly recurringSchedule?: string
  readonly recurringTimeZone?: string
  readonly recurringWindow?: number | string
}

/** A recurrence of which nothing is done yet. @throws GantryError NOT_ACCEPTED */
export function planOf({
  period,
  recurringSchedule: schedule,
  recurringTimeZone: timeZone,
  recurringWindow: window = 0,
}: Asked): Recurrence {
  const nothingDone = { count: 0, iterations: [] }
  if (schedule !== undefined) {
    if (period !== undefined)
      throw notAccepted('recurringPeriod', 'cannot be combined with recurringSchedule')
    requireSchedule(schedule, timeZone)
    const plan = { schedule, timeZone: timeZone ?? defaultTimeZone, ...nothingDone }
    const windowSeconds = secondsOf('recurringWindow', window)
    if (windowSeconds === 0) return plan
    if (windowSeconds < minWindowSeconds)
      throw notAccepted('recurringWindow', `must be 0 (none) or at least ${minWindowSeconds} seconds`)
    return { ...plan, windowSeconds }
  }
  if (window !== 0) throw notAccepted('recurringWindow', 'is only for recurringSchedule')
  if (timeZone !== undefined) throw notAccepted('recurringTimeZone', 'is only for recurringSchedule')
  // Scans without a pause are nothing that somebody forgets to ask for.
  if (period === undefined)
    throw notAccepted(
      'recurringPeriod',
      'is required for a recurring migration without recurringSchedule: set a period such as 1H, or 0 to start each scan when the previous one is done',
    )
  return { periodSeconds: secondsOf('recurringPeriod', period), ...nothingDone }
}

/** @throws GantryError NOT_ACCEPTED for more than the longest period */
function secondsOf(field: string, duration: number | string): number {
  const seconds = periodSeconds(duration)
  if (seconds > maxPeriodSeconds) throw notAccepted(field, `must be at most ${maxPeriodSeconds} seconds`)
  return seconds
}

/** @throws GantryError NOT_ACCEPTED for what is no schedule, or one that never comes */
function requireSchedule(schedule: string, timeZone = defaultTimeZone): void {
  if (!isTimeZone(timeZone)) {
    throw notAccepted('recurringTimeZone', `must be the name of a time zone, such as Europe/Berlin`)
  }
  try {
    if (nextOf(schedule, timeZone, Date.now()) !== null) return
  } catch (cause) {
    throw notAccepted(
      'recurringSchedule',
      'must be a cron expression such as "0 22 * * *": minute, hour, day of the month, month, day of the week',
      cause,
    )
  }
  throw notAccepted('recurringSchedule', 'has no time in the future: correct the day or the month')
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
