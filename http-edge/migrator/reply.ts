import type { TSchema } from 'typebox'
import { type JsonSchema, jsonSchema } from '../../subjects/kit/json-schema.ts'
import { absentFields } from './absent-fields.ts'

const known = new WeakMap<object, JsonSchema>()

/**
 * The schema of a reply in which each field is there. What the contract may leave out, and what the surface documents and
 * Gantry has no value for, is null, or the field's default.
 */
export function wholeSchema(schema: TSchema | JsonSchema): JsonSchema {
  const shape = jsonSchema(schema)
  const made = known.get(shape)
  if (made !== undefined) return made
  const whole = makeWhole(shape)
  known.set(shape, whole)
  return whole
}

function makeWhole(shape: JsonSchema): JsonSchema {
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

function nullable(shape: JsonSchema): JsonSchema {
  const { description, ...schema } = shape
  return { ...(description === undefined ? {} : { description }), anyOf: [schema, { type: 'null' }] }
}

const defaultOf = (field: JsonSchema): unknown => (field as { default?: unknown }).default
const hasDefault = (field: JsonSchema): boolean => defaultOf(field) !== undefined

/** Fills a value with what is missing of such a schema. */
export function fill(schema: JsonSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? value : value.map((item) => fill(items, item))
  }
  if (typeof value !== 'object' || value === null) return value
  const shape = schema.anyOf?.find(({ properties }) => properties !== undefined) ?? schema
  if (shape.properties === undefined) return value
  const there = value as Readonly<Record<string, unknown>>
  const filled: Record<string, unknown> = { ...there }
  for (const [name, field] of Object.entries(shape.properties)) {
    filled[name] = there[name] === undefined ? (defaultOf(field) ?? null) : fill(field, there[name])
  }
  return filled
}
