import { failed } from './errors.ts'

/* What is read of the JSON of a catalog: nothing of it is sure to be what the protocol says. */

export type Json = Readonly<Record<string, unknown>>

export const objectOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}

/** The objects of a list; none where it is no list. */
export const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.map(objectOf) : [])

export const textsOf = (value: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(objectOf(value)).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  )

/** A name. Throws `unsupported` for what is no text. */
export function textOf(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw failed('unsupported', what, 'has a name that is not a string')
}
