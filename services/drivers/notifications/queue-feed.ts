import { setTimeout as delay } from 'node:timers/promises'
import { monotonicMs } from '../../../broker/common/monotonic.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import { changesIn, seenAt } from './changed-objects.ts'
import { everythingSince } from '../feeds/dirty-folders.ts'
import { endOf } from './endings.ts'
import { type ChangeFeed, type FeedListener, outageMs, WatchError } from '../feeds/feed.ts'
import {
  deliveryMs,
  misreadMs,
  type MessageQueue,
  type Notice,
  type QueueMessage,
  type ReceivedMessage,
} from './message-queue.ts'

/** What happened by the host's clock, which shows whole milliseconds, may have happened so much earlier or later by the other one. */
const clockTickMs = 1

/** Messages that are received and not removed yet, at most: more wait in the queue. SQS hides no more than 120,000. */
const maxReceived = 20_000
/** Requests for messages that are under way at once: each brings ten at most, in some 20 ms. */
const receivers = 4
const retryMs = { first: 250, most: 10_000 } as const
/** For so long before a queue drops what nobody removed a position is worth nothing. */
const spareMs = 3_600_000
/**
 * After a start nothing is removed for so long, unless all who were told together before are there again: the others go on
 * where they were only if they are told all that comes from then on.
 */
const usualGatherMs = 60_000

export interface QueueFeedOptions {
  /** The same for all feeds that read the same queue with the same credentials. */
  readonly key: string
  readonly queue: () => MessageQueue
  /** What a message says; undefined when nobody understands it. */
  readonly parse: (body: string) => readonly Notice[] | undefined
  readonly bucket: string
  /** Path of the folder whose changes count, as latin1. */
  readonly root: string
  /** For so long others are waited for after a start; undefined for as long as usual. */
  readonly gatherMs?: number | undefined
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

  get toldUntilMs(): number | undefined {
    return this.#reader?.toldUntilMs
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
  message: ReceivedMessage
  /** Until when nobody else gets it (`monotonicMs`). */
  hiddenUntilMs: number
  /** What it says, as long as others may come who are to be told of it. */
  news: News | undefined
  /** Whose work on it is not done. */
  readonly waiting: Set<QueueFeed>
}

/** What a message says: undefined notices are what nobody understood. */
interface News {
  readonly notices: readonly Notice[] | undefined
  readonly sentMs: number
}

/** Reads a queue for all feeds of this process that follow it: what it gives one reader no other gets. */
class QueueReader {
  static readonly #shared = new Map<string, QueueReader>()
  readonly #key: string
  readonly #queue: MessageQueue
  readonly #parse: QueueFeedOptions['parse']
  readonly #gatherMs: number
  readonly #followers = new Map<QueueFeed, Follower>()
  readonly #received = new Set<Received>()
  readonly #end = new AbortController()
  /** How many have left, and how many of them had done so when the position was stored last. */
  #left = 0
  #leftKept = 0
  #identity: Promise<{ readonly stream: string; readonly keepsMs: number }> | undefined
  #stream: string | undefined
  #isReading = false
  #begunMs = Date.now()
  /** Nothing is unread that was sent before this began: neither in the queue, nor hidden since another process received it. */
  #isCaughtUp = false
  #onCaughtUp: (() => void)[] = []
  /** Nothing is removed yet, nor anything stored. */
  #isGathering = true
  readonly #done = new Set<Received>()
  #isRemoving = false
  #task: Task | undefined
  /** All that was sent before was received, in milliseconds since 1970; undefined as long as nobody knows. */
  #readMs: number | undefined
  /** Since when it cannot be reached (`monotonicMs`). */
  #awaySinceMs: number | undefined
  /** When everything was compared last for what nobody understood, and since when something else waits for that. */
  #misread = { comparedMs: Number.NEGATIVE_INFINITY, sinceMs: undefined as number | undefined }
  /** Such comparisons that are not done, by who makes them. */
  readonly #comparing = new Set<{ readonly feed: QueueFeed }>()
  /** How often one became due, and how often that was when the position was stored last. */
  #owed = 0
  #owedKept = 0
  #hasRoom = Promise.withResolvers<void>()

  private constructor({ key, queue, parse, gatherMs = usualGatherMs }: QueueFeedOptions) {
    this.#key = key
    this.#queue = queue()
    this.#parse = parse
    this.#gatherMs = gatherMs
  }

  static share(options: QueueFeedOptions): QueueReader {
    const known = QueueReader.#shared.get(options.key)
    if (known !== undefined) return known
    const made = new QueueReader(options)
    QueueReader.#shared.set(options.key, made)
    return made
  }

