import { failed } from './errors.ts'
import { listOf, textOf } from './json.ts'

/** Structures in one another that are read: one that is deeper would be no column, but the end of a stack. */
const maxDepth = 100

const words: ReadonlyMap<string, string> = new Map(
  Object.entries({
    long: 'bigint',
    time: 'string',
    uuid: 'string',
    timestamptz: 'timestamp with local time zone',
    timestamp_ns: 'timestamp',
    timestamptz_ns: 'timestamp with local time zone',
  }),
)

/** A type of Iceberg in Hive's words, as Hive's own tables of Iceberg have them. Throws `unsupported`. */
export function hiveType(type: unknown, depth = 0): string {
  if (depth > maxDepth) throw failed('unsupported', 'a type', `has more than ${maxDepth} nested structures`)
  if (typeof type === 'string') {
    if (type.startsWith('fixed')) return 'binary'
    return words.get(type) ?? type.replaceAll(' ', '')
  }
  const inner = (one: unknown) => hiveType(one, depth + 1)
  const { type: kind, fields, element, key, value } = (type ?? {}) as Readonly<Record<string, unknown>>
  if (kind === 'struct' && Array.isArray(fields))
    return `struct<${listOf(fields)
      .map((field) => `${textOf(field['name'], 'a type')}:${inner(field['type'])}`)
      .join(',')}>`
  if (kind === 'list') return `array<${inner(element)}>`
  if (kind === 'map') return `map<${inner(key)},${inner(value)}>`
  throw failed('unsupported', 'a type', 'is not a type of Iceberg')
}
