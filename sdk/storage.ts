import type { Output } from '../subjects/kit/contract.ts'
import { isGantryError } from '../subjects/kit/errors.ts'
import { extensionStorage } from '../subjects/extensions/storage.ts'
import { call } from '../client/call.ts'
import type { Extension } from './extension.ts'

/** A value and the revision to compare with; without a value it was deleted. */
export interface StoredChange {
  readonly key: string
  readonly value: unknown
  readonly revision: number
}

/** What an extension stores: values of JSON, each with a revision that grows with every change. */
export interface Storage {
  /** undefined when there is none. */
  get(key: string): Promise<{ value: unknown; revision: number } | undefined>
  /** @param revision that the value must have now, 0 for none; default: whatever is there @throws GantryError CONFLICT */
  put(key: string, value: unknown, revision?: number): Promise<number>
  /** @throws GantryError NOT_FOUND, CONFLICT */
  delete(key: string, revision?: number): Promise<void>
  list(options?: {
    beginning?: string
    after?: string
    limit?: number
  }): Promise<Output<(typeof extensionStorage)['list']>>
  /** All that is there after a revision, then each change, until the signal. */
  watch(options?: { beginning?: string; after?: number; signal?: AbortSignal }): AsyncGenerator<StoredChange>
}

export function openStorage({ connection, prefix }: Pick<Extension, 'connection' | 'prefix'>): Storage {
  const expecting = (revision: number | undefined) => (revision === undefined ? {} : { revision })
  return {
    get: async (key) => {
      try {
        const { value, revision } = await call(connection, extensionStorage.get, { prefix, key })
        return { value: JSON.parse(value), revision }
      } catch (error) {
        if (isGantryError(error, 'NOT_FOUND')) return undefined
        throw error
      }
    },
    put: async (key, value, revision) => {
      const input = { prefix, key, value: JSON.stringify(value), ...expecting(revision) }
      return (await call(connection, extensionStorage.put, input)).revision
    },
    delete: async (key, revision) => {
      await call(connection, extensionStorage.delete, { prefix, key, ...expecting(revision) })
    },
    list: (options = {}) => call(connection, extensionStorage.list, { prefix, ...options }),
    watch: async function* ({ after = 0, signal, ...options } = {}) {
      let known = after
      for (;;) {
        const found = await orAborted(
          () => call(connection, extensionStorage.watch, { prefix, after: known, ...options }),
          signal,
        )
        if (found === undefined) return
        for (const { key, value, revision } of found.changes)
          yield { key, revision, value: value === undefined ? undefined : (JSON.parse(value) as unknown) }
        known = found.revision
      }
    },
  }
}

/** undefined when the signal comes first; the answer is then not waited for. */
async function orAborted<T>(
  begin: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  if (signal === undefined) return begin()
  if (signal.aborted) return undefined
  const aborted = Promise.withResolvers<undefined>()
  const stop = () => aborted.resolve(undefined)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([begin(), aborted.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
