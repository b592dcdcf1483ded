import {
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from './backoff.ts'
import {
  fileStorage,
  isApiError,
  isNotFound,
  isStorageFull,
  isTransient,
  jetStreamCodes,
} from './jetstream.ts'

/** An entry, with its number in the ledger: they grow, and are not consecutive for one book. */
export interface LedgerEntry<T> {
  readonly sequence: number
  readonly entry: T
}

/** Share of the platform's storage that a ledger may take. */
const storageShare = 10
/**
 * How long two entries with the same id are one: whoever had begun to note them may be away for so long. An id takes some
 * 200 bytes of the broker's memory.
 */
const duplicateWindowNs = 3_600e9

/**
 * Durable lists that grow at their end, one for each book (a subject token) under a root, all in one stream. Nothing is dropped:
 * when the stream is full, whoever appends waits.
 */
export class Ledger<T> {
  readonly #stream: string
  readonly #root: string
  readonly #js: JetStreamClient
  readonly #manager: JetStreamManager

  private constructor(stream: string, root: string, js: JetStreamClient, manager: JetStreamManager) {
    this.#stream = stream
    this.#root = root
    this.#js = js
    this.#manager = manager
  }

  static async open<T>(
    connection: NatsConnection,
    { name, root, maxFileBytes }: { name: string; root: string; maxFileBytes: number },
  ): Promise<Ledger<T>> {
    const manager = await jetstreamManager(connection)
    const config = {
      name,
      subjects: [`${root}.*`],
      storage: fileStorage,
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.New,
      allow_direct: true,
      duplicate_window: duplicateWindowNs,
      max_bytes: Math.floor(maxFileBytes / storageShare),
    }
    try {
      await manager.streams.add(config)
    } catch (error) {
      if (!isApiError(error, jetStreamCodes.streamNameInUse)) throw error
      await manager.streams.update(name, config)
    }
    return new Ledger<T>(name, root, jetstream(connection), manager)
  }

  /** Appends; tries on while the broker is away or full. @param messageId the same entry twice within an hour is one */
  async append(book: string, entry: T, messageId: string, signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#js.publish(`${this.#root}.${book}`, JSON.stringify(entry), { msgID: messageId })
        return
      } catch (error) {
        if (!isTransient(error) && !isStorageFull(error)) throw error
        await delay(backoffMs(attempt), undefined, { signal })
      }
    }
  }

  /** Entries of a book in order, those up to the sequence `after` left out. */
  async page(
    book: string,
    { after = 0, limit }: { after?: number; limit: number },
  ): Promise<LedgerEntry<T>[]> {
    const entries: LedgerEntry<T>[] = []
    const query = { seq: after + 1, batch: limit, next_by_subj: `${this.#root}.${book}` }
    const messages = await this.#manager.direct.getBatch(this.#stream, query)
    try {
      for await (const message of messages) entries.push({ sequence: message.seq, entry: message.json<T>() })
    } catch (error) {
      // There is nothing more: the end, and no fault.
      if (!isNotFound(error)) throw error
    }
    return entries
  }

  /** Number of entries in a book. */
  async count(book: string): Promise<number> {
    return (await this.counts(book)).get(book) ?? 0
  }

  /** Number of entries in each book that has any. @param book one of them, or `*` */
  async counts(book = '*'): Promise<Map<string, number>> {
    const { state } = await this.#manager.streams.info(this.#stream, {
      subjects_filter: `${this.#root}.${book}`,
    })
    const subjects = Object.entries(state.subjects ?? {})
    return new Map(subjects.map(([subject, count]) => [subject.slice(this.#root.length + 1), count]))
  }

  /** Takes out one entry; no error when it is gone already. @param sequence as `page` gives it */
  async forget(sequence: number): Promise<void> {
    const message = await this.#manager.streams.getMessage(this.#stream, { seq: sequence })
    if (message !== null) await this.#manager.streams.deleteMessage(this.#stream, sequence, false)
  }

  /** Forgets a book. */
  async remove(book: string): Promise<void> {
    await this.#manager.streams.purge(this.#stream, { filter: `${this.#root}.${book}` })
  }
}
