import { setTimeout as delay } from 'node:timers/promises'
import { monotonicMs } from '../../../broker/common/monotonic.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import { storeError } from '../contract/store-error.ts'
import { changesIn, seenAt } from './changed-objects.ts'
import type { DirtyFolder } from '../feeds/dirty-folders.ts'
import { type ChangeFeed, type FeedListener, WatchError } from '../feeds/feed.ts'
import type { MessageQueue, Notice, QueueMessage } from './message-queue.ts'

/** Messages that are received and not removed yet, at most: more wait in the queue. SQS hides no more than 120,000. */
const maxReceived = 20_000
/** Requests for messages that are under way at once: each brings ten at most, in some 20 ms. */
const receivers = 4
/** A queue that cannot be reached is asked again for so long; then the work breaks off, says why, and is begun again. */
const outageMs = 60_000
const retryMs = { first: 250, most: 10_000 } as const
/** For so long before a queue drops what nobody removed a position is worth nothing. */
const spareMs = 3_600_000
/** What nobody understands may be a change: everything is compared, but no more often than this. */
const misreadMs = 3_600_000

export interface QueueFeedOptions {
  /** The same for all feeds that read the same queue with the same credentials. */
  readonly key: string
  readonly queue: () => MessageQueue
  /** What a message says; undefined when nobody understands it. */
  readonly parse: (body: string) => readonly Notice[] | undefined
  readonly bucket: string
  /** Path of the folder whose changes count, as latin1. */
  readonly root: string
}

/** Is told of changes by messages in a queue, which are removed when all that they tell of is done. */
export class QueueFeed implements ChangeFeed {
  readonly detection = 'notified'
  readonly reason: string
  readonly #options: QueueFeedOptions
  #reader: QueueReader | undefined

  constructor(options: QueueFeedOptions, name: string) {
    this.#options = options
    this.reason = `notifications in ${name}`
  }

  async open(listener: FeedListener, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    const { bucket, root } = this.#options
    const reader = QueueReader.share(this.#options)
    this.#reader = reader
    return reader.add(this, { listener, bucket, root }, signal)
  }

  async close(): Promise<void> {
    const reader = this.#reader
    this.#reader = undefined
    await reader?.remove(this)
  }
}

interface Follower {
  readonly listener: FeedListener
  readonly bucket: string
  readonly root: string
}

interface Received {
  message: QueueMessage
  readonly hiddenUntilMs: { value: number }
}

/** Reads a queue for all feeds of this process that follow it: what it gives one reader no other gets. */
class QueueReader {
  static readonly #shared = new Map<string, QueueReader>()
  readonly #key: string
  readonly #queue: MessageQueue
  readonly #parse: QueueFeedOptions['parse']
  readonly #followers = new Map<QueueFeed, Follower>()
  readonly #received = new Set<Received>()
  readonly #end = new AbortController()
  #identity: Promise<{ readonly stream: string; readonly keepsMs: number }> | undefined
  #isReading = false
  #done: Received[] = []
  #isRemoving = false
  #task: Task | undefined
  /** When nothing more was in the queue, in milliseconds since 1970. */
  #drainedMs: number | undefined
  /** Since when it cannot be reached (`monotonicMs`). */
  #awaySinceMs: number | undefined
  #misreadMs = Number.NEGATIVE_INFINITY
  #hasRoom = Promise.withResolvers<void>()

  private constructor({ key, queue, parse }: QueueFeedOptions) {
    this.#key = key
    this.#queue = queue()
    this.#parse = parse
  }

  static share(options: QueueFeedOptions): QueueReader {
    const known = QueueReader.#shared.get(options.key)
    if (known !== undefined) return known
    const made = new QueueReader(options)
    QueueReader.#shared.set(options.key, made)
    return made
  }

  /** As `ChangeFeed.open`. */
  async add(feed: QueueFeed, follower: Follower, signal: AbortSignal): Promise<boolean> {
    // From here on nothing is removed that it was not told of.
    this.#followers.set(feed, follower)
    try {
      const { stream, keepsMs } = await this.#identify()
      const at = Number((await follower.listener.positions.recall(stream)) ?? Number.NaN)
      await this.#keep(follower)
      signal.throwIfAborted()
      this.#read()
      return Date.now() - at < keepsMs - spareMs
    } catch (error) {
      await this.remove(feed)
      signal.throwIfAborted()
      throw endOf(error)
    }
  }

  async remove(feed: QueueFeed): Promise<void> {
    const follower = this.#followers.get(feed)
    if (follower === undefined) return
    if (this.#followers.size > 1) {
      // It is told nothing from now on: the position of another counts before anything more is removed.
      this.#followers.delete(feed)
      await this.#keepAll()
      return
    }
    await this.#keep(follower).catch(() => undefined)
    this.#followers.delete(feed)
    // Somebody may have come meanwhile.
    if (this.#followers.size === 0) this.#close()
  }

  #close(): void {
    if (QueueReader.#shared.get(this.#key) === this) QueueReader.#shared.delete(this.#key)
    this.#task?.stop()
    this.#end.abort(new Error('the queue is not followed any more'))
    this.#queue.close()
  }

  #identify(): Promise<{ readonly stream: string; readonly keepsMs: number }> {
    this.#identity ??= this.#queue.identify(this.#end.signal)
    this.#identity.catch(() => (this.#identity = undefined))
    return this.#identity
  }

