import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { Prefix } from './model.ts'
import { Count, list, maxPageLength, Nothing, strict } from '../kit/schemas.ts'

/** What an extension may store. What is larger belongs into a store of its own. */
export const storageLimits = {
  keyLength: 200,
  valueLength: 262_144,
  /** Of one extension, with some hundred bytes for each key. */
  totalBytes: 64 * 2 ** 20,
} as const

const key = Type.String({
  minLength: 1,
  maxLength: storageLimits.keyLength,
  description: 'Key: any string',
})
const value = Type.String({
  maxLength: storageLimits.valueLength,
  description: 'Value: any string, such as JSON or base64',
})
const revision = Count('Revision of the value: increases with every change in this storage')
const expected = Type.Optional(
  Count('Expected revision of the current value; 0: the key must not have a value. Default: any revision'),
)
const beginning = Type.Optional(
  Type.String({ maxLength: storageLimits.keyLength, description: 'Prefix of the keys to return' }),
)

/** A watcher hears of a change at once, and asks again when there was none for so long. */
export const maxWaitMs = 25_000
/** Values that are told of at once are at most 100 × 256 KiB of text; they are cut to what fits into a message. */
export const maxChanges = 100

const common = { prefix: Prefix }

/**
 * Storage of extensions: each has its own, which its own keys reach and nobody else's. Over the broker alone, as
 * extensions speak it.
 */
export const extensionStorage = resource('extension-storage', {
  get: {
    summary: 'Get a value',
    input: strict({ ...common, key }),
    output: strict({ key, value, revision }),
    errors: ['NOT_FOUND'],
    http: [],
    cli: { args: ['prefix', 'key'], example: 'gantry extension-storage get weather last' },
  },
  put: {
    summary: 'Store a value, optionally only if it is unchanged',
    description:
      'Returns CONFLICT if the value does not have the expected revision; `details.revision` is the current one.',
    input: strict({ ...common, key, value, revision: expected }),
    output: strict({ revision }),
    errors: ['NOT_FOUND', 'CONFLICT', 'LIMIT_REACHED'],
    http: [],
    cli: { args: ['prefix', 'key', 'value'], example: 'gantry extension-storage put weather last sunny' },
  },
  delete: {
    summary: 'Delete a value, optionally only if it is unchanged',
    input: strict({ ...common, key, revision: expected }),
    output: Nothing,
    errors: ['NOT_FOUND', 'CONFLICT'],
    http: [],
    cli: { args: ['prefix', 'key'], example: 'gantry extension-storage delete weather last' },
  },
  list: {
    summary: 'List keys in order',
    input: strict({
      ...common,
      beginning,
      after: Type.Optional(key),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: maxPageLength,
          description: `Maximum number of results; default ${maxPageLength}`,
        }),
      ),
    }),
    output: list(strict({ key, revision })),
    errors: ['NOT_FOUND'],
    http: [],
    cli: { args: ['prefix'] },
  },
  watch: {
    summary: 'Wait for changes after a revision',
    description:
      'Replies as soon as there are changes, or with an empty list when the wait ends. Pass the revision from the reply as `after` to continue. Deletions are reported for one day.',
    input: strict({
      ...common,
      beginning,
      after: Type.Optional(Count('Last known revision; default 0: return all values')),
      waitMs: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: maxWaitMs,
          description: `Maximum wait for a change in milliseconds; default ${maxWaitMs}`,
        }),
      ),
    }),
    output: strict({
      changes: list(strict({ key, value: Type.Optional(value), revision }), maxChanges),
      revision: Count('Revision to pass as `after` in the next request'),
    }),
    errors: ['NOT_FOUND'],
    http: [],
    cli: { args: ['prefix'] },
    deadlineMs: maxWaitMs + 5_000,
  },
})
