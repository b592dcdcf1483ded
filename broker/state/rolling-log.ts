import { type JetStreamManager, jetstreamManager, RetentionPolicy, type StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { ensureStream, fileStorage, storedMessages } from './jetstream.ts'
import { LedgerNotes } from './ledger.ts'

/** Fits into a reply, and so does one entry more: none is larger than a message. */
const page = { batch: 200, max_bytes: 256 * 1024 } as const

interface RollingLogOptions {
  /** Of the stream. */
  readonly name: string
  readonly root: string
  readonly maxBytes: number
  readonly maxAgeMs: number
}

/** Entries of a list, as far as a page goes. Positions are opaque. */
interface Followed<T> {
  readonly entries: readonly { readonly entry: T; readonly at: string; readonly storedMs: number }[]
  /** After these entries. */
  readonly at: string
  /** Whether nothing else was there after the position that is gone. */
  readonly isWhole: boolean
  readonly hasMore: boolean
}

/**
 * Lists in one stream, one for each subject token under a root, of which the oldest entries go when it is full or they are
 * too old. Readers follow a list from any position, and are told when they may have missed something. A position has the time
 * at which the stream was made, since another one of its name counts anew.
 */
export class RollingLog<T> {
  readonly #manager: JetStreamManager
  readonly #options: RollingLogOptions
  readonly #notes: LedgerNotes<T>

  private constructor(connection: NatsConnection, manager: JetStreamManager, options: RollingLogOptions) {
    this.#manager = manager
    this.#options = options
    this.#notes = new LedgerNotes(connection, options.root)
  }

  static async open<T>(connection: NatsConnection, options: RollingLogOptions): Promise<RollingLog<T>> {
    const manager = await jetstreamManager(connection)
    await ensureStream(manager, {
      name: options.name,
      subjects: [`${options.root}.*`],
      storage: fileStorage,
      retention: RetentionPolicy.Limits,
      allow_direct: true,
      max_age: options.maxAgeMs * 1e6,
      max_bytes: options.maxBytes,
    })
    return new RollingLog<T>(connection, manager, options)
  }

  /** Resolves when it is stored. @throws GantryError STORAGE_FULL */
  async append(list: string, entry: T): Promise<void> {
    await this.#notes.tryAppend(list, entry, crypto.randomUUID())
  }

  /** When something was added to a list last, in milliseconds since 1970; undefined where nothing of it is left. */
  async lastMs(list: string): Promise<number | undefined> {
    const query = { last_by_subj: this.#subject(list) }
    return (await this.#manager.streams.getMessage(this.#options.name, query))?.time.getTime()
  }

  /** @param position as it was told; without one, or with one of another stream, nothing is told but the end */
  async after(list: string, position: string | undefined): Promise<Followed<T>> {
    const { name } = this.#options
    const before = await this.#manager.streams.info(name)
    const known = sequenceIn(position, before)
    if (known === undefined)
      return { entries: [], at: positionOf(before, before.state.last_seq), isWhole: false, hasMore: false }
    const query = { seq: known + 1, next_by_subj: this.#subject(list), ...page }
    const messages = await storedMessages(this.#manager, name, query)
    const hasMore = (messages.at(-1)?.pending ?? 0) > 0
    // All that was there before is read, of whatever list: a position does not grow old while only others are added to.
    const last = Math.max(messages.at(-1)?.seq ?? known, hasMore ? 0 : before.state.last_seq)
    const { state } = await this.#manager.streams.info(name)
    return {
      entries: messages.map((message) => ({
        entry: message.json<T>(),
        at: positionOf(before, message.seq),
        storedMs: message.time.getTime(),
      })),
      at: positionOf(before, last),
      // What went meanwhile may have been read before: to be told that it may be missing does no harm.
      isWhole: state.first_seq <= known + 1,
      hasMore,
    }
  }

  #subject(list: string): string {
    return `${this.#options.root}.${list}`
  }
}

const positionOf = ({ created }: Pick<StreamInfo, 'created'>, sequence: number): string =>
  `${Date.parse(created)}-${sequence}`

/** Undefined for a position in another stream. */
function sequenceIn(position: string | undefined, info: StreamInfo): number | undefined {
  const [made, sequence] = position?.split('-') ?? []
  const number = Number(sequence)
  const isHere = Number(made) === Date.parse(info.created) && number <= info.state.last_seq
  return isHere ? number : undefined
}
