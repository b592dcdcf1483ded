import { GantryError, type Problem } from '../../../subjects/kit/errors.ts'
import type { Properties, Property } from '../../../subjects/filesystems/properties.ts'

/** The value of each property, its default where none was given: a number where it has bounds, else a text. */
export type PropertyValues<P extends Properties> = <N extends keyof P>(
  name: N,
) => P[N] extends { readonly unit: string } ? number : string

const number = /^\d{1,15}$/

/**
 * Checks what was given. Throws GantryError NOT_ACCEPTED that names every property which is unknown or has no lawful value,
 * INVALID_INPUT where one that is a number has none; values of unknown ones may be secrets and are not repeated.
 * @param others whether a name is accepted besides: it changes nothing, or the caller reads it
 */
export function readProperties<P extends Properties>(
  known: P,
  given: Readonly<Record<string, string>> = {},
  others: (name: string) => boolean = () => false,
): PropertyValues<P> {
  const values = new Map<keyof P, string | number>()
  const problems: Problem[] = []
  let isForm = false
  for (const [name, text] of Object.entries(given)) {
    const property = Object.hasOwn(known, name) ? known[name] : undefined
    if (property === undefined) {
      if (!others(name))
        problems.push({
          field: name,
          problem: `is not honoured; those that are: ${Object.keys(known).join(', ')}`,
        })
      continue
    }
    isForm ||= 'unit' in property && !number.test(text)
    const { value, problem } = readProperty(property, text)
    if (value === undefined) problems.push({ field: name, problem })
    else values.set(name, value)
  }
  if (problems.length > 0) {
    const details = problems.map(({ field, problem }) => ({
      field: `additionalProperties.${field}`,
      problem,
    }))
    const text = problems.map(({ field, problem }) => `${field} ${problem}`).join('; ')
    throw new GantryError(isForm ? 'INVALID_INPUT' : 'NOT_ACCEPTED', `additionalProperties: ${text}`, {
      details,
    })
  }
  return ((name: keyof P) => values.get(name) ?? known[name]?.default) as PropertyValues<P>
}

function readProperty(
  property: Property,
  text: string,
):
  | { readonly value: string | number; readonly problem?: never }
  | { readonly value?: never; readonly problem: string } {
  if ('unit' in property) {
    const { min, max, unit } = property
    const value = number.test(text) ? Number(text) : NaN
    if (value >= min && value <= max) return { value }
    return { problem: `must be a whole number of ${unit} from ${min} to ${max}` }
  }
  if ('values' in property) {
    const value = property.values.find((one) => one.toLowerCase() === text.toLowerCase())
    if (value !== undefined) return { value }
    return { problem: `must be one of ${property.values.filter((one) => one !== '').join(', ')}` }
  }
  if (new RegExp(property.pattern).test(text)) return { value: text }
  return { problem: `must be ${property.means}` }
}
