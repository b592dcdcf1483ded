import { jetstreamManager, type StoredMsg } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { GantryError } from '../../subjects/kit/errors.ts'
import { idOfToken, subjectToken } from '../../subjects/kit/names.ts'
import { type Envelope, parseEnvelope } from './envelope.ts'
import {
  isApiError,
  isStorageFull,
  jetStreamCodes,
  type LastMessage,
  lastFew,
  lastOfEach,
  lastOfThese,
  messageCount,
  readLast,
  subjectsOf,
  untilMade,
} from './jetstream.ts'
import { outlast } from './outlast.ts'
import type { RecordJournal } from './books/record-journal.ts'
import { quarantine } from './quarantine.ts'
import { removing } from './books/stream-book.ts'
import { openWritable } from './writable-bucket.ts'

/** A broker that was killed is back within a second, and has read a large store within half a minute. */
const outageMs = 30_000

/** Of each key the last value is kept. */
export const bucketOptions = { history: 1 } as const

/** An envelope as it is stored. */
export interface Stored {
  readonly envelope: Envelope
  readonly revision: number
}

/**
 * Envelopes by id in a KV bucket. Writes are retried while the broker is away; a record that is no envelope is quarantined
 * (`namesSetAside`) by whoever finds it.
 */
export class Bucket {
  readonly kv: KV
  readonly #name: string
  readonly #connection: NatsConnection
  readonly #journal: RecordJournal | undefined

  private constructor(kv: KV, name: string, connection: NatsConnection, journal: RecordJournal | undefined) {
    this.kv = kv
    this.#name = name
    this.#connection = connection
    this.#journal = journal
  }

  /** Opens it, and makes it if need be. @param journal notes each change before it is answered */
  static async open(connection: NatsConnection, name: string, journal?: RecordJournal): Promise<Bucket> {
    const kv = await untilMade(() =>
      // With a journal more can be told of it, and restored.
      journal === undefined
        ? openWritable(connection, name, bucketOptions)
        : new Kvm(connection).create(name, bucketOptions),
    )
    return new Bucket(kv, name, connection, journal)
  }

  get(id: string): Promise<Stored | undefined> {
    return this.#at(subjectToken(id))
  }

  /** Undefined too for a record that is none, which is away then. */
  async #at(key: string): Promise<Stored | undefined> {
    const entry = await this.kv.get(key)
    if (entry?.operation !== 'PUT') return undefined
    const { revision, value: data } = entry
    const envelope = parseEnvelope(entry.string())
    if (envelope !== undefined) return { envelope, revision }
    await quarantine(this.#connection, this.kv, this.#name, { key, revision, data })
    await this.#journal?.deleted(key, revision)
    return undefined
  }

