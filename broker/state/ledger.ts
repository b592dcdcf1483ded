import {
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { GantryError } from '../../subjects/kit/errors.ts'
import { retry } from '../common/retry.ts'
import { ensureStream, fileStorage, isStorageFull, isTransient, storedMessages } from './jetstream.ts'
import { removing } from './books/stream-book.ts'

/** An entry, with its number in the ledger: they grow, and are not consecutive for one list. */
export interface LedgerEntry<T> {
  readonly sequence: number
  readonly entry: T
}

export interface LedgerOptions {
  /** Of the stream. */
  readonly name: string
  readonly root: string
  /** Of the whole platform. */
  readonly maxFileBytes: number
  /** Older entries go; default: none does. */
  readonly maxAgeMs?: number
}

/** Share of the platform's storage that a ledger may take. */
const storageShare = 10
/**
 * How long two entries with the same id are one: whoever had begun to note them may be away for so long. An id takes some
 * 200 bytes of the broker's memory.
 */
const duplicateWindowNs = 3_600e9

/** The part of a ledger that every worker has: to append. */
export class LedgerNotes<T> {
  readonly #lists: string
  readonly #js: JetStreamClient

  constructor(connection: NatsConnection, root: string) {
    this.#lists = root
    this.#js = jetstream(connection)
  }

  /**
   * Appends; retries while the broker is away or full. Resolves with the entry's number.
   * @param messageId the same entry twice within an hour is one
   */
  async append(list: string, entry: T, messageId: string, signal: AbortSignal): Promise<number> {
    const mayPass = (error: unknown) => isTransient(error) || isStorageFull(error)
    return retry(() => this.#publish(list, entry, messageId), { mayPass, signal })
  }

  /** Appends, or not; resolves with the entry's number. @throws GantryError STORAGE_FULL */
  async tryAppend(list: string, entry: T, messageId: string): Promise<number> {
    try {
      return await this.#publish(list, entry, messageId)
    } catch (error) {
      if (!isStorageFull(error)) throw error
      throw new GantryError(
        'STORAGE_FULL',
        'the platform’s storage is full: raise max_file in messaging.config',
        {
          cause: error,
        },
      )
    }
  }

  async #publish(list: string, entry: T, messageId: string): Promise<number> {
    const subject = `${this.#lists}.${list}`
    return (await this.#js.publish(subject, JSON.stringify(entry), { msgID: messageId })).seq
  }
}

/**
 * Durable lists that grow at their end, one for each subject token under a root, all in one stream. Nothing is dropped:
 * when the stream is full, whoever appends waits.
 */
export class Ledger<T> extends LedgerNotes<T> {
  readonly #stream: string
  readonly #root: string
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager

  private constructor(stream: string, root: string, connection: NatsConnection, manager: JetStreamManager) {
    super(connection, root)
    this.#connection = connection
    this.#stream = stream
    this.#root = root
    this.#manager = manager
  }

  static async open<T>(
    connection: NatsConnection,
    { name, root, maxFileBytes, maxAgeMs = 0 }: LedgerOptions,
  ): Promise<Ledger<T>> {
    const manager = await jetstreamManager(connection)
    await ensureStream(manager, {
      name,
      subjects: [`${root}.*`],
      storage: fileStorage,
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.New,
      allow_direct: true,
      duplicate_window: duplicateWindowNs,
      max_bytes: Math.floor(maxFileBytes / storageShare),
      max_age: maxAgeMs * 1e6,
    })
    return new Ledger<T>(name, root, connection, manager)
  }

  /**
   * Entries of a list in order, those up to the sequence `after` left out.
   * @param list one of them, or `*` @param since begins with it where `after` is not given; when nothing is younger, older entries may come
   */
  async page(
    list: string,
    { after, since, limit }: { after?: number | undefined; since?: Date | undefined; limit: number },
  ): Promise<LedgerEntry<T>[]> {
    const begin =
      after === undefined && since !== undefined ? { start_time: since } : { seq: (after ?? 0) + 1 }
    const query = { ...begin, batch: limit, next_by_subj: `${this.#root}.${list}` }
    const messages = await storedMessages(this.#manager, this.#stream, query)
    return messages.map((message) => ({ sequence: message.seq, entry: message.json<T>() }))
  }

  /** Number of entries in a list. */
  async count(list: string): Promise<number> {
    return (await this.counts(list)).get(list) ?? 0
  }

  /** Number of entries in each list that has any. @param list one of them, or `*` */
  async counts(list = '*'): Promise<Map<string, number>> {
    const { state } = await this.#manager.streams.info(this.#stream, {
      subjects_filter: `${this.#root}.${list}`,
    })
    const subjects = Object.entries(state.subjects ?? {})
    return new Map(subjects.map(([subject, count]) => [subject.slice(this.#root.length + 1), count]))
  }

  /** A text that is another one when entries came or went, in whatever list. */
  async mark(): Promise<string> {
    const { last_seq: last, messages } = (await this.#manager.streams.info(this.#stream)).state
    return `${last} ${messages}`
  }

  /** Number of the entry that was added last, in whatever list. */
  async lastSequence(): Promise<number> {
    return (await this.#manager.streams.info(this.#stream)).state.last_seq
  }

  /**
   * Takes out one entry; no error when it is gone already, nor when it is of another list.
   * @param sequence as `page` gives it @param list that it must be of
   */
  async forget(sequence: number, list?: string): Promise<void> {
    const message = await this.#manager.streams.getMessage(this.#stream, { seq: sequence })
    if (message === null) return
    if (list !== undefined && message.subject !== `${this.#root}.${list}`) return
    await removing(this.#connection, { stream: this.#stream, messages: 1 }, () =>
      this.#manager.streams.deleteMessage(this.#stream, sequence, false),
    )
  }

  /** Forgets a list. */
  async remove(list: string): Promise<void> {
    const messages = await this.count(list)
    await removing(this.#connection, { stream: this.#stream, messages }, () =>
      this.#manager.streams.purge(this.#stream, { filter: `${this.#root}.${list}` }),
    )
  }
}
