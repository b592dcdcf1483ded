import type { TSchema } from 'typebox'

/** What Gantry reads of a JSON Schema; those of extensions are written by hand, in any language. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
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

/**
 * A document as pure JSON. Enumerations of texts say that they are texts: generators of typed clients look at `type`
 * alone, and TypeBox leaves it out.
 */
export function plain(document: object): object {
  const copy: object = JSON.parse(JSON.stringify(document), (_key, value: unknown) =>
    isUntypedEnum(value) ? { type: 'string', ...value } : value,
  )
  return copy
}

const isUntypedEnum = (value: unknown): value is { enum: string[] } =>
  typeof value === 'object' &&
  value !== null &&
  !('type' in value) &&
  'enum' in value &&
  Array.isArray(value.enum) &&
  value.enum.every((member) => typeof member === 'string')
