import type { TSchema } from 'typebox'
import {
  type JsonSchema,
  jsonSchema,
  epochKeyword,
  meaningsKeyword,
  usualKeyword,
} from '../../subjects/kit/json-schema.ts'

interface Bounds extends JsonSchema {
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly pattern?: string
}

/** Where a schema lets a value grow without limit, or takes fields that it does not name; each place with the reason. */
export function unboundedIn(schema: TSchema, at: string): string[] {
  const shape: Bounds = jsonSchema(schema)
  const own = reasonOf(shape)
  return [...(own === undefined ? [] : [`${at}: ${own}`]), ...inner(shape, at, unboundedIn)]
}

function reasonOf(shape: Bounds): string | undefined {
  if (shape.enum !== undefined || shape.const !== undefined) return undefined
  switch (shape.type) {
    case 'string':
      return shape.maxLength !== undefined || isBounded(shape.pattern) ? undefined : 'text of any length'
    case 'array':
      return shape.maxItems === undefined ? 'any number of items' : undefined
    case 'object':
      return reasonOfObject(shape)
    default:
      return undefined
  }
}

function reasonOfObject({ properties, patternProperties, additionalProperties, maxProperties }: Bounds) {
  if (additionalProperties !== false) return 'fields that are not named'
  if (patternProperties === undefined) return properties === undefined ? 'no fields' : undefined
  if (maxProperties === undefined) return 'any number of fields'
  return Object.keys(patternProperties).every(isBounded) ? undefined : 'fields with names of any length'
}

/** Whether a pattern limits the length: it spans the whole text, and repeats nothing without end. */
function isBounded(pattern: string | undefined): boolean {
  if (pattern === undefined) return false
  const skeleton = pattern.replaceAll(/\\./g, 'x').replaceAll(/\[[^\]]*\]/g, 'x')
  return /^\^.*\$$/.test(skeleton) && !/[*+]|\{\d+,\}/.test(skeleton)
}

/** Where a schema takes anything at all, or is made in a way that these rules do not look into. */
export function untypedIn(schema: TSchema, at: string): string[] {
  const shape = jsonSchema(schema)
  // Its own rules look into it: subjects/extensions/schemas.ts.
  if (shape.title === 'JsonSchema') return []
  const known = [shape.type, shape.enum, shape.const, shape.anyOf].some((one) => one !== undefined)
  const strange = Object.keys(shape).filter((keyword) => !keywords.has(keyword))
  return [
    ...(known ? [] : [`${at}: anything`]),
    ...strange.map((keyword) => `${at}: ${keyword}`),
    ...inner(shape, at, untypedIn),
  ]
}

const keywords = new Set(
  `${usualKeyword} ${meaningsKeyword} ${epochKeyword} type title description enum const anyOf format pattern minLength maxLength contentEncoding contentMediaType
  minimum maximum items minItems maxItems
  properties required patternProperties additionalProperties maxProperties`.split(/\s+/),
)

function inner(shape: JsonSchema, at: string, rule: (schema: TSchema, at: string) => string[]): string[] {
  const { properties = {}, patternProperties = {}, items, anyOf = [] } = shape
  return [
    ...Object.entries(properties).flatMap(([name, field]) => rule(field, `${at}.${name}`)),
    ...Object.values(patternProperties).flatMap((field) => rule(field, `${at}.*`)),
    ...(items === undefined ? [] : rule(items, `${at}[]`)),
    ...anyOf.flatMap((one, index) => rule(one, `${at}|${index}`)),
  ]
}
