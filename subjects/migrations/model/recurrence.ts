import { Type } from 'typebox'
import { choice, form } from '../../kit/forms.ts'
import { Count, list, model, strict, Timestamp, TimeZone } from '../../kit/schemas.ts'

/** Times of a schedule, unless it says otherwise. */
export const defaultTimeZone = 'UTC'

/** Longest period: what recurs less often than once a year is started by hand. */
export const maxPeriodSeconds = 366 * 24 * 3600

/** Seconds, or a number with its unit, as the existing product's command line takes it. */
const duration = (description: string) =>
  Type.Optional(
    Type.Union(
      [
        Type.Integer({ minimum: 0, maximum: maxPeriodSeconds }),
        Type.String(form('^[0-9]{1,8}[SsMmHhDd]$', 'a number with a unit: 30S, 10M, 4H or 1D')),
      ],
      choice(
        description,
        `a number of seconds, at most ${maxPeriodSeconds}, or a number with a unit: 30S, 10M, 4H or 1D`,
      ),
    ),
  )

const periodHelp =
  'Time between the starts of two scans: seconds, or 30S, 10M, 4H, 1D; with 0, each scan starts when the previous one is done'

export const recurringPeriod = duration(
  `${periodHelp}. Required for recurring migrations without recurringSchedule`,
)

/** The same of a migration that has one. */
export const newPeriod = duration(periodHelp)

/** Shortest window, the grain of most schedules: to hand out work and take it back takes seconds. */
export const minWindowSeconds = 60

export const recurringWindow = duration(
  'With a schedule: how long each run may take, such as 8H; the rest continues at the next run. Default 0: no limit',
)

/** What they mean, in seconds. */
const units = { S: 1, M: 60, H: 3_600, D: 86_400 } as const

/** A period as seconds; more than the longest is possible when it has a unit. */
export function periodSeconds(period: number | string): number {
  if (typeof period === 'number') return period
  const unit = period.slice(-1).toUpperCase()
  return Number(period.slice(0, -1)) * units[unit as keyof typeof units]
}

export const recurringSchedule = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 200,
    description:
      'Instead of a period: start times as a cron expression (minute hour day month weekday, optionally preceded by seconds)',
  }),
)

export const recurringTimeZone = Type.Optional(
  TimeZone(`Time zone of the schedule, such as Europe/Berlin; default ${defaultTimeZone}`),
)

/**
 * Iterations that are remembered: those of four days at one in half an hour. Each takes some 150 bytes of a record that is
 * written with every change of its state.
 */
export const maxIterations = 200

export const RecurringMigrationTracker = model('RecurringMigrationTracker', {
  recurringCount: Count('Scans started'),
  scansInLastTwentyFourHours: Count(`Scans in the last 24 hours, among the last ${maxIterations} scans`),
  scansInLastSevenDays: Count(`Scans in the last seven days, among the last ${maxIterations} scans`),
  avgDurationInSeconds: Count(
    `Average duration in seconds of the completed scans among the last ${maxIterations}`,
  ),
  iterations: list(
    strict({
      iteration: Count('Number of the scan, starting at 1'),
      startTime: Timestamp('Start time'),
      completeTime: Type.Optional(Timestamp('End time')),
      durationInSeconds: Type.Optional(Count('Duration in seconds')),
      filesMigrated: Count('Files and links copied'),
      bytesMigrated: Count('Bytes of the copied files'),
      failedPathCount: Count('Paths that could not be copied'),
    }),
    maxIterations,
  ),
})
