import { type FileAttributes, type Loss, type Losses, nothingLost } from './driver.ts'

/* Values of the metadata in which object stores keep attributes. */

/** RFC 3339 has years of four digits only; a time outside of them is not kept. */
const earliestMs = Date.parse('0000-01-01T00:00:00Z')
const latestMs = Date.parse('9999-12-31T23:59:59Z')
export const isInCalendar = (ms: number): boolean => ms >= earliestMs && ms <= latestMs

/** What of attributes no metadata keep whose times are RFC 3339. */
export function lossesOf({ modifiedMs, extended }: FileAttributes): Losses {
  const losses: Loss[] = []
  if (modifiedMs !== undefined && !isInCalendar(modifiedMs)) losses.push('time')
  if (extended !== undefined && (extended.all.length > 0 || !extended.isComplete)) losses.push('attributes')
  return losses.length === 0 ? nothingLost : losses
}

/** Up to the 32 bits that Linux has for each of them. */
export function parseId(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined
  const value = Number(text)
  return value < 2 ** 32 ? value : undefined
}

/** With nine digits, so that the same number comes back: a double near today's milliseconds steps by 244 ns. */
export function formatTime(ms: number): string {
  const wholeMs = Math.floor(ms)
  const nanoseconds = Math.min(Math.round((ms - wholeMs) * 1e6), 999_999)
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(nanoseconds).padStart(6, '0')}Z`
}

export function parseTime(text: string | undefined): number | undefined {
  const match =
    text === undefined
      ? null
      : /^(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/.exec(text)
  if (match === null) return undefined
  const [, seconds, fraction = '', zone] = match
  const ms = Date.parse(`${seconds}${zone}`.toUpperCase())
  return Number.isNaN(ms) ? undefined : ms + Number(fraction.padEnd(9, '0')) / 1e6
}
