import { type JetStreamManager, jetstreamManager, type StoredMsg } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import type { NatsConnection, Subscription } from '@nats-io/transport-node'
import { GantryError } from '../../subjects/kit/errors.ts'
import { idOfToken, subjectToken } from '../../subjects/kit/names.ts'
import {
  eraseStream,
  isApiError,
  isStorageFull,
  jetStreamCodes,
  readLast,
  sequenceOf,
  storedMessages,
} from './jetstream.ts'
import { openWritable } from './writable-bucket.ts'
import { removing } from './books/stream-book.ts'

/** A deletion is told of for so long; then nothing is left of the key. */
const deletionLife = '24h'
const deletionMarkerMs = 60_000
/** Until the broker has taken away what is left of a key, at the latest: it looks for what has expired now and then. */
const deletionOverMs = 25 * 3_600_000

/** A value, or with none its deletion. */
export interface Change {
  readonly key: string
  readonly value: string | undefined
  readonly revision: number
}

const operationOf = (headers: { get(name: string): string } | undefined): string =>
  headers?.get('KV-Operation') || headers?.get('Nats-Marker-Reason') || 'PUT'

/**
 * Texts by key in a bucket of their own, for callers who compare revisions themselves. A revision is the place of the
 * value in the order of all changes of the bucket.
 */
export class ValueStore {
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  readonly #bucket: string
  readonly #kv: KV
  readonly #listeners = new Set<{ readonly callback: () => void }>()
  #changes: Subscription | undefined

  private constructor(connection: NatsConnection, manager: JetStreamManager, bucket: string, kv: KV) {
    this.#connection = connection
    this.#manager = manager
    this.#bucket = bucket
    this.#kv = kv
  }

  /** Opens the bucket; makes it if need be. @param bucket letters, digits, `-`, `_` */
  static async open(connection: NatsConnection, bucket: string): Promise<ValueStore> {
    const manager = await jetstreamManager(connection, { checkAPI: false })
    const options = { history: 1, markerTTL: deletionMarkerMs }
    const kv = await openWritable(connection, bucket, options).catch(throwStorageError)
    return new ValueStore(connection, manager, bucket, kv)
  }

  async get(key: string): Promise<{ value: string; revision: number } | undefined> {
    const entry = await this.#kv.get(subjectToken(key))
    return entry?.operation === 'PUT' ? { value: entry.string(), revision: entry.revision } : undefined
  }

  /**
   * @param expected revision that the value must have now, 0 for none at all
   * @throws GantryError CONFLICT, with the present revision in its details; STORAGE_FULL
   */
  async put(key: string, value: string, expected?: number): Promise<number> {
    const token = subjectToken(key)
    try {
      if (expected === undefined) return await this.#kv.put(token, value)
      if (expected === 0) return await this.#kv.create(token, value)
      return await this.#kv.update(token, value, expected)
    } catch (error) {
      return this.#refused(key, error)
    }
  }

  /** @throws GantryError NOT_FOUND, CONFLICT */
  async delete(key: string, expected?: number): Promise<void> {
    const current = await this.get(key)
    if (current === undefined) throw new GantryError('NOT_FOUND', `there is no value for ${key}`)
    if (expected !== undefined && expected !== current.revision) throw conflict(key, current.revision)
    try {
      const condition = expected === undefined ? {} : { previousSeq: expected }
      await removing(this.#connection, { stream: this.#stream, messages: 1, laterMs: deletionOverMs }, () =>
        this.#kv.purge(subjectToken(key), { ttl: deletionLife, ...condition }),
      )
    } catch (error) {
      await this.#refused(key, error)
    }
  }

  /** All keys that have a value, in order. */
  async keys(): Promise<{ key: string; revision: number }[]> {
    const found: { key: string; revision: number }[] = []
    await readLast(
      this.#connection,
      this.#stream,
      `${this.#root}>`,
      (message) => {
        if (operationOf(message.headers) === 'PUT')
          found.push({ key: this.#keyOf(message.subject), revision: sequenceOf(message) })
      },
      { headersOnly: true },
    )
    return found.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  }

  /**
   * The first changes after a revision, of each key the last one only.
   * @param maxBytes of keys and values; the change that reaches it is told of as well, so that there is always one
   */
  async changesAfter(revision: number, limit: number, maxBytes: number): Promise<Change[]> {
    const query = {
      seq: revision + 1,
      batch: limit,
      max_bytes: maxBytes,
      next_by_subj: `${this.#root}>`,
    }
    const messages = await storedMessages(this.#manager, this.#stream, query)
    return messages.map((message) => this.#changeOf(message))
  }

  /** Calls back at each change from now on, until `stop`. */
  onChange(callback: () => void): { stop(): void } {
    const listener = { callback }
    this.#listeners.add(listener)
    // The broker sends each value once for a subscription: with one for each listener a single change fills connections.
    this.#changes ??= this.#connection.subscribe(`${this.#root}>`, {
      callback: () => {
        for (const one of this.#listeners) one.callback()
      },
    })
    return {
      stop: () => {
        this.#listeners.delete(listener)
        if (this.#listeners.size > 0) return
        this.#changes?.unsubscribe()
        this.#changes = undefined
      },
    }
  }

  /** Bytes that it takes, with what the broker keeps of each key. */
  async bytes(): Promise<number> {
    return (await this.#manager.streams.info(this.#stream)).state.bytes
  }

  /** The same of a bucket that may not be there, and is not made then. */
  static async bytesOf(connection: NatsConnection, bucket: string): Promise<number> {
    const manager = await jetstreamManager(connection, { checkAPI: false })
    try {
      return (await manager.streams.info(`KV_${bucket}`)).state.bytes
    } catch (error) {
      if (isApiError(error, jetStreamCodes.streamNotFound)) return 0
      throw error
    }
  }

  /** Removes the bucket with all that is in it. */
  async destroy(): Promise<void> {
    await removing(this.#connection, { stream: this.#stream, messages: undefined }, () =>
      eraseStream(this.#manager, this.#stream),
    )
  }

  get #stream(): string {
    return `KV_${this.#bucket}`
  }

  get #root(): string {
    return `$KV.${this.#bucket}.`
  }

  #keyOf(subject: string): string {
    return idOfToken(subject.slice(this.#root.length))
  }

  #changeOf(message: StoredMsg): Change {
    const isThere = operationOf(message.header) === 'PUT'
    return {
      key: this.#keyOf(message.subject),
      value: isThere ? message.string() : undefined,
      revision: message.seq,
    }
  }

  async #refused(key: string, error: unknown): Promise<never> {
    if (!isApiError(error, jetStreamCodes.wrongLastSequence)) return throwStorageError(error)
    throw conflict(key, (await this.get(key))?.revision ?? 0)
  }
}

const conflict = (key: string, revision: number) =>
  new GantryError('CONFLICT', `${key} has been changed: its revision is ${revision}`, {
    details: { revision },
  })

function throwStorageError(error: unknown): never {
  if (!isStorageFull(error)) throw error
  throw new GantryError(
    'STORAGE_FULL',
    'the platform’s storage is full: raise max_file in messaging.config',
    {
      cause: error,
    },
  )
}
