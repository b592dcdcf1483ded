import type { TSchema } from 'typebox'
import { fieldsOf, type JsonSchema, jsonSchema } from './json-schema.ts'
import { matches } from './validate.ts'

/** Whether a value is what a schema says. */
export type Fits = (schema: TSchema, value: unknown) => boolean

/** A value as a query string or a command line carries it: text, or several when the name was repeated. */
export type FieldText = string | readonly string[]

/**
 * The texts of an object's fields, by name, as the values that its schema asks for. Names that it does not know stay,
 * so that validation refuses them.
 */
export function coerceFields(
  schema: TSchema,
  texts: Readonly<Record<string, FieldText>>,
): Record<string, unknown> {
  const fields = fieldsOf(schema)
  const values = Object.entries(texts).map(([name, text]): [string, unknown] => [
    name,
    Object.hasOwn(fields, name) ? coerceField(fields[name]!, text) : text,
  ])
  return Object.fromEntries(values)
}

/**
 * A text as the value that the schema asks for: booleans `true` and `false`; numbers; lists, repeated, comma separated or
 * JSON; objects as JSON, records also as repeated `key=value`; of a union the first alternative that fits. What cannot be
 * converted stays as it is: validation then names the field and says what it should be.
 * @param fits tells which alternative of a union it is
 */
export function coerceField(schema: TSchema, text: FieldText, fits: Fits = matches): unknown {
  const shape = jsonSchema(schema)
  const alternatives = alternativesOf(shape)
  if (alternatives !== undefined) return coerceUnion(alternatives, text, fits)
  if (shape.type === 'array') return coerceArray(shape, text, fits)
  if (shape.type === 'object') return coerceObject(shape, text, fits)
  if (typeof text === 'string') return coerceScalar(shape, text)
  return text.length === 1 ? coerceScalar(shape, text[0]!) : text
}

function alternativesOf(shape: JsonSchema): readonly JsonSchema[] | undefined {
  const { anyOf, oneOf, type } = shape
  return (
    anyOf ?? oneOf ?? (Array.isArray(type) ? type.map((one: string) => ({ ...shape, type: one })) : undefined)
  )
}

function coerceUnion(alternatives: readonly JsonSchema[], text: FieldText, fits: Fits): unknown {
  for (const alternative of alternatives) {
    const value = coerceField(alternative, text, fits)
    if (fits(alternative, value)) return value
  }
  return text
}

function coerceScalar({ type, enum: members, const: only }: JsonSchema, text: string): unknown {
  const known = only === undefined ? members : [only]
  if (known !== undefined)
    return known.find((member) => member === text || JSON.stringify(member) === text) ?? text
  switch (type) {
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    // An integer that JavaScript cannot hold exactly would become another one.
    case 'integer':
      return /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : text
    case 'number':
      return /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text))
        ? Number(text)
        : text
    case 'null':
      return text === 'null' ? null : text
    default:
      return text
  }
}

function coerceArray({ items = {} }: JsonSchema, text: FieldText, fits: Fits): unknown {
  // The command line repeats flags: one alone comes as a list of one, of which the JSON of a list may be an item.
  const whole = typeof text !== 'string' && text.length === 1 && items.type !== 'array' ? text[0] : text
  const json = typeof whole === 'string' && whole.startsWith('[') ? parse(whole) : undefined
  if (Array.isArray(json)) return json
  return textsOf(items, text, fits).map((item) => coerceField(items, item, fits))
}

/** Repeated texts are one item each, and so is the JSON of an object or list; other text is divided at its commas. */
function textsOf(items: JsonSchema, text: FieldText, fits: Fits): readonly string[] {
  if (typeof text !== 'string') return text.length === 1 ? textsOf(items, text[0]!, fits) : text
  // Where no item can be empty, it is one that is wrong, and no empty list: that is written [].
  if (text === '') return fits(items, text) ? [] : [text]
  return items.type === 'object' || items.type === 'array' ? [text] : text.split(',')
}

function coerceObject(shape: JsonSchema, text: FieldText, fits: Fits): unknown {
  const texts = typeof text === 'string' ? [text] : text
  const json = texts.length === 1 ? parse(texts[0]!) : undefined
  if (typeof json === 'object' && json !== null) return json
  const values = valuesOf(shape)
  return values === undefined ? text : (coerceRecord(values, texts, fits) ?? text)
}

/** The schema of a record's values; undefined for an object with fields of its own. */
function valuesOf({
  properties,
  patternProperties = {},
  additionalProperties,
}: JsonSchema): JsonSchema | undefined {
  if (properties !== undefined) return undefined
  const [values] = Object.values(patternProperties)
  return values ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
}

/** `['a=1', 'b=2']` → `{ a: …, b: … }`; undefined when one has no `=` or a key comes twice. */
function coerceRecord(
  values: JsonSchema,
  texts: readonly string[],
  fits: Fits,
): Record<string, unknown> | undefined {
  const entries = new Map<string, unknown>()
  for (const text of texts) {
    const at = text.indexOf('=')
    const key = text.slice(0, at)
    if (at < 0 || entries.has(key)) return undefined
    entries.set(key, coerceField(values, text.slice(at + 1), fits))
  }
  return Object.fromEntries(entries)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
