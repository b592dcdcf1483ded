import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { Slots } from '../../broker/common/slots.ts'
import { every } from '../../broker/tasks/tasks.ts'
import { type Change, ValueStore } from '../../broker/state/value-store.ts'
import type { Caller, Handlers } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import {
  type extensionStorage,
  maxChanges,
  maxWaitMs,
  storageLimits,
} from '../../subjects/extensions/storage.ts'
import { subjectToken } from '../../subjects/kit/names.ts'
import { maxPageLength } from '../../subjects/kit/schemas.ts'
import type { RequireOwn } from './own.ts'
import type { OwnerStorage } from './owner-storage.ts'
import { keyOf } from './visibility.ts'

/** Changes told in one answer: with one more value they fit into a message of 8 MiB even where each byte is escaped. */
const maxToldBytes = 2 ** 20

/** Calls that wait for changes of one storage: all of them look at each change. */
export const maxWatches = 100
/**
 * Reads at once, of one storage and of all. A small request may read a mebibyte, and what the broker holds for the
 * connection that all state is read on has a limit: beyond it, the connection is closed for everybody.
 */
const reads = { ofOne: 16, ofAll: 64 }
/** The same for lists of keys, which read the names of up to 64 MiB of values. */
const lists = { ofOne: 1, ofAll: 4 }

interface OpenStorage {
  readonly store: Promise<ValueStore>
  readonly reads: Slots
  readonly lists: Slots
  watches: number
}

/** The storages, each opened when it is needed. */
export class Storages {
  readonly #connection: NatsConnection
  readonly #open = new Map<string, OpenStorage>()
  readonly #slots = { reads: new Slots(reads.ofAll), lists: new Slots(lists.ofAll) }
  readonly #end = new AbortController()

  constructor(connection: NatsConnection) {
    this.#connection = connection
  }

  of(prefix: string): Promise<ValueStore> {
    return this.#opened(prefix).store
  }

