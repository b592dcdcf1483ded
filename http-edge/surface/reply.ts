import type { TSchema } from 'typebox'
import { type JsonSchema, jsonSchema } from '../../subjects/kit/json-schema.ts'

/** Fields that replies of a surface have beside those of the contracts, by the name of the model. */
export type AbsentFields = Readonly<Record<string, Readonly<Record<string, TSchema>>>>

/**
 * Makes of the schema of a reply the one in which each field is there. What the contract may leave out, and what the surface
 * documents and Gantry has no value for, is null, or the field's default.
 */
export function wholeSchemas(absentFields: AbsentFields): (schema: TSchema | JsonSchema) => JsonSchema {
  const known = new WeakMap<object, JsonSchema>()
  const wholeSchema = (schema: TSchema | JsonSchema): JsonSchema => {
    const shape = jsonSchema(schema)
    const made = known.get(shape)
    if (made !== undefined) return made
    const whole = makeWhole(shape)
    known.set(shape, whole)
    return whole
  }
  const makeWhole = (shape: JsonSchema): JsonSchema => {
    if (shape.items !== undefined) return { ...shape, items: wholeSchema(shape.items) }
    if (shape.anyOf !== undefined) return { ...shape, anyOf: shape.anyOf.map(wholeSchema) }
    const { properties, required = [], title = '' } = shape
    if (properties === undefined) return shape
    const all = { ...properties, ...absentFields[title] }
    const fields = Object.entries(all).map(([name, field]): [string, JsonSchema] => {
      const inner = wholeSchema(field)
      const isSure = required.includes(name) && Object.hasOwn(properties, name)
      return [name, isSure || hasDefault(field) ? inner : nullable(inner)]
    })
    return { ...shape, properties: Object.fromEntries(fields), required: Object.keys(all) }
  }
  return wholeSchema
}

function nullable(shape: JsonSchema): JsonSchema {
  const { description, ...schema } = shape
  return { ...(description === undefined ? {} : { description }), anyOf: [schema, { type: 'null' }] }
}

const defaultOf = (field: JsonSchema): unknown => (field as { default?: unknown }).default
const hasDefault = (field: JsonSchema): boolean => defaultOf(field) !== undefined

/** Fills a value with what is missing in it. */
export type Fill = (value: unknown) => unknown

/** How values of such a schema are filled; undefined where nothing can be missing. A list of migrations has a megabyte. */
export function filler(schema: JsonSchema): Fill | undefined {
  const { items, anyOf } = schema
  if (items !== undefined) return listFiller(items)
  const shape =
    anyOf?.find(({ properties }) => properties !== undefined) ?? anyOf?.find(({ items: of }) => of) ?? schema
  if (shape.items !== undefined) return listFiller(shape.items)
  if (shape.properties === undefined) return undefined
  const fields = Object.entries(shape.properties).map(([name, field]) => ({
    name,
    absent: defaultOf(field) ?? null,
    inner: filler(field),
  }))
  return (value) => {
    if (typeof value !== 'object' || value === null) return value
    const filled = value as Record<string, unknown>
    for (const { name, absent, inner } of fields) {
      const there = filled[name]
      if (there === undefined) filled[name] = absent
      else if (inner !== undefined) filled[name] = inner(there)
    }
    return filled
  }
}

function listFiller(items: JsonSchema): Fill | undefined {
  const inner = filler(items)
  return inner && ((value) => (Array.isArray(value) ? value.map(inner) : value))
}
