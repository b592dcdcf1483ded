import { GantryError } from '../../subjects/kit/errors.ts'
import type { JsonSchema } from '../../subjects/kit/json-schema.ts'

export type Row = Readonly<Record<string, unknown>>

export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isRows = (value: unknown): value is readonly Row[] => Array.isArray(value) && value.every(isRow)

/** The schema of a field, also of one in another as `progress.failedPaths`; undefined when there is none. */
export function fieldSchema(schema: JsonSchema, path: string): JsonSchema | undefined {
  return path.split('.').reduce<JsonSchema | undefined>((outer, name) => outer?.properties?.[name], schema)
}

/** What is in that field. */
export function fieldOf(row: Row, path: string): unknown {
  if (Object.hasOwn(row, path)) return row[path]
  return path.split('.').reduce<unknown>((outer, name) => (isRow(outer) ? outer[name] : undefined), row)
}

/**
 * The reply with these fields alone, in their order: of each row where it is a list, or an object with one list.
 * @throws GantryError INVALID_INPUT for a field that no row can have
 */
export function withFields(reply: unknown, schema: JsonSchema, names: readonly string[]): unknown {
  if (Array.isArray(reply)) {
    return reply.map((one) => (isRow(one) ? picked(one, rowSchema(schema.items ?? {}, reply), names) : one))
  }
  if (!isRow(reply)) return reply
  const [list, ...others] = Object.entries(reply).filter(([, value]) => isRows(value))
  const own = schema.properties ?? reply
  if (
    list !== undefined &&
    others.length === 0 &&
    !names.some((name) => Object.hasOwn(own, name.split('.')[0]!))
  )
    return withFields(list[1], fieldSchema(schema, list[0]) ?? {}, names)
  return picked(reply, rowSchema(schema, [reply]), names)
}

/** A schema that does not say what fields there are is that of the rows. */
const rowSchema = (schema: JsonSchema, rows: readonly unknown[]): JsonSchema =>
  schema.properties === undefined
    ? {
        properties: Object.fromEntries(
          rows.filter(isRow).flatMap((row) => Object.keys(row).map((name) => [name, {}])),
        ),
      }
    : schema

function picked(row: Row, schema: JsonSchema, names: readonly string[]): Row {
  return Object.fromEntries(
    names.map((name) => {
      const value = fieldOf(row, name)
      if (value === undefined && fieldSchema(schema, name) === undefined) {
        const known = Object.keys(schema.properties ?? {}).join(', ')
        throw new GantryError('INVALID_INPUT', `--columns: unknown field ${name}; use ${known}`)
      }
      return [name, value]
    }),
  )
}
