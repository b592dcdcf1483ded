import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { SharedReading } from './shared-reading.ts'
import { type LastMessage, lastOfEach, type PlacedMessage, placedOf, storedMessages } from './jetstream.ts'

/** Messages that are asked for at once. */
const batchLength = 1_000
/** Writers that are busier than this leave no moment at which nothing is new: whoever reads then reads everything. */
const maxBatches = 20

/** What a message of the bucket says: a value with its id, that there is none, or nothing that can be read. */
export type Said<T> = KnownValue<T> | 'gone' | 'unreadable'

export interface KnownValue<T> {
  readonly id: string
  readonly value: T
}

/**
 * The values of a bucket, for whoever reads all of them again and again: those that were read stay in memory, and only what
 * was written since is read, whoever has written it. Not for a bucket whose values are erased, as that leaves no message.
 */
export class KnownValues<T> {
  readonly #connection: NatsConnection
  readonly #stream: string
  readonly #filter: string
  readonly #read: (message: LastMessage) => Said<T>
  /** By subject. */
  readonly #said = new Map<string, Exclude<Said<T>, 'gone'>>()
  /** By id; undefined while it is to be made anew. */
  #ordered: readonly KnownValue<T>[] | undefined
  /** Of which stream this is, in which process of the broker, and up to which message. */
  #of = ''
  #last = 0
  readonly #reading = new SharedReading(() => this.#upToDate())

  constructor(connection: NatsConnection, bucket: string, read: (message: LastMessage) => Said<T>) {
    this.#connection = connection
    this.#stream = `KV_${bucket}`
    this.#filter = `$KV.${bucket}.*`
    this.#read = read
  }

  /**
   * All values, ordered by id, with all that was written before this was called. They are shared: nobody may change them.
   * Undefined where one is unreadable, and while writers are too busy.
   */
  all(): Promise<readonly KnownValue<T>[] | undefined> {
    return this.#reading.read()
  }

  async #upToDate(): Promise<readonly KnownValue<T>[] | undefined> {
    const manager = await jetstreamManager(this.#connection, { checkAPI: false })
    const { created, state } = await manager.streams.info(this.#stream)
    // A broker that died may have lost its last messages, and gives their numbers to others.
    const of = `${this.#connection.info?.server_id} ${created}`
    if (of !== this.#of || state.last_seq < this.#last) {
      this.#said.clear()
      this.#ordered = undefined
      this.#of = ''
      await lastOfEach(this.#connection, this.#stream, this.#filter, (message) => this.#take(message))
      // What was replaced meanwhile may be missing, and comes after these.
      this.#last = state.last_seq
      this.#of = of
    }
    for (let batch = 0; batch < maxBatches; batch++) {
      const query = { seq: this.#last + 1, next_by_subj: this.#filter, batch: batchLength }
      const found = await storedMessages(manager, this.#stream, query)
      for (const message of found) this.#take(placedOf(message))
      this.#last = found.at(-1)?.seq ?? this.#last
      // One that is replaced while it is read comes after these.
      if (found.length === 0) return this.#inOrder()
    }
    return undefined
  }

  #take(message: PlacedMessage): void {
    const said = this.#read(message)
    if (said === 'gone') this.#said.delete(message.subject)
    else this.#said.set(message.subject, said)
    this.#ordered = undefined
  }

  #inOrder(): readonly KnownValue<T>[] | undefined {
    if (this.#ordered !== undefined) return this.#ordered
    const all = [...this.#said.values()].filter((one) => one !== 'unreadable')
    if (all.length < this.#said.size) return undefined
    this.#ordered = all.toSorted((one, other) => (one.id < other.id ? -1 : 1))
    return this.#ordered
  }
}
