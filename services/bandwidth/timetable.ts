import {
  type BandwidthSchedule,
  type BandwidthWindow,
  type Weekday,
  weekdays,
} from '../../subjects/migrations/bandwidth.ts'

/** A moment as the clock on a wall shows it. */
interface WallTime {
  /** From Monday, 0. */
  readonly day: number
  readonly minute: number
}

const minutesPerHour = 60
const formats = new Map<string, Intl.DateTimeFormat>()

/** @throws RangeError for a time zone that nobody knows */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const options = {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  } as const
  const format = new Intl.DateTimeFormat('en-US', options)
  formats.set(timeZone, format)
  return format
}

/** Whether a name is that of a time zone. */
export function isTimeZone(timeZone: string): boolean {
  try {
    formatOf(timeZone)
    return true
  } catch {
    return false
  }
}

function wallTime(timeZone: string, at: Date): WallTime {
  const parts = Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  )
  const day = weekdays.indexOf((parts['weekday'] ?? '').toUpperCase() as Weekday)
  return { day, minute: Number(parts['hour']) * minutesPerHour + Number(parts['minute']) }
}

/** The first window that holds at a moment; undefined outside of all. */
export function windowAt({ timeZone, windows }: BandwidthSchedule, at: Date): BandwidthWindow | undefined {
  const now = wallTime(timeZone, at)
  return windows.find((window) => holds(window, now))
}

function holds({ days, from, to }: BandwidthWindow, { day, minute }: WallTime): boolean {
  const begins = (weekday: number) => days === undefined || days.includes(weekdays[weekday]!)
  const [first, last] = [minuteOf(from), minuteOf(to)]
  if (first < last) return begins(day) && minute >= first && minute < last
  // Over midnight: it belongs to the day on which it begins.
  const dayBefore = (day + weekdays.length - 1) % weekdays.length
  return (begins(day) && minute >= first) || (begins(dayBefore) && minute < last)
}

function minuteOf(text: string): number {
  const [hours, minutes] = text.split(':').map(Number)
  return hours! * minutesPerHour + minutes!
}
