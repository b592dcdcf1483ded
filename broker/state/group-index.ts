import { jetstreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { subjectToken } from '../../subjects/kit/names.ts'
import { lastOfEach } from './jetstream.ts'
import { removing } from './books/stream-book.ts'

/** Where the index is in a bucket. Keys of values are one token, those of the index three. */
const root = 'in'

/**
 * Which values of a bucket belong to which group, so that those of one are found without a look at all others. An id is
 * written before its value: one that has none (any more) means nothing.
 */
export class GroupIndex {
  readonly #kv: KV
  readonly #connection: NatsConnection
  readonly #bucket: string

  constructor(kv: KV, connection: NatsConnection, bucket: string) {
    this.#kv = kv
    this.#connection = connection
    this.#bucket = bucket
  }

  async add(group: string, id: string): Promise<void> {
    await this.#kv.put(keyOf(group, id), id)
  }

  /** Forgets an entry, and leaves no trace of it. */
  async remove(group: string, id: string): Promise<void> {
    const manager = await jetstreamManager(this.#connection, { checkAPI: false })
    const filter = `$KV.${this.#bucket}.${keyOf(group, id)}`
    const stream = `KV_${this.#bucket}`
    await removing(this.#connection, { stream, messages: 1 }, () => manager.streams.purge(stream, { filter }))
  }

  /** Ids in a group, ordered. */
  async idsOf(group: string): Promise<string[]> {
    const ids: string[] = []
    await this.#each(`${subjectToken(group)}.*`, (_, id) => ids.push(id))
    return ids.toSorted()
  }

  /** Adds what is missing: values that were stored before the index, or by a release that has none. */
  async complete(all: readonly { group: string; id: string }[]): Promise<void> {
    const known = new Set<string>()
    await this.#each('>', (key) => known.add(key))
    for (const { group, id } of all) if (!known.has(keyOf(group, id))) await this.add(group, id)
  }

  #each(filter: string, take: (key: string, id: string) => void): Promise<void> {
    const prefix = `$KV.${this.#bucket}.`
    return lastOfEach(this.#connection, `KV_${this.#bucket}`, `${prefix}${root}.${filter}`, (message) =>
      take(message.subject.slice(prefix.length), message.string()),
    )
  }
}

const keyOf = (group: string, id: string): string => `${root}.${subjectToken(group)}.${subjectToken(id)}`
