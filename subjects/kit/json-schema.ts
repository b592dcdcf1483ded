import type { TSchema } from 'typebox'

/** What holds where a field of something new is left out, as Gantry's own contracts say it (`Switch`). */
export const usualKeyword = 'x-usual'

/** A number is a moment, in milliseconds since 1970, as Gantry's own contracts say it (`EpochMillis`). */
export const epochKeyword = 'x-epoch-milliseconds'

/** What each choice of an `enum` means, as Gantry's own contracts say it (`OneOf`). */
export const meaningsKeyword = 'x-meanings'
export type Meanings = Readonly<Record<string, string>>

/** The part of a description that says what each choice means. */
export const meaningsText = (meanings: Meanings): string =>
  Object.entries(meanings)
    .map(([name, meaning]) => `${name}: ${meaning}`)
    .join('; ')

/** What Gantry reads of a JSON Schema; those of extensions are written by hand, in any language. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly [usualKeyword]?: unknown
  readonly [meaningsKeyword]?: Meanings
  readonly [epochKeyword]?: boolean
  /** `base64`: a text that stands for bytes, such as those of a file. */
  readonly contentEncoding?: string
  /** Of a text: a regular expression. */
  readonly pattern?: string
  /** What a text is, such as `date-time`. */
  readonly format?: string
  /** Of a text that people have as a file. */
  readonly contentMediaType?: string
}

/** A TypeBox schema as what it also is. */
export const jsonSchema = (schema: TSchema): JsonSchema => schema

/** The fields of an object, by name, in the order of their declaration. */
export const fieldsOf = (schema: TSchema): Readonly<Record<string, JsonSchema>> =>
  jsonSchema(schema).properties ?? {}

/** The schema of an object with only these fields of another; whether they are required stays. */
export function pick(schema: TSchema, names: readonly string[]): JsonSchema {
  const { properties = {}, required = [] } = jsonSchema(schema)
  const kept = Object.entries(properties).filter(([name]) => names.includes(name))
  const requiredNames = required.filter((name) => names.includes(name))
  return {
    type: 'object',
    ...(requiredNames.length > 0 ? { required: requiredNames } : {}),
    properties: Object.fromEntries(kept),
    additionalProperties: false,
  }
}

/** Whether a value of the schema can hold a text that somebody has chosen: anything but numbers, booleans and constants. */
export function holdsText(schema: JsonSchema): boolean {
  const { type, enum: members, const: only, properties = {}, patternProperties, items, anyOf, oneOf } = schema
  if (members !== undefined || only !== undefined) return false
  const alternatives = anyOf ?? oneOf
  if (alternatives !== undefined) return alternatives.some(holdsText)
  if (type === 'array') return items === undefined || holdsText(items)
  if (type === 'object')
    return (
      patternProperties !== undefined ||
      schema.additionalProperties !== false ||
      Object.values(properties).some(holdsText)
    )
  return type === undefined || ![type].flat().every((one) => textless.has(one))
}

const textless = new Set(['integer', 'number', 'boolean', 'null'])
