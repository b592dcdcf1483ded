import { queueStream } from '../../common/queue-stream.ts'
import { jetstreamManager, type StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { appendFileSync, globSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { readTextFile } from '../../common/files.ts'
import { fileStorage, isApiError, isTransient, jetStreamCodes } from '../jetstream.ts'
import type { Log } from '../../common/log.ts'
import { onReconnect } from '../../common/reconnects.ts'
import { checksum, checksumLength, journalFolder, type RecordJournals } from './record-journal.ts'
import type { Found } from './record-losses.ts'
import { areBlocksWhole, blockBytes } from './stored-blocks.ts'
import { type SeenStream, seenStream, streamLoss } from './stream-comparison.ts'
import { every, type Task } from '../../tasks/tasks.ts'

const fileName = 'streams'
const fileMode = 0o600
/** Removals that take effect later are counted by the hour. */
const hourMs = 3_600_000
/** What was due while no broker ran, a broker removes within seconds of its start, and not before it answers. */
const afterStartMs = 600_000

/** nats-server reads so much within half a second. Larger streams are believed to have what their index says. */
const maxReadBytes = 64 * 2 ** 20

/**
 * What the account has stored and for how many streams: one small answer instead of that of each stream. It does not show
 * that a message took the place of one of the same size; those the next full look sees.
 */
type Usage = `${number} bytes, ${number} streams`
/** Between two looks at each stream, however little seems to have happened. */
const fullLookMs = 30_000

/** What the platform removes from a stream by itself, announced before it does so. */
interface Removal {
  readonly stream: string
  /** Messages, at most; undefined for the whole stream. */
  readonly messages: number | undefined
  /** Until when they may go, in milliseconds since 1970; undefined: when the work is done. */
  readonly untilMs?: number | undefined
}

interface Announced extends Removal {
  isDone: boolean
}

/** What the first line of the file has. */
interface State {
  readonly streams: Readonly<Record<string, SeenStream>>
  readonly wasStopped: boolean
}

interface BookOptions {
  readonly journals: RecordJournals
  /** Streams whose losses are found by whoever uses them. */
  readonly without?: readonly string[]
  readonly home: string
  readonly log: Log
}

/** By connection, so that whoever removes messages over it need not be given the book. */
const books = new WeakMap<NatsConnection, StreamBook>()

/**
 * Removes messages from a stream, or all of it, and says so before, so that they are not taken for lost.
 * @param removal `laterMs`: they go within this time after the work
 */
export async function removing<T>(
  connection: NatsConnection,
  { laterMs, ...removal }: Pick<Removal, 'stream' | 'messages'> & { readonly laterMs?: number },
  work: () => Promise<T>,
): Promise<T> {
  const untilMs = laterMs === undefined ? undefined : Date.now() + laterMs
  const done = books.get(connection)?.announce({ ...removal, untilMs })
  try {
    return await work()
  } finally {
    done?.()
  }
}

/** Tells what the platform has found to be lost, when there is a book. */
export const tellLosses = (connection: NatsConnection, found: readonly Found[]): void =>
  books.get(connection)?.tell(found)

/**
 * What each stream had stored when it was looked at last, in a file beside the broker's store. nats-server drops damaged
 * messages without a word; compared with this, a stream shows what it has lost. Work queues have a proof of their own.
 *
 * The first line of the file is the state of all streams, which is rewritten at each look; each other line is a removal
 * that was announced since.
 */
export class StreamBook {
  readonly #connection: NatsConnection
  readonly #options: BookOptions
  readonly #path: string
  readonly #announced = new Set<Announced>()
  #seen: ReadonlyMap<string, SeenStream> = new Map()
  /** Whether nothing was changed since the last look. */
  #wasStopped = false
  /** What is in the file, but for when each stream was looked at: while nothing changes, an earlier moment is as true. */
  #saved: string | undefined
  #looking: Promise<void> = Promise.resolve()
  /** At the last look, and when that was by a monotonic clock. */
  #usage: { readonly text: Usage; readonly atMs: number } | undefined
  #task: Task | undefined
  #forget: (() => void) | undefined

  /**
   * Before nats-server starts: takes away the indexes of streams that it can rebuild, and of those whose blocks are
   * damaged. With an index it believes that all messages are intact until it reads one, and where the sequence of one is
   * damaged, it counts for hours before it starts or answers; without, it looks at each.
   */
  static dropIndexes(home: string, storeDir: string): void {
    const [first] = linesOf(join(home, journalFolder, fileName)) ?? []
    const { streams = {} } = (first ?? {}) as Partial<State>
    for (const path of globSync(join(storeDir, 'jetstream/*/streams/*/msgs/index.db'))) {
      const folder = dirname(path)
      if (blockBytes(folder) > maxReadBytes) continue
      const isPlain = streams[basename(dirname(folder))]?.isPlain === true
      if (isPlain || !areBlocksWhole(folder)) rmSync(path, { force: true })
    }
  }

  private constructor(connection: NatsConnection, options: BookOptions) {
    this.#connection = connection
    this.#options = options
    this.#path = join(options.home, journalFolder, fileName)
  }

  /**
   * Compares the streams with what the last run has seen, before anybody writes to them, and from then on regularly.
   * Buckets with a journal are compared with that when they are opened, and only later with the book.
   */
  static async open(connection: NatsConnection, options: BookOptions): Promise<StreamBook> {
    const book = new StreamBook(connection, options)
    book.#load()
    await book.#trying(() => book.#look((stream) => !options.journals.has(storeOf(stream))))
    books.set(connection, book)
    book.#task = every('platform.streams', () => book.lookIfUsed())
    // A broker that was killed may have lost messages; what comes next must not hide that.
    book.#forget = onReconnect(connection, () => {
      book.look().catch((err: unknown) => options.log.error({ err }, 'The streams could not be compared.'))
    })
    return book
  }

  /** Compares all streams with what they had, and remembers what they have now. */
  look(): Promise<void> {
    return this.#inTurn(() => this.#look(() => true))
  }

  #inTurn(look: () => Promise<void>): Promise<void> {
    this.#looking = this.#looking.then(() => this.#trying(look))
    const looked = this.#looking
    this.#looking = looked.catch(() => undefined)
    return looked
  }

  /** Looks at the streams unless nothing seems to have been stored or removed since. */
  lookIfUsed(): Promise<void> {
    return this.#inTurn(async () => {
      if (await this.#isUsed()) await this.#look(() => true)
    })
  }

  /** Remembers what there is at the end of a run. */
  async close(): Promise<void> {
    this.#task?.stop()
    this.#forget?.()
    if (!this.#connection.isClosed()) {
      await this.look()
      this.#save(true)
    }
    books.delete(this.#connection)
  }

  tell(found: readonly Found[]): void {
    this.#options.journals.losses.add(found)
  }

  /** Notes that messages will be removed; returns what says that they are. */
  announce(removal: Removal): () => void {
    const { stream, messages, untilMs } = removal
    const same = untilMs === undefined ? undefined : this.#announcedInHour(stream, untilMs)
    if (same !== undefined) this.#announced.delete(same)
    const announced: Announced = {
      stream,
      messages: messages === undefined ? undefined : messages + (same?.messages ?? 0),
      untilMs,
      isDone: false,
    }
    this.#announced.add(announced)
    // The file has a line more, which must not outlive the removal.
    this.#saved = undefined
    try {
      appendFileSync(this.#path, line(removal), { mode: fileMode })
    } catch (err) {
      this.#options.log.debug({ err, path: this.#path }, 'A removal could not be recorded.')
    }
    return () => void (announced.isDone = true)
  }

  #announcedInHour(stream: string, untilMs: number): Announced | undefined {
    const hour = Math.floor(untilMs / hourMs)
    return this.#announced
      .values()
      .find(
        (one) =>
          one.stream === stream && one.untilMs !== undefined && Math.floor(one.untilMs / hourMs) === hour,
      )
  }

  /** What a broker that is away cannot say, the next look finds. */
  async #trying(look: () => Promise<void>): Promise<void> {
    try {
      await look()
    } catch (err) {
      if (!isTransient(err) && !this.#connection.isClosed()) throw err
      this.#options.log.debug({ err }, 'The streams could not be compared.')
    }
  }

  async #isUsed(): Promise<boolean> {
    const isDue = this.#usage === undefined || performance.now() - this.#usage.atMs > fullLookMs
    // Without what is in the file, it has to be written.
    return isDue || this.#saved === undefined || (await this.#usageNow()) !== this.#usage?.text
  }

  async #usageNow(): Promise<Usage> {
    const manager = await jetstreamManager(this.#connection, { checkAPI: false })
    const { storage, streams } = await manager.getAccountInfo()
    return `${storage} bytes, ${streams} streams`
  }

  async #look(isMeant: (stream: string) => boolean): Promise<void> {
    const nowMs = Date.now()
    // Asked first: what is stored meanwhile is looked at again.
    const usage = { text: await this.#usageNow(), atMs: performance.now() }
    const over = [...this.#announced].filter((one) => one.isDone && (one.untilMs ?? 0) < nowMs)
    const streams = await this.#streams()
    const removals = Map.groupBy(this.#announced, ({ stream }) => stream)
    const found: Found[] = []
    for (const [name, before] of this.#seen) {
      const own = removals.get(name) ?? []
      if (!isMeant(name) || own.some(({ messages }) => messages === undefined)) continue
      const now = streams.get(name) ?? (await this.#stream(name))
      const removed = own.reduce((sum, { messages = 0 }) => sum + messages, 0)
      const loss = streamLoss(before, now, { removed, nowMs, wasStopped: this.#wasStopped })
      if (loss !== undefined) found.push({ store: storeOf(name), ...loss })
    }
    // Written down before what there is now becomes what there was.
    this.#options.journals.losses.addOfStreams(found)
    for (const one of over) this.#announced.delete(one)
    this.#seen = new Map(
      Array.from(streams, ([name, info]) => [name, seenStream(info, nowMs, this.#seen.get(name))]),
    )
    this.#wasStopped = false
    this.#save(false)
    this.#usage = usage
  }

  /** All streams on the disk but work queues, which have a proof of their own, and those that are left out. */
  async #streams(): Promise<Map<string, StreamInfo>> {
    const manager = await jetstreamManager(this.#connection, { checkAPI: false })
    const streams = new Map<string, StreamInfo>()
    for await (const info of manager.streams.list()) {
      const { name, storage } = info.config
      const isOurs = !name.startsWith(queueStream('')) && this.#options.without?.includes(name) !== true
      if (storage === fileStorage && isOurs) streams.set(name, info)
    }
    return streams
  }

  /** One that was not among all: the list comes in pages, between which others may come and go. */
  async #stream(name: string): Promise<StreamInfo | undefined> {
    const manager = await jetstreamManager(this.#connection, { checkAPI: false })
    try {
      return await manager.streams.info(name)
    } catch (error) {
      if (isApiError(error, jetStreamCodes.streamNotFound, jetStreamCodes.streamOffline)) return undefined
      throw error
    }
  }

  #save(wasStopped: boolean): void {
    const { log } = this.#options
    const removals = Array.from(this.#announced, ({ stream, messages, untilMs }) =>
      line({ stream, messages, untilMs }),
    )
    const state: State = { streams: Object.fromEntries(this.#seen), wasStopped }
    const content = JSON.stringify([state, removals], (key, value: unknown) =>
      key === 'atMs' ? undefined : value,
    )
    if (content === this.#saved) return
    try {
      writeFileSync(`${this.#path}.new`, [line(state), ...removals].join(''), { mode: fileMode })
      renameSync(`${this.#path}.new`, this.#path)
      this.#saved = content
    } catch (err) {
      log.error({ err, path: this.#path }, 'The contents of the broker’s streams could not be recorded.')
    }
  }

  #load(): void {
    const lines = linesOf(this.#path)
    if (lines === undefined) return
    const [first, ...others] = lines
    if (first === undefined) {
      this.#options.journals.losses.add([{ store: fileName, kind: 'BOOK_DAMAGED' }])
      return
    }
    const { streams, wasStopped } = first as State
    this.#seen = new Map(Object.entries(streams))
    this.#wasStopped = wasStopped
    const leastMs = Date.now() + afterStartMs
    for (const other of others) {
      if (other === undefined) continue
      const removal = other as Removal
      const later = removal.untilMs === undefined ? {} : { untilMs: Math.max(removal.untilMs, leastMs) }
      // Whoever announced it has ended: it is done, or nobody will do it.
      this.#announced.add({ ...removal, ...later, isDone: true })
    }
  }
}

/** A bucket is called what its records call it. */
const storeOf = (stream: string): string => stream.replace(/^KV_/, '')

function line(value: object): string {
  const content = JSON.stringify(value)
  return `${checksum(content)} ${content}\n`
}

/** Undefined for a file that is not there. */
const linesOf = (path: string): (object | undefined)[] | undefined =>
  readTextFile(path)?.split('\n').slice(0, -1).map(parsedLine)

/** Undefined for a damaged line. */
function parsedLine(text: string): object | undefined {
  const content = text.slice(checksumLength + 1)
  return text.slice(0, checksumLength) === checksum(content) ? (JSON.parse(content) as object) : undefined
}
