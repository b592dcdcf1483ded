import type { TSchema } from 'typebox'
import { coerceField, type FieldText } from '../../subjects/kit/coerce.ts'
import { fieldsOf, type JsonSchema, jsonSchema } from '../../subjects/kit/json-schema.ts'

const truths: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  1: true,
  false: false,
  no: false,
  off: false,
  0: false,
}

/** Date, time, seconds, fraction, offset; a `+` in a query that nobody has encoded arrives as a blank. */
const moment = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?\s*(Z|[-+ ]?\d\d:?\d\d)?)?$/i

/** A moment in the one form that contracts take; one without a zone is in UTC. What is no moment stays as it is. */
export function momentOf(text: string): string {
  const [, date, time = '00:00', seconds = ':00', fraction = '', zone = 'Z'] = moment.exec(text.trim()) ?? []
  if (date === undefined) return text
  const [, sign = '+', hours, minutes] = /^([-+ ])?(\d\d):?(\d\d)$/.exec(zone) ?? []
  const offset = hours === undefined ? 'Z' : `${sign === ' ' ? '+' : sign}${hours}:${minutes}`
  return `${date}T${time}${seconds}${fraction}${offset}`
}

/** A value of a query or form as its field wants it; one that cannot be is refused later, by its name. */
export function fromText(schema: TSchema, text: FieldText): unknown {
  const shape = jsonSchema(schema)
  if (typeof text !== 'string')
    return coerceField(
      schema,
      text.filter((one) => one !== ''),
    )
  return scalar(shape, text) ?? coerceField(schema, text)
}

/** A text that stands for something else than it says: a boolean in any spelling, a moment in any form. */
function scalar(shape: JsonSchema, text: string): unknown {
  if (shape.type === 'boolean') return truths[text.trim().toLowerCase()]
  return isMoment(shape) ? momentOf(text) : undefined
}

const isMoment = (shape: JsonSchema): boolean => (shape as { format?: string }).format === 'date-time'

/**
 * A value of a body as its field wants it: texts for booleans and numbers and the other way round, `null` and empty texts as
 * absent, unknown fields left out. @param onUnknown hears of each of those
 */
export function fromJson(shape: JsonSchema, value: unknown, onUnknown: (name: string) => void): unknown {
  if (typeof value === 'string')
    return shape.type === 'string' && !isMoment(shape) ? value : fromText(shape, value)
  if (shape.type === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return String(value)
  if (Array.isArray(value))
    return shape.items === undefined ? value : value.map((item) => fromJson(shape.items!, item, onUnknown))
  if (typeof value !== 'object' || value === null || shape.type !== 'object') return value
  const fields = fieldsOf(shape)
  const [values] = Object.values(shape.patternProperties ?? {})
  const entries = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
    const field = Object.hasOwn(fields, name) ? fields[name] : values
    if (field === undefined) {
      onUnknown(name)
      return []
    }
    return isAbsent(inner) ? [] : [[name, fromJson(field, inner, onUnknown)]]
  })
  return Object.fromEntries(entries)
}

/** Whether a value says nothing: an empty text is what forms send of a field that nobody has filled in. */
export const isAbsent = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  (Array.isArray(value) && value.every((one) => one === '') && value.length > 0)
