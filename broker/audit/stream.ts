import {
  DiscardPolicy,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  type StoredMsg,
  type StreamInfo,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { roots } from '../../subjects/kit/names.ts'
import { ensureStream, fileStorage, storedMessages } from '../state/jetstream.ts'
import { outlast } from '../state/outlast.ts'

export const auditStream = 'AUDIT'
export const auditSubject = `${roots.audit}.records`

/** Bytes that the log may take of the platform's storage: a tenth, three million records of the default 10 GiB. */
export const auditBytes = (maxFileBytes: number): number => Math.floor(maxFileBytes / 10)
/** The broker answers in a millisecond; the answer to what was under way when it was lost never comes. */
export const auditRequestMs = 1_000
/** A reader asks for so long: a broker on a busy machine takes its time, and one that was killed is back in seconds. */
const readPatienceMs = 8_000
/** Messages have no ids, so the broker need remember none; it must not be longer than the retention. */
const duplicateWindowNs = 100e6
/** A reader's share of memory: at most so many messages at once. */
const chunkLength = 200

/** Some records, stored at once. */
export interface AuditMessage {
  readonly sequence: number
  readonly storedMs: number
  readonly body: string
}

/** The sequences that are there, both 0 while nothing was ever written; `first` is above `last` when all are gone. */
export interface AuditBounds {
  readonly first: number
  readonly last: number
}

/** The stream of the audit log, as its writer and its readers need it. */
export class AuditStream {
  readonly #manager: JetStreamManager
  readonly #connection: NatsConnection
  readonly #patienceMs: number

  private constructor(manager: JetStreamManager, connection: NatsConnection, patienceMs: number) {
    this.#manager = manager
    this.#connection = connection
    this.#patienceMs = patienceMs
  }

  /** Makes the stream, or gives it these limits. Nothing but age takes a message from it: the API of the broker may not. */
  static async open(
    connection: NatsConnection,
    { maxFileBytes, retentionMs }: { maxFileBytes: number; retentionMs: number },
  ): Promise<AuditStream> {
    const manager = await jetstreamManager(connection)
    await ensureStream(manager, {
      name: auditStream,
      subjects: [auditSubject],
      storage: fileStorage,
      retention: RetentionPolicy.Limits,
      // Were the oldest to go, whoever can make many records could make others vanish.
      discard: DiscardPolicy.New,
      allow_direct: true,
      deny_delete: true,
      deny_purge: true,
      duplicate_window: duplicateWindowNs,
      max_age: retentionMs * 1e6,
      max_bytes: auditBytes(maxFileBytes),
    })
    const asking = await jetstreamManager(connection, { timeout: auditRequestMs, checkAPI: false })
    // Its writer tries again by itself, from the beginning.
    return new AuditStream(asking, connection, 0)
  }

  /** The same for those who read it: each question is asked again until the broker answers. */
  patient(): AuditStream {
    return new AuditStream(this.#manager, this.#connection, readPatienceMs)
  }

  async bounds(): Promise<AuditBounds> {
    const { first_seq, last_seq } = (await this.#info()).state
    return { first: first_seq, last: last_seq }
  }

  /** Bytes that it may still take, by its own limit and by that of the platform. */
  async freeBytes(): Promise<number> {
    const [{ state, config }, account] = await Promise.all([this.#info(), this.#manager.getAccountInfo()])
    const ofPlatform = (account.limits.max_storage ?? 0) - account.storage
    return Math.min(config.max_bytes - state.bytes, ofPlatform)
  }

  #info(): Promise<StreamInfo> {
    return this.#ask(() => this.#manager.streams.info(auditStream))
  }

  #ask<T>(work: () => Promise<T>): Promise<T> {
    return outlast(this.#connection, this.#patienceMs, work)
  }

  /** One message, as its writer has to see it; undefined when it is not there. */
  async message(sequence: number): Promise<AuditMessage | undefined> {
    const found = await this.#ask(() => this.#manager.streams.getMessage(auditStream, { seq: sequence }))
    return found === null ? undefined : messageOf(found)
  }

  /** What is there from `from` to `to`, in order, in chunks; those that are missing are left out. */
  async *forward(from: number, to: number): AsyncGenerator<AuditMessage[]> {
    for (let next = Math.max(from, 1); next <= to;) {
      const chunk = await this.#chunk(next, to)
      if (chunk.length === 0) return
      yield chunk
      next = chunk.at(-1)!.sequence + 1
    }
  }

  /** The same from `to` down to `from`. */
  async *backward(from: number, to: number): AsyncGenerator<AuditMessage[]> {
    for (let last = to; last >= Math.max(from, 1); last -= chunkLength) {
      const chunk: AuditMessage[] = []
      for await (const part of this.forward(Math.max(from, last - chunkLength + 1), last)) chunk.push(...part)
      yield chunk.toReversed()
    }
  }

  async #chunk(from: number, to: number): Promise<AuditMessage[]> {
    const query = { seq: from, batch: Math.min(chunkLength, to - from + 1), next_by_subj: auditSubject }
    const messages = await this.#ask(() => storedMessages(this.#manager, auditStream, query))
    return messages.filter(({ seq }) => seq <= to).map(messageOf)
  }
}

const messageOf = (stored: StoredMsg): AuditMessage => ({
  sequence: stored.seq,
  storedMs: stored.time.getTime(),
  body: stored.string(),
})