  /** Reads when it is the turn of the storage and of the reader; not for a caller who has given up. */
  async read<T>(
    prefix: string,
    kind: 'reads' | 'lists',
    signal: AbortSignal,
    work: (store: ValueStore) => Promise<T>,
  ): Promise<T> {
    const storage = this.#opened(prefix)
    const store = await storage.store
    const inTurn = async () => {
      signal.throwIfAborted()
      return work(store)
    }
    return storage[kind].run(() => this.#slots[kind].run(inTurn))
  }

  /** @throws GantryError OVERLOADED when as many wait for changes of this storage as may */
  async watching<T>(prefix: string, watch: () => Promise<T>): Promise<T> {
    const storage = this.#opened(prefix)
    if (storage.watches >= maxWatches)
      throw new GantryError(
        'OVERLOADED',
        `${maxWatches} watches are open on the storage of ${prefix}, which is the limit: use one watch per process`,
      )
    storage.watches += 1
    try {
      return await watch()
    } finally {
      storage.watches -= 1
    }
  }

  #opened(prefix: string): OpenStorage {
    let storage = this.#open.get(prefix)
    if (storage === undefined) {
      const store = ValueStore.open(this.#connection, bucketOf(prefix))
      storage = { store, reads: new Slots(reads.ofOne), lists: new Slots(lists.ofOne), watches: 0 }
      this.#open.set(prefix, storage)
      store.catch(() => this.#open.delete(prefix))
    }
    return storage
  }

  /** Aborts when nobody is to wait for changes any more. */
  get ending(): AbortSignal {
    return this.#end.signal
  }

  /** Answers all who wait for changes, so that the service can stop. */
  end(): void {
    this.#end.abort()
  }

  /** Bytes of a storage, which is not made for that. */
  bytesOf(prefix: string): Promise<number> {
    return ValueStore.bytesOf(this.#connection, bucketOf(prefix))
  }

  async drop(prefix: string): Promise<void> {
    const store = await this.of(prefix)
    this.#open.delete(prefix)
    await store.destroy()
  }
}

const bucketOf = (prefix: string) => `extension-storage-${prefix}`

/** What extensions store. A key reaches the storage of an extension that is its own. */
export function storageHandlers({
  storages,
  ofOwners,
  requireOwn,
}: {
  readonly storages: Storages
  readonly ofOwners: Pick<OwnerStorage, 'requireRoom'>
  readonly requireOwn: RequireOwn
}): Handlers<typeof extensionStorage> {
  const storeFor = async (prefix: string, caller: Caller): Promise<ValueStore> => {
    await requireOwn(keyOf(caller), prefix)
    return storages.of(prefix)
  }
  return {
    get: async ({ prefix, key }, call) => {
      await storeFor(prefix, call.caller)
      const found = await storages.read(prefix, 'reads', call.signal, (store) => store.get(key))
      if (found === undefined) throw call.fail('NOT_FOUND', `there is no value for ${key}`)
      return { key, ...found }
    },
    put: async ({ prefix, key, value, revision }, { caller, signal }) => {
      const keyId = keyOf(caller)
      const owner = await requireOwn(keyId, prefix)
      const store = await storages.of(prefix)
      const addedBytes = bytesOfEntry(key, value)
      const replacedBytes = async () => {
        const found = await storages.read(prefix, 'reads', signal, () => store.get(key))
        return found === undefined ? 0 : bytesOfEntry(key, found.value)
      }
      await requireRoom({ prefix, store, addedBytes, replacedBytes })
      await ofOwners.requireRoom({ keyId, owner, addedBytes, replacedBytes })
      return { revision: await store.put(key, value, revision) }
    },
    delete: async ({ prefix, key, revision }, { caller }) => {
      await (await storeFor(prefix, caller)).delete(key, revision)
      return {}
    },
    list: async ({ prefix, beginning = '', after, limit = maxPageLength }, { caller, signal }) => {
      await storeFor(prefix, caller)
      const all = await storages.read(prefix, 'lists', signal, (store) => store.keys())
      return all
        .filter(({ key }) => key.startsWith(beginning) && (after === undefined || key > after))
        .slice(0, limit)
    },
    watch: async ({ prefix, beginning = '', after = 0, waitMs = maxWaitMs }, call) => {
      const store = await storeFor(prefix, call.caller)
      const signal = AbortSignal.any([call.signal, storages.ending])
      const changesAfter = (revision: number) =>
        storages.read(prefix, 'reads', call.signal, () =>
          store.changesAfter(revision, maxChanges, maxToldBytes),
        )
      return storages.watching(prefix, () =>
        changesOf({ store, changesAfter }, { beginning, after, waitMs }, signal),
      )
    },
  }
}

/** What the broker takes for each message, and for its place in the index. */
const messageBytes = 256

/** Of a value in the storage; its key is in the subject and in the index. */
const bytesOfEntry = (key: string, value: string): number =>
  messageBytes + 2 * subjectToken(key).length + Buffer.byteLength(value)

async function requireRoom({
  prefix,
  store,
  addedBytes,
  replacedBytes,
}: {
  readonly prefix: string
  readonly store: ValueStore
  readonly addedBytes: number
  readonly replacedBytes: () => Promise<number>
}): Promise<void> {
  const { totalBytes } = storageLimits
  const freeBytes = totalBytes - (await store.bytes())
  if (addedBytes <= freeBytes) return
  // Only when it is nearly full: what is replaced makes room, and what does not grow needs none.
  if (addedBytes - (await replacedBytes()) <= Math.max(0, freeBytes)) return
  throw new GantryError(
    'STORAGE_FULL',
    `the storage of ${prefix} is full (${totalBytes} bytes): delete values that are not needed`,
  )
}

/** Waits for changes after a revision, which are told from then on. */
async function changesOf(
  {
    store,
    changesAfter,
  }: {
    readonly store: Pick<ValueStore, 'onChange'>
    readonly changesAfter: (revision: number) => Promise<Change[]>
  },
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
  const again = every('extensions.storage-watches', () => wake.resolve())
  let revision = after
  try {
    for (;;) {
      wake = Promise.withResolvers()
      const told = await changesAfter(revision)
      revision = told.at(-1)?.revision ?? revision
      const changes = told.filter(({ key }) => key.startsWith(beginning)).map(written)
      if (changes.length > 0 || isOver) return { changes, revision }
      // There was something, and nothing of what is asked for: on to the next.
      if (told.length === 0) await Promise.race([wake.promise, stopped.promise])
    }
  } finally {
    clearTimeout(timer)
    again.stop()
    watching.stop()
  }
}

const written = ({ key, value, revision }: Change) => ({
  key,
  revision,
  ...(value === undefined ? {} : { value }),
})
