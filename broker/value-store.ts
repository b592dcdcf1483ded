import { type JetStreamManager, jetstreamManager, type StoredMsg } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { GantryError } from '../subjects/errors.ts'
import { idOfToken, subjectToken } from '../subjects/names.ts'
import {
  isApiError,
  isStorageFull,
  jetStreamCodes,
  readLast,
  sequenceOf,
  storedMessages,
} from './jetstream.ts'

/** A deletion is told of for so long; then nothing is left of the key. */
const deletionLife = '24h'
const deletionMarkerMs = 60_000

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
    const kv = await new Kvm(connection).create(bucket, options).catch(throwStorageError)
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
      await this.#kv.purge(subjectToken(key), { ttl: deletionLife, ...condition })
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
    const subscription = this.#connection.subscribe(`${this.#root}>`, { callback })
    return { stop: () => subscription.unsubscribe() }
  }

  /** Bytes that it takes, with what the broker keeps of each key. */
  async bytes(): Promise<number> {
    return (await this.#manager.streams.info(this.#stream)).state.bytes
  }

  /** Removes the bucket with all that is in it. */
  async destroy(): Promise<void> {
    await this.#kv.destroy()
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
