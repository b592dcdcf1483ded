import { gunzipSync } from 'node:zlib'
import type { Value } from '../../thrift/types.ts'
import type { CatalogChange } from '../contract/catalog.ts'
import { partitionName } from '../partition-names.ts'
import type { NotificationEvent } from './idl.ts'

/** Longest that a message unpacks to: it has all partitions that were added at once. */
const maxMessageBytes = 64 * 1024 * 1024

type Event = Value<typeof NotificationEvent>
type Told = Readonly<Record<string, unknown>>

/**
 * What an event of the log tells to look at. Of partitions that are not told in a way that is understood it tells the whole
 * table; transactions change no metadata.
 */
export function changesIn(event: Event): CatalogChange[] {
  const { eventType = '', dbName = '', tableName = '', eventTime = 0 } = event
  if (dbName === '') return []
  const at = { database: dbName.toLowerCase(), atMs: eventTime * 1_000 }
  if (eventType.endsWith('_FUNCTION')) return [{ ...at, functions: true }]
  if (tableName === '') return [eventType === 'DROP_DATABASE' ? { ...at, isGone: true } : at]
  const table = { ...at, table: tableName.toLowerCase() }
  switch (eventType) {
    case 'ALTER_TABLE': {
      // A table that was renamed is told by the name that it has then.
      const before = namesBefore(messageOf(event))
      const isRenamed =
        before !== undefined && (before.database !== table.database || before.table !== table.table)
      if (!isRenamed) return [table]
      const renamedFrom = { database: before.database, name: before.table }
      return [
        { ...table, ...before, isGone: true },
        { ...table, renamedFrom },
      ]
    }
    case 'DROP_TABLE':
      return [{ ...table, isGone: true }]
    case 'ADD_PARTITION':
    case 'DROP_PARTITION':
    case 'ALTER_PARTITION': {
      const partitions = partitionsIn(eventType, messageOf(event))
      return [{ ...table, ...(partitions !== undefined && { partitions }) }]
    }
    default:
      return [table]
  }
}

/** Releases write JSON, or JSON that is packed and in base64; undefined where it is neither. */
function messageOf({ message = '', messageFormat = '' }: Event): Told | undefined {
  try {
    const text = messageFormat.startsWith('gzip')
      ? gunzipSync(Buffer.from(message, 'base64'), { maxOutputLength: maxMessageBytes }).toString()
      : message
    return toldIn(text)
  } catch {
    return undefined
  }
}

const toldIn = (text: unknown): Told | undefined => {
  const parsed: unknown = typeof text === 'string' ? JSON.parse(text) : undefined
  return typeof parsed === 'object' && parsed !== null ? (parsed as Told) : undefined
}

function namesBefore(message: Told | undefined): { database: string; table: string } | undefined {
  const { db, table } = message ?? {}
  if (typeof db !== 'string' || typeof table !== 'string') return undefined
  return { database: db.toLowerCase(), table: table.toLowerCase() }
}

function partitionsIn(eventType: string, message: Told | undefined): string[] | undefined {
  const { partitions, keyValues } = message ?? {}
  const isAltered = eventType === 'ALTER_PARTITION'
  const told: unknown = isAltered ? [keyValues] : partitions
  if (!Array.isArray(told)) return undefined
  const names = told.map(nameOf)
  if (isAltered) names.push(...movedTo(message, keyValues))
  return names.every((name) => name !== undefined) ? names : undefined
}

/** The values of a partition that an event tells of, by its keys in their order. */
function nameOf(told: unknown): string | undefined {
  if (typeof told !== 'object' || told === null) return undefined
  const entries = Object.entries(told as Told)
  const values = entries.map(([, value]) => value)
  // Numbers as keys have lost their order.
  if (entries.length === 0 || entries.some(([key]) => /^\d+$/.test(key))) return undefined
  if (!values.every((value) => typeof value === 'string')) return undefined
  return partitionName(
    entries.map(([key]) => key),
    values,
  )
}

/** The name that a partition has after a change, where that has given it other values. */
function movedTo(message: Told | undefined, before: unknown): (string | undefined)[] {
  try {
    // In Thrift's JSON: fields by their numbers, each with its type.
    const after = toldIn(message?.['partitionObjAfterJson'])
    const told = (after?.['1'] as Told | undefined)?.['lst']
    if (!Array.isArray(told) || typeof before !== 'object' || before === null) return []
    // A list is its type, its length and its elements.
    const values = told.slice(2) as unknown[]
    const keys = Object.keys(before)
    if (values.length !== keys.length || !values.every((value) => typeof value === 'string'))
      return [undefined]
    const name = partitionName(keys, values)
    return name === nameOf(before) ? [] : [name]
  } catch {
    return [undefined]
  }
}
