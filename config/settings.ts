import { Pair, parseLines } from 'dot-properties'
import type { TSchema } from 'typebox'
import { fieldsOf } from '../subjects/kit/json-schema.ts'
import type { PropertyReader } from './properties.ts'

/** Something that can be set in a file of the configuration folder, for people who look for it. */
export interface Setting {
  /** In the configuration folder. */
  readonly file: string
  readonly name: string
  /** Undefined where it is not set unless somebody does, or where that depends on the machine. */
  readonly default?: string
  readonly description: string
  /** Its value is shown nowhere. */
  readonly isSecret: boolean
}

/** The settings of a file that is JSON, by its schema. */
export const settingsOf = (file: string, schema: TSchema, secrets: readonly string[] = []): Setting[] =>
  Object.entries(fieldsOf(schema)).map(([name, { description = '', default: byDefault }]) => ({
    file,
    name,
    ...(byDefault !== undefined && { default: shownValue(byDefault) }),
    description,
    isSecret: secrets.includes(name),
  }))

/** The settings of a properties file, by its readers. */
export const propertySettings = (
  file: string,
  readers: Readonly<Record<string, PropertyReader<unknown>>>,
  defaults: Readonly<Record<string, string>>,
): Setting[] =>
  Object.entries(readers).map(([name, { meaning, secret = false }]) => ({
    file,
    name,
    ...(defaults[name] !== undefined && { default: defaults[name] }),
    description: meaning,
    isSecret: secret,
  }))

export const shownValue = (value: unknown): string =>
  typeof value === 'string' ? value : Array.isArray(value) ? value.join(', ') : JSON.stringify(value)

/** What a file says, by names, of both kinds. */
export function valuesIn(file: string, text: string): Readonly<Record<string, string>> {
  if (file.endsWith('.properties'))
    return Object.fromEntries(
      parseLines(text, true).flatMap((node) =>
        node instanceof Pair ? [[node.key, node.value.trimEnd()]] : [],
      ),
    )
  const values: unknown = JSON.parse(text)
  return Object.fromEntries(
    Object.entries(values as object).map(([name, value]) => [name, shownValue(value)]),
  )
}