  #read(): void {
    if (this.#isReading) return
    this.#isReading = true
    this.#task = every('migrations.feed-positions', () => this.#tend())
    for (let n = 0; n < receivers; n++) void this.#receiveAll()
  }

  async #receiveAll(): Promise<void> {
    const { signal } = this.#end
    let waitMs: number = retryMs.first
    while (!signal.aborted) {
      try {
        if (this.#received.size >= maxReceived) {
          await this.#hasRoom.promise
          continue
        }
        const askedMs = Date.now()
        const messages = await this.#queue.receive(signal)
        this.#awaySinceMs = undefined
        waitMs = retryMs.first
        if (messages.length === 0) this.#drainedMs = askedMs
        for (const message of messages) this.#tell(message)
      } catch (error) {
        if (signal.aborted) return
        this.#failed(error)
        await delay(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined)
        waitMs = Math.min(waitMs * 2, retryMs.most)
      }
    }
  }

  #failed(error: unknown): void {
    this.#awaySinceMs ??= monotonicMs()
    const end = endOf(error)
    if (!(end instanceof WatchError) && monotonicMs() - this.#awaySinceMs < outageMs) return
    this.#awaySinceMs = undefined
    for (const { listener } of this.#followers.values()) listener.ended(end)
  }

  #tell(message: QueueMessage): void {
    const received: Received = { message, hiddenUntilMs: { value: monotonicMs() + this.#queue.hiddenMs } }
    this.#received.add(received)
    const notices = this.#parse(message.body)
    const told: [Follower, DirtyFolder[]][] = []
    for (const follower of this.#followers.values()) {
      const folders = notices === undefined ? this.#misread(message) : changesIn(notices, follower)
      if (folders.length > 0) told.push([follower, folders])
    }
    let left = told.length
    const done = () => {
      if (--left <= 0) this.#isDone(received)
    }
    if (told.length === 0) done()
    for (const [{ listener }, folders] of told) listener.changed(folders, done)
  }

  #misread({ sentMs }: QueueMessage): DirtyFolder[] {
    if (monotonicMs() - this.#misreadMs < misreadMs) return []
    this.#misreadMs = monotonicMs()
    return [{ folder: '', names: [], trees: [], scope: 'tree', sinceMs: seenAt(sentMs) }]
  }

  #isDone(received: Received): void {
    this.#done.push(received)
    if (!this.#isRemoving) void this.#removeDone()
  }

  async #removeDone(): Promise<void> {
    this.#isRemoving = true
    // What is done in the same turn goes together.
    await Promise.resolve()
    while (this.#done.length > 0 && !this.#end.signal.aborted) {
      const done = this.#done
      this.#done = []
      try {
        await this.#queue.remove(done.map(({ message }) => message))
      } catch {
        // They come again, and are found to be done.
      }
      for (const received of done) this.#received.delete(received)
      this.#hasRoom.resolve()
      this.#hasRoom = Promise.withResolvers()
    }
    this.#isRemoving = false
  }

  async #tend(): Promise<void> {
    const dueMs = monotonicMs() + this.#queue.hiddenMs / 2
    const due = [...this.#received].filter(({ hiddenUntilMs }) => hiddenUntilMs.value < dueMs)
    if (due.length > 0) {
      const hiddenUntilMs = monotonicMs() + this.#queue.hiddenMs
      const hidden = await this.#queue.hide(due.map(({ message }) => message)).catch(() => undefined)
      for (const [index, received] of due.entries()) {
        const message = hidden?.[index]
        if (message === undefined) continue
        received.message = message
        received.hiddenUntilMs.value = hiddenUntilMs
      }
    }
    await this.#keepAll()
  }

  async #keepAll(): Promise<void> {
    for (const follower of this.#followers.values()) await this.#keep(follower).catch(() => undefined)
  }

  /** All that was sent until the time that is kept was received, and what was received and is not done is younger. */
  async #keep({ listener }: Follower): Promise<void> {
    const { stream } = await this.#identify()
    const oldestMs = this.#received
      .values()
      .reduce((oldest, { message }) => Math.min(oldest, message.sentMs), Infinity)
    const at = this.#drainedMs === undefined ? '' : String(Math.min(this.#drainedMs, oldestMs))
    await listener.positions.keep(stream, at)
  }
}

/** Of a queue that is not there or may not be read no news comes: everything is compared from time to time instead. */
function endOf(error: unknown): Error {
  const known = storeError(error)
  if (known.failure !== 'gone' && known.failure !== 'refused') return known
  return new WatchError(known.message, true, { cause: error })
}
