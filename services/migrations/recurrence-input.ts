import { defaultTimeZone, maxPeriodSeconds, periodSeconds } from '../../subjects/migration-recurrence.ts'
import { invalidField } from './invalid.ts'
import { nextOf, type Recurrence } from './recurrence.ts'

/** When scans are to begin, as somebody asks for it. */
interface Asked {
  readonly period?: number | string
  readonly recurringSchedule?: string
  readonly recurringTimeZone?: string
}

/** A recurrence of which nothing is done yet. @throws GantryError INVALID_INPUT */
export function planOf({
  period,
  recurringSchedule: schedule,
  recurringTimeZone: timeZone,
}: Asked): Recurrence {
  const nothingDone = { count: 0, iterations: [] }
  if (schedule !== undefined) {
    if (period !== undefined) throw invalidField('recurringPeriod', 'does not go with recurringSchedule')
    requireSchedule(schedule, timeZone)
    return { schedule, timeZone: timeZone ?? defaultTimeZone, ...nothingDone }
  }
  if (timeZone !== undefined) throw invalidField('recurringTimeZone', 'goes with recurringSchedule')
  const seconds = periodSeconds(period ?? 0)
  if (seconds > maxPeriodSeconds) {
    throw invalidField('recurringPeriod', `must be at most ${maxPeriodSeconds} seconds`)
  }
  return { periodSeconds: seconds, ...nothingDone }
}

/** @throws GantryError INVALID_INPUT for what is no schedule, or one that never comes */
function requireSchedule(schedule: string, timeZone = defaultTimeZone): void {
  if (!isTimeZone(timeZone)) {
    throw invalidField('recurringTimeZone', `must be the name of a time zone such as Europe/Berlin`)
  }
  try {
    if (nextOf(schedule, timeZone, Date.now()) !== null) return
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw invalidField('recurringSchedule', `must be as cron has it, such as "0 22 * * *" (${why})`)
  }
  throw invalidField('recurringSchedule', 'never comes')
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
