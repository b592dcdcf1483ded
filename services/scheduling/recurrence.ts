import { Cron } from 'croner'
import { type Static, Type } from 'typebox'
import { defaultTimeZone, maxIterations } from '../../subjects/migrations/model/recurrence.ts'
import { Count, list, strict, Timestamp } from '../../subjects/kit/schemas.ts'

/** When a recurring migration scans again, and what became of its scans; as it is stored. */
export const Recurrence = strict({
  /** From start to start; either this or a schedule. */
  periodSeconds: Type.Optional(Count('Seconds')),
  /** Cron. */
  schedule: Type.Optional(Type.String({ maxLength: 200 })),
  /** IANA name, for the schedule. */
  timeZone: Type.Optional(Type.String({ maxLength: 60 })),
  /** From each time of the schedule on; without it a scan runs until it is done. */
  windowSeconds: Type.Optional(Count('Seconds')),
  /** In the record, so that a time that passed while the platform was down is made up for, once. */
  nextRun: Type.Optional(Timestamp('When the next scan is to begin')),
  /** Scans that were begun. */
  count: Count('How many'),
  /** The last of them; the one that runs has no end yet. */
  iterations: list(
    strict({
      iteration: Count('Number'),
      started: Timestamp('When it began'),
      completed: Type.Optional(Timestamp('When it was over')),
      filesMigrated: Count('Files and links copied'),
      bytesMigrated: Count('Their bytes'),
      failedPathCount: Count('Paths that did not arrive'),
    }),
    maxIterations,
  ),
})
export type Recurrence = Static<typeof Recurrence>

type Outcome = Pick<Recurrence['iterations'][number], 'filesMigrated' | 'bytesMigrated' | 'failedPathCount'>

/** The same plan, with nothing done yet. */
export function unused({ periodSeconds, schedule, timeZone, windowSeconds }: Recurrence): Recurrence {
  return {
    ...(periodSeconds === undefined ? {} : { periodSeconds }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(timeZone === undefined ? {} : { timeZone }),
    ...(windowSeconds === undefined ? {} : { windowSeconds }),
    count: 0,
    iterations: [],
  }
}

/** A scan begins; nothing changes when one is under way, as it was only interrupted. */
export function begun(recurrence: Recurrence, nowMs: number): Recurrence {
  if (isUnderWay(recurrence)) return recurrence
  const { nextRun: _reached, ...plan } = recurrence
  const started = new Date(nowMs).toISOString()
  const count = recurrence.count + 1
  const begins = { iteration: count, started, filesMigrated: 0, bytesMigrated: 0, failedPathCount: 0 }
  return { ...plan, count, iterations: [...recurrence.iterations, begins].slice(-maxIterations) }
}

/** The scan is over. A rescan of a folder in between is none, and changes nothing. */
export function ended(recurrence: Recurrence, outcome: Outcome, nowMs: number): Recurrence {
  const last = recurrence.iterations.at(-1)
  if (last === undefined || !isUnderWay(recurrence)) return recurrence
  const completed = { ...last, ...outcome, completed: new Date(nowMs).toISOString() }
  return planned({ ...recurrence, iterations: [...recurrence.iterations.slice(0, -1), completed] }, nowMs)
}

/**
 * With the time of the next scan. A period counts from start to start, and one that is over already is due at once. Times
 * of a schedule that passed during a scan are left out.
 */
export function planned(recurrence: Recurrence, nowMs: number): Recurrence {
  const { nextRun: _before, ...rest } = recurrence
  const last = recurrence.iterations.at(-1)
  if (last?.completed === undefined) return rest
  const next = nextTime(recurrence, Date.parse(last.started), nowMs)
  return next === undefined ? rest : { ...rest, nextRun: next.toISOString() }
}

function nextTime(
  { schedule, timeZone, periodSeconds = 0 }: Recurrence,
  startedMs: number,
  nowMs: number,
): Date | undefined {
  if (schedule === undefined) return new Date(startedMs + periodSeconds * 1_000)
  return nextOf(schedule, timeZone, nowMs) ?? undefined
}

/** The next time of a cron schedule after a moment; null when there is none. @throws Error that says what is wrong with it */
export const nextOf = (schedule: string, timeZone = defaultTimeZone, afterMs: number): Date | null =>
  new Cron(schedule, { timezone: timeZone }).nextRun(new Date(afterMs))

type Plan = Pick<Recurrence, 'schedule' | 'timeZone' | 'windowSeconds'>

/** Whether a moment is in a window of the schedule: from its beginning on, its end left out. Without windows all are. */
export function isOpen({ schedule, timeZone, windowSeconds }: Plan, atMs: number): boolean {
  if (schedule === undefined || windowSeconds === undefined) return true
  const begins = nextOf(schedule, timeZone, atMs - windowSeconds * 1_000)
  return begins !== null && begins.getTime() <= atMs
}

/**
 * Whether a migration may run: in a window, and when somebody asked for it outside of one, from then on to the end of the
 * next.
 * @param askedMs when it was asked to run
 */
export function mayRun(recurrence: Plan, askedMs: number, nowMs: number): boolean {
  const { schedule, timeZone } = recurrence
  if (schedule === undefined || isOpen(recurrence, nowMs)) return true
  if (isOpen(recurrence, askedMs)) return false
  const next = nextOf(schedule, timeZone, askedMs)
  return next === null || next.getTime() > nowMs
}

/** When the next window begins or ends, in milliseconds since 1970; undefined when there are none. */
export function windowChangeMs(recurrence: Plan, nowMs: number): number | undefined {
  const { schedule, timeZone, windowSeconds } = recurrence
  if (schedule === undefined || windowSeconds === undefined) return undefined
  const windowMs = windowSeconds * 1_000
  if (!isOpen(recurrence, nowMs)) return nextOf(schedule, timeZone, nowMs)?.getTime()
  const began = nextOf(schedule, timeZone, nowMs - windowMs)
  return began === null ? undefined : began.getTime() + windowMs
}

const isUnderWay = ({ iterations }: Recurrence): boolean =>
  iterations.length > 0 && iterations.at(-1)?.completed === undefined

const daySeconds = 24 * 3_600

/** The scans so far, as callers see them; the last ones by themselves. */
export function trackerOf({ count, iterations }: Recurrence, nowMs: number, shown = maxIterations) {
  const durations = iterations.flatMap(({ started, completed }) =>
    completed === undefined ? [] : secondsOf(started, completed),
  )
  const since = (seconds: number) =>
    iterations.filter(({ started }) => Date.parse(started) > nowMs - seconds * 1_000).length
  const sum = durations.reduce((total, one) => total + one, 0)
  return {
    recurringCount: count,
    scansInLastTwentyFourHours: since(daySeconds),
    scansInLastSevenDays: since(7 * daySeconds),
    avgDurationInSeconds: durations.length === 0 ? 0 : Math.round(sum / durations.length),
    iterations: iterations.slice(-shown).map(({ started, completed, ...iteration }) => ({
      ...iteration,
      startTime: started,
      ...(completed === undefined
        ? {}
        : { completeTime: completed, durationInSeconds: secondsOf(started, completed) }),
    })),
  }
}

const secondsOf = (started: string, completed: string): number =>
  Math.max(0, Math.round((Date.parse(completed) - Date.parse(started)) / 1_000))
