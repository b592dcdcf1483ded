import { operationText } from '../../subjects/access/audit.ts'
import { unlimited } from '../../subjects/migrations/bandwidth.ts'
import { rateText, sizeText } from '../../subjects/kit/binary-size.ts'
import type { JsonSchema } from '../../subjects/kit/json-schema.ts'

let counts: Intl.NumberFormat | undefined

/** `1234567` → `1,234,567` */
export function countText(count: number): string {
  // Made when it is first needed: it takes a tenth of the start of a command.
  counts ??= new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
  return counts.format(count)
}

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

/** A moment in the time zone of this machine, which it names: `2026-03-01 09:05:00 +01:00`. */
export function momentText(moment: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const date = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join('-')
  const time = [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(':')
  return `${date} ${time} ${zoneText(-moment.getTimezoneOffset())}`
}

function zoneText(minutesEast: number): string {
  if (minutesEast === 0) return 'UTC'
  const minutes = Math.abs(minutesEast)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${minutesEast < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

/** A value of a reply as people read it; `schema` is its field's, where it is known. */
export function valueText(value: unknown, name: string, schema: JsonSchema = {}): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return numberText(value, name, schema)
  if (typeof value === 'string') {
    if (name === 'what') return operationText(value)
    return isMoment(value) ? momentText(new Date(value)) : value
  }
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value
    const isPlain = items.every((item) => typeof item !== 'object')
    return items.map((item) => valueText(item, name, schema.items)).join(isPlain ? ', ' : '; ')
  }
  return entriesOf(value, '', schema).join(' ')
}

/** What is in an object in one line: `pub.allow=a, b pub.deny=c`. */
const entriesOf = (value: object, before: string, schema: JsonSchema): string[] =>
  Object.entries(value).flatMap(([key, one]: [string, unknown]) => {
    const field = schema.properties?.[key] ?? {}
    const isOuter = typeof one === 'object' && one !== null && !Array.isArray(one)
    if (isOuter) return entriesOf(one, `${before}${key}.`, field)
    const text = valueText(one, key, field)
    return text === '' ? [] : [`${before}${key}=${text}`]
  })

const isMoment = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(text)

/** Schemas say what a number counts in words alone; a wrong guess shows the number in another unit, in tables only. */
function numberText(value: number, name: string, { description = '' }: JsonSchema): string {
  if (value === unlimited && /-1 (?:for no limit|stands for none)/.test(description)) return 'no limit'
  if (/since 1970/i.test(description) || /millis$/i.test(name)) return momentText(new Date(value))
  if (/bytesPerSecond/i.test(name)) return rateText(value)
  if (!Number.isInteger(value) && !/bytes/i.test(name)) return value.toFixed(1)
  return /\bbytes\b/i.test(description) || /byte/i.test(name) ? sizeText(value) : String(value)
}
