import type { NatsConnection } from '../../broker/connection.ts'
import { type Change, ValueStore } from '../../broker/value-store.ts'
import type { Caller, Handlers } from '../../subjects/contract.ts'
import { GantryError } from '../../subjects/errors.ts'
import {
  type extensionStorage,
  maxChanges,
  maxWaitMs,
  storageLimits,
} from '../../subjects/extension-storage.ts'
import { maxPageLength } from '../../subjects/schemas.ts'
import type { RequireOwn } from './own.ts'
import { keyOf } from './visibility.ts'

/** Changes told in one answer: with one more value they fit into a message of 8 MiB even where each byte is escaped. */
const maxToldBytes = 2 ** 20

/** Who waits looks at least so often: the word of a change is lost with a connection. */
const lookAgainMs = 5_000

/** The storages, each opened when it is needed. */
export class Storages {
  readonly #connection: NatsConnection
  readonly #open = new Map<string, Promise<ValueStore>>()
  readonly #end = new AbortController()

  constructor(connection: NatsConnection) {
    this.#connection = connection
  }

  of(prefix: string): Promise<ValueStore> {
    let store = this.#open.get(prefix)
    if (store === undefined) {
      store = ValueStore.open(this.#connection, `extension-storage-${prefix}`)
      this.#open.set(prefix, store)
      store.catch(() => this.#open.delete(prefix))
    }
    return store
  }

  /** Aborts when nobody is to wait for changes any more. */
  get ending(): AbortSignal {
    return this.#end.signal
  }

  /** Answers all who wait for changes, so that the service can stop. */
  end(): void {
    this.#end.abort()
  }

  async drop(prefix: string): Promise<void> {
    const store = await this.of(prefix)
    this.#open.delete(prefix)
    await store.destroy()
  }
}

/** What extensions store. A key reaches the storage of an extension that is its own. */
export function storageHandlers({
  storages,
  requireOwn,
}: {
  readonly storages: Storages
  readonly requireOwn: RequireOwn
}): Handlers<typeof extensionStorage> {
  const storeFor = async (prefix: string, caller: Caller): Promise<ValueStore> => {
    await requireOwn(keyOf(caller), prefix)
    return storages.of(prefix)
  }
  return {
    get: async ({ prefix, key }, call) => {
      const found = await (await storeFor(prefix, call.caller)).get(key)
      if (found === undefined) throw call.fail('NOT_FOUND', `there is no value for ${key}`)
      return { key, ...found }
    },
    put: async ({ prefix, key, value, revision }, { caller }) => {
      requireCharacters({ key, value })
      const store = await storeFor(prefix, caller)
      await requireRoom({ prefix, store, key, value })
      return { revision: await store.put(key, value, revision) }
    },
    delete: async ({ prefix, key, revision }, { caller }) => {
      await (await storeFor(prefix, caller)).delete(key, revision)
      return {}
    },
    list: async ({ prefix, beginning = '', after, limit = maxPageLength }, { caller }) => {
      const all = await (await storeFor(prefix, caller)).keys()
      return all
        .filter(({ key }) => key.startsWith(beginning) && (after === undefined || key > after))
        .slice(0, limit)
    },
    watch: async ({ prefix, beginning = '', after = 0, waitMs = maxWaitMs }, call) => {
      const store = await storeFor(prefix, call.caller)
      return changesOf(store, { beginning, after, waitMs }, AbortSignal.any([call.signal, storages.ending]))
    },
  }
}

/** Half of a surrogate pair has no form in UTF-8, and would come back as another character. */
function requireCharacters(fields: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(fields)) {
    if (!text.isWellFormed())
      throw new GantryError('INVALID_INPUT', `input: ${name} must be of whole characters`)
  }
}

async function requireRoom({
  prefix,
  store,
  key,
  value,
}: {
  readonly prefix: string
  readonly store: ValueStore
  readonly key: string
  readonly value: string
}): Promise<void> {
  const { totalBytes } = storageLimits
  const addedBytes = Buffer.byteLength(value)
  const freeBytes = totalBytes - (await store.bytes())
  if (addedBytes <= freeBytes) return
  // Only when it is nearly full: what is replaced makes room, and what does not grow needs none.
  const replaced = await store.get(key)
  if (addedBytes - Buffer.byteLength(replaced?.value ?? '') <= Math.max(0, freeBytes)) return
  throw new GantryError(
    'STORAGE_FULL',
    `the storage of ${prefix} has ${totalBytes} bytes: delete what is not needed`,
  )
}

/** Waits for changes after a revision, which are told from then on. */
async function changesOf(
  store: ValueStore,
  { beginning, after, waitMs }: { beginning: string; after: number; waitMs: number },
  signal: AbortSignal,
) {
  let wake = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const timer = setTimeout(stopped.resolve, waitMs)
  signal.addEventListener('abort', () => stopped.resolve(), { once: true })
  if (signal.aborted) stopped.resolve()
  let isOver = false
  void stopped.promise.then(() => (isOver = true))
  const watching = store.onChange(() => wake.resolve())
  const again = setInterval(() => wake.resolve(), lookAgainMs)
  let revision = after
  try {
    for (;;) {
      wake = Promise.withResolvers()
      const told = await store.changesAfter(revision, maxChanges, maxToldBytes)
      revision = told.at(-1)?.revision ?? revision
      const changes = told.filter(({ key }) => key.startsWith(beginning)).map(written)
      if (changes.length > 0 || isOver) return { changes, revision }
      // There was something, and nothing of what is asked for: on to the next.
      if (told.length === 0) await Promise.race([wake.promise, stopped.promise])
    }
  } finally {
    clearTimeout(timer)
    clearInterval(again)
    watching.stop()
  }
}

const written = ({ key, value, revision }: Change) => ({
  key,
  revision,
  ...(value === undefined ? {} : { value }),
})
