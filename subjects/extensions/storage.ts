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
  description: 'Key, any text',
})
const value = Type.String({
  maxLength: storageLimits.valueLength,
  description: 'Value, a text; write JSON into it, or base64',
})
const revision = Count('Revision of the value: grows with every change in this storage')
const expected = Type.Optional(
  Count('Only when the value has this revision now; 0: only when there is none. Default: whatever is there'),
)
const beginning = Type.Optional(
  Type.String({ maxLength: storageLimits.keyLength, description: 'Only keys that begin so' }),
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
    summary: 'A value',
    input: strict({ ...common, key }),
    output: strict({ key, value, revision }),
    errors: ['NOT_FOUND'],
    http: [],
    cli: { args: ['prefix', 'key'], example: 'gantry extension-storage get weather last' },
  },
  put: {
    summary: 'Store a value, if it is still as you know it',
    description: 'CONFLICT: somebody has changed it since; `details.revision` is what it has now.',
    input: strict({ ...common, key, value, revision: expected }),
    output: strict({ revision }),
    errors: ['NOT_FOUND', 'CONFLICT', 'LIMIT_REACHED'],
    http: [],
    cli: { args: ['prefix', 'key', 'value'], example: 'gantry extension-storage put weather last sunny' },
  },
  delete: {
    summary: 'Delete a value, if it is still as you know it',
    input: strict({ ...common, key, revision: expected }),
    output: Nothing,
    errors: ['NOT_FOUND', 'CONFLICT'],
    http: [],
    cli: { args: ['prefix', 'key'], example: 'gantry extension-storage delete weather last' },
  },
  list: {
    summary: 'The keys that have a value, in order',
    input: strict({
      ...common,
      beginning,
      after: Type.Optional(key),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: maxPageLength,
          description: `Longest page; default ${maxPageLength}`,
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
      'Answers as soon as there are some, or with none at the end of the wait; ask again with the revision of the answer. Deletions are told for a day.',
    input: strict({
      ...common,
      beginning,
      after: Type.Optional(
        Count('Revision up to which everything is known; default 0: tell all that is there'),
      ),
      waitMs: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: maxWaitMs,
          description: `Longest wait for a change; default ${maxWaitMs}`,
        }),
      ),
    }),
    output: strict({
      changes: list(strict({ key, value: Type.Optional(value), revision }), maxChanges),
      revision: Count('What to ask with next'),
    }),
    errors: ['NOT_FOUND'],
    http: [],
    cli: { args: ['prefix'] },
    deadlineMs: maxWaitMs + 5_000,
  },
})