  /** What is sent before it is caught up is in the lag. */
  get toldUntilMs(): number {
    return seenAt(this.#readMs ?? this.#begunMs) - deliveryMs - clockTickMs
  }

  /** As `ChangeFeed.open`. */
  async add(feed: QueueFeed, follower: Follower, signal: AbortSignal): Promise<boolean> {
    // From here on nothing is removed that it was not told of.
    this.#followers.set(feed, follower)
    if (this.#isGathering)
      for (const received of this.#received) {
        const { news } = received
        if (news === undefined) continue
        if (news.notices === undefined) this.#hasMisread(news.sentMs)
        this.#tell(received, news, [[feed, follower]])
      }
    try {
      const { stream, keepsMs } = await this.#identify()
      this.#requireAlone(stream)
      const at = Number((await follower.listener.positions.recall(stream)) || Number.NaN)
      signal.throwIfAborted()
      if (at > (this.#readMs ?? Number.NEGATIVE_INFINITY)) this.#readMs = at
      const isBehind = !this.#isCaughtUp && follower.listener.behind !== undefined
      if (isBehind) this.#onCaughtUp.push(follower.listener.behind(at > 0 ? seenAt(at) : monotonicMs()))
      this.#read()
      return Date.now() - at < keepsMs - spareMs
    } catch (error) {
      await this.remove(feed)
      signal.throwIfAborted()
      throw endOf(error)
    }
  }

  /** Each would take what is for the other. */
  #requireAlone(stream: string): void {
    this.#stream = stream
    const isElsewhere = QueueReader.#shared
      .values()
      .some((other) => other !== this && other.#stream === stream)
    if (!isElsewhere) return
    const { name } = this.#queue
    throw new WatchError(
      `${name} is read already, for a source that names it otherwise or has other credentials; give both the same`,
      true,
    )
  }

  async remove(feed: QueueFeed): Promise<void> {
    if (!this.#followers.has(feed)) return
    if (this.#followers.size === 1) await this.#keep().catch(() => undefined)
    this.#followers.delete(feed)
    // Somebody may have come meanwhile.
    if (this.#followers.size === 0) return this.#close()
    this.#left++
    for (const comparison of this.#comparing) if (comparison.feed === feed) this.#comparing.delete(comparison)
    // It is told nothing from now on, which has to be stored before anything more is removed.
    await this.#keep().catch(() => undefined)
    for (const received of this.#received) if (received.waiting.delete(feed)) this.#isDone(received)
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
    this.#begunMs = Date.now()
    void this.#hideAll()
    this.#task = every('migrations.feed-positions', () => this.#tend())
    void this.#gather()
    for (let n = 0; n < receivers; n++) void this.#receiveAll()
  }

  /** Waits until all who were told together are there again. From then on, who comes was not told of what is removed. */
  async #gather(): Promise<void> {
    const { signal } = this.#end
    const untilMs = monotonicMs() + this.#gatherMs
    while (this.#isGathering) {
      if (monotonicMs() >= untilMs || (await this.#areAllThere().catch(() => false))) {
        this.#isGathering = false
        await this.#keep().catch(() => (this.#isGathering = true))
      }
      if (this.#isGathering) await delay(retryMs.first, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
    }
    for (const received of this.#received) received.news = undefined
    if (!this.#isRemoving) void this.#removeDone()
  }

  async #areAllThere(): Promise<boolean> {
    const { stream } = await this.#identify()
    const there = [...this.#followers.values()].map(({ listener }) => listener.positions)
    const named = (await there[0]?.readersOf(stream)) ?? []
    return named.every((reader) => there.some((one) => one.reader === reader))
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
        if (signal.aborted) return
        this.#awaySinceMs = undefined
        waitMs = retryMs.first
        for (const message of messages) this.#receive(message)
        this.#hasReadUntil(Math.min(askedMs, ...messages.map(({ sentMs }) => sentMs)))
      } catch (error) {
        if (signal.aborted) return
        this.#failed(error)
        await delay(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined)
        waitMs = Math.min(waitMs * 2, retryMs.most)
      }
    }
  }

  /**
   * A queue that is never empty gives messages roughly in their order: what is older than one that comes has come, or does
   * within the hour by which positions end early.
   */
  #hasReadUntil(ms: number): void {
    this.#readMs = Math.max(this.#readMs ?? ms, ms)
    // What another process had received is not hidden any more.
    const isAllShown = Date.now() >= this.#begunMs + this.#queue.hiddenMs
    if (this.#isCaughtUp || ms < this.#begunMs || !isAllShown) return
    this.#isCaughtUp = true
    for (const caughtUp of this.#onCaughtUp.splice(0)) caughtUp()
  }

  #failed(error: unknown): void {
    this.#awaySinceMs ??= monotonicMs()
    const end = endOf(error)
    if (!(end instanceof WatchError) && monotonicMs() - this.#awaySinceMs < outageMs) return
    const followers = [...this.#followers.values()]
    // Each is told once, and may come again.
    this.#followers.clear()
    this.#close()
    for (const { listener } of followers) listener.ended(end)
  }

  #receive({ body, ...message }: QueueMessage): void {
    const received: Received = {
      message,
      hiddenUntilMs: monotonicMs() + this.#queue.hiddenMs,
      news: undefined,
      waiting: new Set(),
    }
    this.#received.add(received)
    const news = { notices: this.#understood(body), sentMs: message.sentMs }
    if (this.#isGathering) received.news = news
    if (news.notices === undefined) this.#hasMisread(message.sentMs)
    this.#tell(received, news, this.#followers)
    this.#isDone(received)
  }

  /** Whoever may send messages chooses what is in them: one that nobody is ready for must not stay for ever. */
  #understood(body: string): readonly Notice[] | undefined {
    try {
      return this.#parse(body)
    } catch {
      return undefined
    }
  }

  #tell(received: Received, { notices }: News, followers: Iterable<readonly [QueueFeed, Follower]>): void {
    if (notices === undefined) return
    const told = [...followers].map(
      ([feed, follower]) => [feed, follower.listener, changesIn(notices, follower)] as const,
    )
    const concerned = told.filter(([, , folders]) => folders.length > 0)
    for (const [feed] of concerned) received.waiting.add(feed)
    if (concerned.length > 0) this.#done.delete(received)
    for (const [feed, listener, folders] of concerned)
      listener.changed(folders, () => {
        if (received.waiting.delete(feed)) this.#isDone(received)
      })
  }

  /** Everything is to be compared, which whoever begins after a kill must know before the message is removed. */
  #hasMisread(sentMs: number): void {
    const wasOwed = this.#isOwed
    this.#misread.sinceMs ??= seenAt(sentMs)
    if (!wasOwed) {
      this.#owed++
      void this.#keep().catch(() => undefined)
    }
    this.#compareMisread()
  }

  get #isOwed(): boolean {
    return this.#misread.sinceMs !== undefined || this.#comparing.size > 0
  }

  #compareMisread(): void {
    const { comparedMs, sinceMs } = this.#misread
    if (sinceMs === undefined || monotonicMs() - comparedMs < misreadMs) return
    this.#misread = { comparedMs: monotonicMs(), sinceMs: undefined }
    for (const [feed, { listener }] of this.#followers) {
      const comparison = { feed }
      this.#comparing.add(comparison)
      listener.changed([everythingSince(sinceMs)], () => void this.#comparing.delete(comparison))
    }
  }

  #isDone(received: Received): void {
    if (received.waiting.size > 0) return
    this.#done.add(received)
    if (!this.#isRemoving) void this.#removeDone()
  }

  async #removeDone(): Promise<void> {
    this.#isRemoving = true
    // What is done in the same turn goes together.
    await Promise.resolve()
    // As long as the position of somebody who has left counts, he would miss what is removed.
    const isKept = () => this.#leftKept === this.#left && this.#owedKept === this.#owed
    const mayRemove = () => !this.#isGathering && isKept() && !this.#end.signal.aborted
    while (this.#done.size > 0 && mayRemove()) {
      const done = [...this.#done]
      this.#done.clear()
      try {
        await this.#queue.remove(done.map(({ message }) => message))
      } catch (error) {
        // They come again, and are found to be done; for ever, where they may not be removed.
        if (endOf(error) instanceof WatchError && !this.#end.signal.aborted) this.#failed(error)
      }
      for (const received of done) this.#received.delete(received)
      this.#hasRoom.resolve()
      this.#hasRoom = Promise.withResolvers()
    }
    this.#isRemoving = false
  }

  async #tend(): Promise<void> {
    this.#compareMisread()
    await this.#keep().catch(() => undefined)
  }

  /** What is not done stays hidden. */
  async #hideAll(): Promise<void> {
    const { signal } = this.#end
    for (;;) {
      await delay(this.#queue.hiddenMs / 4, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      const hiddenUntilMs = monotonicMs() + this.#queue.hiddenMs
      const dueMs = monotonicMs() + this.#queue.hiddenMs / 2
      const due = [...this.#received].filter((received) => received.hiddenUntilMs < dueMs)
      if (due.length === 0) continue
      const hidden = await this.#queue.hide(due.map(({ message }) => message)).catch(() => undefined)
      for (const [index, received] of due.entries()) {
        const message = hidden?.[index]
        if (message === undefined) continue
        received.message = message
        received.hiddenUntilMs = hiddenUntilMs
      }
    }
  }

  /**
   * All that was sent until the time that is kept was received, and what was received and is not done is younger. Not while
   * others may come: who is not named has nothing to recall.
   */
  async #keep(): Promise<void> {
    const { stream } = await this.#identify()
    const [left, owed, isOwed] = [this.#left, this.#owed, this.#isOwed]
    const positions = [...this.#followers.values()].map(({ listener }) => listener.positions)
    if (this.#isGathering || positions.length === 0) return
    const complete = isOwed ? [] : positions.filter(({ isComplete }) => isComplete)
    const readers = complete.map(({ reader }) => reader)
    const oldestMs = this.#received
      .values()
      .reduce((oldest, { message }) => Math.min(oldest, message.sentMs), Infinity)
    const at = this.#readMs === undefined ? '' : String(Math.min(this.#readMs, oldestMs))
    await positions[0]?.keep(stream, at, readers)
    this.#leftKept = Math.max(this.#leftKept, left)
    this.#owedKept = Math.max(this.#owedKept, owed)
    if (this.#done.size > 0 && !this.#isRemoving) void this.#removeDone()
  }
}
