import { honouredProperties } from '../../../subjects/filesystems/azure-properties.ts'
import { GantryError, type Problem } from '../../../subjects/kit/errors.ts'

export type HonouredProperty = keyof typeof honouredProperties
/** The value of each honoured property, its default where none was given. */
export type PropertyValues = (name: HonouredProperty) => number

/**
 * Checks what was given. Throws GantryError NOT_ACCEPTED that names every property
 * which is unknown, not a whole number or out of its bounds; values of unknown ones may be secrets and are not repeated.
 */
export function readProperties(given: Readonly<Record<string, string>> = {}): PropertyValues {
  const values = new Map<HonouredProperty, number>()
  const problems: Problem[] = []
  for (const [name, text] of Object.entries(given)) {
    if (!isHonoured(name)) {
      problems.push({
        field: name,
        problem: `is not honoured; those that are: ${Object.keys(honouredProperties).join(', ')}`,
      })
      continue
    }
    const { min, max, unit } = honouredProperties[name]
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    if (value >= min && value <= max) values.set(name, value)
    else problems.push({ field: name, problem: `must be a whole number of ${unit} from ${min} to ${max}` })
  }
  if (problems.length > 0) {
    const details = problems.map(({ field, problem }) => ({
      field: `additionalProperties.${field}`,
      problem,
    }))
    const text = problems.map(({ field, problem }) => `${field} ${problem}`).join('; ')
    throw new GantryError('NOT_ACCEPTED', `additionalProperties: ${text}`, { details })
  }
  return (name) => values.get(name) ?? honouredProperties[name].default
}

const isHonoured = (name: string): name is HonouredProperty => Object.hasOwn(honouredProperties, name)