  /** Hands over every envelope, as they are now. */
  async each(take: (envelope: Envelope) => void): Promise<void> {
    const reading = this.#reading(take)
    await lastOfEach(this.#connection, this.#stream, `${this.#prefix}*`, reading.onMessage)
    await reading.end()
  }

  /** The keys of all that is stored, ordered by id, those whose ids come after one; those of removed values among them. */
  async keysAfter(after?: string): Promise<string[]> {
    const subjects = await subjectsOf(this.#connection, this.#stream, `${this.#prefix}*`)
    return subjects
      .map((subject) => subject.slice(this.#prefix.length))
      .map((key) => ({ key, id: idOfToken(key) }))
      .filter(({ id }) => after === undefined || id > after)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ key }) => key)
  }

  /** The envelopes of these keys, in any order: 1,000 at most at once. */
  async atKeys(keys: readonly string[]): Promise<Envelope[]> {
    const envelopes: Envelope[] = []
    const reading = this.#reading((envelope) => envelopes.push(envelope))
    const subjects = keys.map((key) => this.#prefix + key)
    for (const message of await lastOfThese(this.#connection, this.#stream, subjects))
      reading.onMessage(asLastMessage(message))
    await reading.end()
    return envelopes
  }

  /** All envelopes when they are few enough to come with one answer; undefined when they are not. */
  async few(): Promise<Envelope[] | undefined> {
    const found = await lastFew(this.#connection, this.#stream, `${this.#prefix}*`)
    if (found === undefined) return undefined
    const envelopes: Envelope[] = []
    const reading = this.#reading((envelope) => envelopes.push(envelope))
    for (const message of found) reading.onMessage(asLastMessage(message))
    await reading.end()
    return envelopes
  }

  /** No less than the number of values: removed ones leave a message too, and so does every entry of an index. */
  messageCount(): Promise<number> {
    return messageCount(this.#connection, this.#stream)
  }

  /** The number of values. Without their content, all of them are read. */
  async count(): Promise<number> {
    let found = 0
    const take = ({ headers }: LastMessage) => {
      if (!headers?.get('KV-Operation')) found += 1
    }
    await readLast(this.#connection, this.#stream, `${this.#prefix}*`, take, { headersOnly: true })
    return found
  }

  /** Hands on what messages hold; an unreadable record is quarantined at the end. */
  #reading(take: (envelope: Envelope) => void) {
    const unreadable: string[] = []
    return {
      onMessage: (message: LastMessage): void => {
        if (message.headers?.get('KV-Operation')) return
        const envelope = parseEnvelope(message.string())
        if (envelope !== undefined) take(envelope)
        else unreadable.push(message.subject.slice(this.#prefix.length))
      },
      end: async (): Promise<void> => {
        for (const key of unreadable) await this.#at(key)
      },
    }
  }

  get #stream(): string {
    return `KV_${this.#name}`
  }

  get #prefix(): string {
    return `$KV.${this.#name}.`
  }

  /** Writes an envelope, whatever is there. @throws GantryError STORAGE_FULL */
  async put(envelope: Envelope): Promise<void> {
    const token = subjectToken(envelope.id)
    const text = JSON.stringify(envelope)
    const revision = await this.persist(() => this.kv.put(token, text))
    await this.#journal?.wrote(token, revision, text)
  }

  /**
   * Writes an envelope in the place of a revision, 0 for none; resolves to its own revision, undefined when somebody else
   * was faster. A broker that died may have stored it and not lived to say so: that is looked up.
   * @throws GantryError STORAGE_FULL; the broker's error when somebody has changed it since, so that nobody can know
   */
  async store(envelope: Envelope, over: number): Promise<number | undefined> {
    const token = subjectToken(envelope.id)
    const text = JSON.stringify(envelope)
    let lost: unknown
    const outcome = await this.persist(async () => {
      try {
        return await (over === 0 ? this.kv.create(token, text) : this.kv.update(token, text, over))
      } catch (error) {
        if (!isApiError(error, jetStreamCodes.wrongLastSequence)) {
          lost = error
          throw error
        }
        if (lost === undefined) return undefined
        const stored = await this.get(envelope.id)
        return stored?.envelope.w === envelope.w ? stored?.revision : uncertain
      }
    })
    if (outcome === uncertain) throw lost
    if (outcome !== undefined) await this.#note(token, outcome, envelope, text)
    return outcome
  }

  /** A record whose deletion is yet to be told must not return either. */
  async #note(token: string, revision: number, { gone }: Envelope, text: string): Promise<void> {
    if (gone === true) await this.#journal?.deleted(token, revision)
    else await this.#journal?.wrote(token, revision, text)
  }

  /** Removes a revision; false when somebody else was faster. */
  async remove(id: string, revision: number): Promise<boolean> {
    let isLost = false
    const token = subjectToken(id)
    const isRemoved = await this.persist(async () => {
      try {
        await this.kv.delete(token, { previousSeq: revision })
        return true
      } catch (error) {
        if (!isApiError(error, jetStreamCodes.wrongLastSequence)) {
          isLost = true
          throw error
        }
        return isLost && (await this.get(id)) === undefined
      }
    })
    if (isRemoved) await this.#journal?.deleted(token, revision)
    return isRemoved
  }

  /**
   * Removes a record and all trace of it, whatever is there. With a journal it is marked as deleted first: a process that is
   * killed on the way leaves either what the journal says or what it can follow, and no record that seems to have returned
   * or to be lost.
   */
  async erase(id: string): Promise<void> {
    const token = subjectToken(id)
    const stream = `KV_${this.#name}`
    if (this.#journal !== undefined) {
      await this.kv.delete(token)
      await this.#journal.erased(token)
      // Without a note of it the mark is all that says so.
      if (this.#journal.problem !== undefined) return
    }
    const manager = await jetstreamManager(this.#connection, { checkAPI: false })
    await removing(this.#connection, { stream, messages: 1 }, () =>
      manager.streams.purge(stream, { filter: `$KV.${this.#name}.${token}` }),
    )
  }

  /** Retries idempotent work until the broker has done it. @throws GantryError STORAGE_FULL; when the broker stays away */
  async persist<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await outlast(this.#connection, outageMs, work)
    } catch (error) {
      throw storageError(error)
    }
  }
}

const asLastMessage = (message: StoredMsg): LastMessage => ({
  subject: message.subject,
  headers: message.header,
  string: () => message.string(),
})

/** Whether something was stored nobody can say. */
const uncertain = Symbol('uncertain')

const storageError = (error: unknown): unknown =>
  isStorageFull(error)
    ? new GantryError('STORAGE_FULL', 'the platform’s storage is full: raise max_file in messaging.config', {
        cause: error,
      })
    : error
