import type { NatsConnection } from '@nats-io/nats-core'
import type { Output } from '../subjects/kit/contract.ts'
import { GantryError, isGantryError } from '../subjects/kit/errors.ts'
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
  /**
   * All that is there after a revision, then each change, until the signal.
   * @throws GantryError UNAVAILABLE as soon as the connection is lost: ask again with the last revision
   */
  watch(options?: { beginning?: string; after?: number; signal?: AbortSignal }): AsyncGenerator<StoredChange>
}

export function openStorage({ connection, prefix }: Pick<Extension, 'connection' | 'prefix'>): Storage {
  let losses: Losses | undefined
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
        losses ??= new Losses(connection)
        const found = await losses.during(
          orAborted(
            () => call(connection, extensionStorage.watch, { prefix, after: known, ...options }),
            signal,
          ),
        )
        if (found === undefined) return
        for (const { key, value, revision } of found.changes)
          yield { key, revision, value: value === undefined ? undefined : (JSON.parse(value) as unknown) }
        known = found.revision
      }
    },
  }
}

/** What is asked when the connection is lost is answered by nobody, and a watch would wait for its whole time. */
class Losses {
  readonly #waiting = new Set<(error: GantryError) => void>()

  constructor(connection: NatsConnection) {
    void this.#follow(connection)
  }

  /** What an answer comes to. @throws GantryError UNAVAILABLE when the connection is lost before */
  async during<T>(answer: Promise<T>): Promise<T> {
    // One for each answer: what waits for one that lasts as long as the connection would never be freed.
    const { promise, reject } = Promise.withResolvers<never>()
    this.#waiting.add(reject)
    try {
      return await Promise.race([answer, promise])
    } finally {
      this.#waiting.delete(reject)
    }
  }

  async #follow(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type !== 'disconnect') continue
      const lost = new GantryError('UNAVAILABLE', 'the connection to the broker was lost; ask again')
      for (const reject of this.#waiting) reject(lost)
    }
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
