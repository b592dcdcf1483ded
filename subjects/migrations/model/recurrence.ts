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
        Type.String(form('^[0-9]{1,8}[SsMmHhDd]$', 'a number with its unit: 30S, 10M, 4H or 1D')),
      ],
      choice(
        description,
        `a number of seconds, at most ${maxPeriodSeconds}, or a number with its unit: 30S, 10M, 4H or 1D`,
      ),
    ),
  )

export const recurringPeriod = duration(
  'Time from the start of one scan to the start of the next: seconds, or 30S, 10M, 4H, 1D; default 0, at once',
)

/** Shortest window, the grain of most schedules: to hand out work and take it back takes seconds. */
export const minWindowSeconds = 60

export const recurringWindow = duration(
  'With a schedule: how long from each of its times on the migration may run, such as 8H. What is left then waits for the next time, and goes on where it was. Default 0: until it is done',
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
      'In place of a period: when scans begin, as cron has it (minute hour day month weekday, or with seconds before them)',
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
  recurringCount: Count('Scans that were begun'),
  scansInLastTwentyFourHours: Count(`Of the last ${maxIterations}`),
  scansInLastSevenDays: Count(`Of the last ${maxIterations}`),
  avgDurationInSeconds: Count(`Of those of the last ${maxIterations} that are over`),
  iterations: list(
    strict({
      iteration: Count('Number, from 1 on'),
      startTime: Timestamp('When it began'),
      completeTime: Type.Optional(Timestamp('When it was over')),
      durationInSeconds: Type.Optional(Count('Seconds')),
      filesMigrated: Count('Files and links copied'),
      bytesMigrated: Count('Their bytes'),
      failedPathCount: Count('Paths that did not arrive'),
    }),
    maxIterations,
  ),
})
