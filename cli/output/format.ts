import { binaryUnit, inBinaryUnit } from '../../subjects/kit/binary-size.ts'
import type { JsonSchema } from '../../subjects/kit/json-schema.ts'

/** `1536` → `1.5 KiB` */
export function sizeText(bytes: number): string {
  const unit = binaryUnit(bytes)
  return `${inBinaryUnit(bytes, unit)} ${unit}`
}

const counts = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** `1234567` → `1,234,567` */
export const countText = (count: number): string => counts.format(count)

/** `3723` → `1 h 02 min` */
export function durationText(seconds: number): string {
  const whole = Math.round(seconds)
  const two = (value: number) => String(value).padStart(2, '0')
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes} min ${two(whole % 60)} s`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h ${two(minutes % 60)} min`
  return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`
}

/** A moment in the time zone of this machine: `2026-03-01 09:05:00`. */
export function momentText(moment: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const date = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join('-')
  return `${date} ${[moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(':')}`
}

/** A value of a reply as people read it; `schema` is its field's, where it is known. */
export function valueText(value: unknown, name: string, schema: JsonSchema = {}): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return numberText(value, name, schema)
  if (typeof value === 'string') return isMoment(value) ? momentText(new Date(value)) : value
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) {
    return value.map((item) => valueText(item, name, schema.items)).join(', ')
  }
  return isRecord(value) ? recordText(value) : JSON.stringify(value)
}

/** A record of plain values in one line; objects in objects stay JSON. */
function recordText(value: Record<string, unknown>): string {
  const entries = Object.entries(value)
  return entries.every(([, one]) => typeof one !== 'object')
    ? entries.map(([key, one]) => `${key}=${String(one)}`).join(' ')
    : JSON.stringify(value)
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isMoment = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(text)

/** Schemas say what a number counts in words alone; a wrong guess shows the number in another unit, in tables only. */
function numberText(value: number, name: string, { description = '' }: JsonSchema): string {
  if (/since 1970/i.test(description) || /millis$/i.test(name)) return momentText(new Date(value))
  if (!Number.isInteger(value) && !/bytes/i.test(name)) return value.toFixed(1)
  return /\bbytes\b/i.test(description) || /byte/i.test(name) ? sizeText(value) : String(value)
}
