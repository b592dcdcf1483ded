import { isIP } from 'node:net'
import { Consumer, type Message, type MessagesStream, type SASLOptions } from '@platformatic/kafka'
import { abortable } from '../../../broker/common/abortable.ts'
import { monotonicMs } from '../../../broker/common/monotonic.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import { StoreError } from '../contract/store-error.ts'
import { everythingSince } from '../feeds/dirty-folders.ts'
import { type ChangeFeed, type FeedListener, WatchError } from '../feeds/feed.ts'
import { changesIn, seenAt } from './changed-objects.ts'
import { authenticateByScram } from './kafka-scram.ts'
import { deliveryMs, misreadMs, type Notice } from './message-queue.ts'

/** Longest time for a broker to be connected to, and to answer. */
const connectTimeoutMs = 10_000
const requestTimeoutMs = 30_000
/** A broker waits so long for messages before it answers with none. */
const maxWaitMs = 5_000
/** What is read of a topic at once. */
const maxFetchBytes = 4 * 1024 * 1024
/** Messages that are told and not done, at most: what is read further waits at the brokers. */
const maxUndone = 20_000
/** Brokers that cannot be reached are asked again so often. */
const retries = 3

export interface KafkaFeedOptions {
  /** `host:port` of brokers that know the others. */
  readonly brokers: readonly string[]
  readonly topic: string
  readonly tls: boolean
  readonly sasl?: Required<Pick<SASLOptions, 'mechanism'>> & {
    readonly username: string
    readonly password: string
  }
  /** What a message says; undefined when nobody understands it. */
  readonly parse: (body: string) => readonly Notice[] | undefined
  readonly bucket: string
  /** Path of the folder whose changes count, as latin1. */
  readonly root: string
}

/** Messages of a partition that are told, up to which all are done. */
class Partition {
  /** The next one that is read. */
  next: bigint
  readonly undone = new Set<bigint>()

  constructor(next: bigint) {
    this.next = next
  }

  /** From here on a later reader has to be told again. */
  get position(): bigint {
    return this.undone.values().next().value ?? this.next
  }
}

/**
 * Is told of changes by messages of a topic of Kafka, which each migration reads for itself, from the position up to which all
 * was done. It belongs to no group of consumers: nothing is kept at the brokers.
 */
export class KafkaFeed implements ChangeFeed {
  readonly detection = 'notified'
  readonly reason: string
  readonly #options: KafkaFeedOptions
  readonly #partitions = new Map<number, Partition>()
  #consumer: Consumer | undefined
  #messages: MessagesStream<Buffer, Buffer, Buffer, Buffer> | undefined
  #task: Task | undefined
  /** Keeps the position up to which all is done. */
  #keep: () => Promise<void> = async () => undefined
  #isClosed = false
  /** When everything was compared last for what nobody understood, and since when something else waits for that. */
  #misread = { comparedMs: Number.NEGATIVE_INFINITY, sinceMs: undefined as number | undefined }
  /** Such comparisons that are not done. */
  #comparisons = 0
  #undone = 0
  #hasRoom = Promise.withResolvers<void>()
  /** All that was sent before was read (`monotonicMs`). */
  #readMs = monotonicMs()
  /** What there was at a moment after that (`monotonicMs`): the next numbers of the partitions. */
  #ends: { readonly askedMs: number; readonly next: ReadonlyMap<number, bigint> } | undefined
  /** Says that what waited when it was opened is read, once it is. */
  #caughtUp: (() => void) | undefined

  constructor(options: KafkaFeedOptions) {
    this.#options = options
    this.reason = `notifications in the topic ${options.topic} (Kafka)`
  }

  get toldUntilMs(): number {
    return this.#readMs - deliveryMs
  }

  async open(listener: FeedListener, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    const { brokers, tls, sasl } = this.#options
    const consumer = new Consumer({
      clientId: 'gantry',
      // It is named in requests, and never joined: partitions are read by their numbers.
      groupId: `gantry-${crypto.randomUUID()}`,
      bootstrapBrokers: [...brokers],
      autocommit: false,
      retries,
      connectTimeout: connectTimeoutMs,
      timeout: requestTimeoutMs,
      // A name is sent to brokers that share an address; TLS knows no addresses as names.
      ...(tls && { tls: {}, tlsServerName: brokers.some((broker) => isIP(broker.split(':')[0]!) === 0) }),
      ...(sasl !== undefined && {
        sasl: { ...sasl, ...(sasl.mechanism !== 'PLAIN' && { authenticate: authenticateByScram }) },
      }),
    })
    this.#consumer = consumer
    try {
      return await abortable(this.#begin(consumer, listener), signal)
    } catch (error) {
      const closed = this.close()
      // A broker that says nothing is not waited for.
      signal.throwIfAborted()
      await closed
      signal.throwIfAborted()
      throw this.#endOf(error)
    }
  }

  /** Resolves as `open` does; what is closed meanwhile is left as it is. */
  async #begin(consumer: Consumer, listener: FeedListener): Promise<boolean> {
    const { topic } = this.#options
    const { positions } = listener
    const { id, topics } = await consumer.metadata({ topics: [topic], autocreateTopics: false })
    const [earliest, latest] = await Promise.all([
      consumer.listOffsets({ topics: [topic], timestamp: -2n }),
      consumer.listOffsets({ topics: [topic], timestamp: -1n }),
    ])
    if (this.#isClosed) return false
    // Another topic of this name has numbers of its own: a position in the one before says nothing of it.
    const stream = `kafka ${id} ${topic} ${topics.get(topic)?.id ?? ''} ${positions.reader}`
    const known = positionsIn(await positions.recall(stream))
    const [firsts, lasts] = [earliest.get(topic) ?? [], latest.get(topic) ?? []]
    const isThere = (at: bigint, partition: number) =>
      at >= (firsts[partition] ?? 0n) && at <= (lasts[partition] ?? 0n)
    // A broker that lost what others had may have given its numbers to other messages since.
    const missedNothing =
      known !== undefined &&
      lasts.every((_, partition) => isThere(known.offsets.get(partition) ?? 0n, partition))
    for (const [partition, last] of lasts.entries())
      this.#partitions.set(
        partition,
        new Partition(missedNothing ? (known.offsets.get(partition) ?? 0n) : last),
      )
    if (missedNothing) {
      const caughtUp = listener.behind?.(seenAt(known.keptMs))
      this.#caughtUp = () => {
        if (lasts.some((last, partition) => (this.#partitions.get(partition)?.next ?? 0n) < last)) return
        caughtUp?.()
        this.#caughtUp = undefined
      }
      this.#caughtUp()
    }
    this.#keep = () => this.#keepIn(listener, stream)
    await this.#keep()
    await this.#readOn(consumer, listener)
    if (!this.#isClosed) this.#task = every('migrations.feed-positions', () => this.tend(listener))
    return missedNothing
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#hasRoom.resolve()
    this.#task?.stop()
    try {
      await this.#keep()
      await this.#messages?.close()
      // It gives a promise or nothing, by how it is called.
      await Promise.resolve(this.#consumer?.close(true))
    } catch {
      // A broker that is away need not hear of it; what is not kept is told again.
    }
  }

  /** What is to be done from time to time. Public for tests, which do not wait for that. */
  async tend(listener: FeedListener): Promise<void> {
    this.#compareMisread(listener)
    await this.#keep()
    await this.#findPartitions(listener)
    await this.#lookAtEnds()
  }

  /** Asks what there is, one question at a time: a topic in which nothing happens says nothing. */
  async #lookAtEnds(): Promise<void> {
    const { topic } = this.#options
    const askedMs = monotonicMs()
    if (this.#ends !== undefined || this.#consumer === undefined) return
    // A broker that is away is told of by the reading.
    const asked = this.#consumer.listOffsets({ topics: [topic], timestamp: -1n })
    const latest = (await asked.catch(() => undefined))?.get(topic)
    if (latest === undefined) return
    this.#ends = { askedMs, next: new Map(latest.map((next, partition) => [partition, next])) }
    this.#hasRead()
  }

  #hasRead(): void {
    const ends = this.#ends
    if (ends === undefined) return
    for (const [partition, next] of ends.next)
      if ((this.#partitions.get(partition)?.next ?? 0n) < next) return
    this.#readMs = ends.askedMs
    this.#ends = undefined
  }

  /** Reads partitions that the topic was given since, from their beginning. */
  async #findPartitions(listener: FeedListener): Promise<void> {
    const { topic } = this.#options
    const [consumer, before] = [this.#consumer, this.#messages]
    if (consumer === undefined || before === undefined) return
    const asked = { topics: [topic], autocreateTopics: false, forceUpdate: true }
    // A broker that is away is told of by the reading.
    const there = await consumer.metadata(asked).catch(() => undefined)
    const added = Array.from(
      { length: there?.topics.get(topic)?.partitionsCount ?? 0 },
      (_, number) => number,
    ).filter((number) => !this.#partitions.has(number))
    if (added.length === 0 || this.#isClosed) return
    this.#messages = undefined
    try {
      await before.close()
      for (const number of added) this.#partitions.set(number, new Partition(0n))
      await this.#readOn(consumer, listener)
    } catch (error) {
      if (!this.#isClosed) listener.ended(this.#endOf(error))
    }
  }

  /** Reads all partitions from where each is. */
  async #readOn(consumer: Consumer, listener: FeedListener): Promise<void> {
    const { topic } = this.#options
    const messages = await consumer.consume({
      topics: [topic],
      mode: 'manual',
      offsets: [...this.#partitions].map(([partition, { next: offset }]) => ({ topic, partition, offset })),
      autocommit: false,
      maxWaitTime: maxWaitMs,
      maxBytes: maxFetchBytes,
    })
    if (this.#isClosed) return messages.close()
    this.#messages = messages
    void this.#read(messages, listener)
  }

  async #read(
    messages: MessagesStream<Buffer, Buffer, Buffer, Buffer>,
    listener: FeedListener,
  ): Promise<void> {
    const isCurrent = () => !this.#isClosed && this.#messages === messages
    try {
      for await (const message of messages) {
        this.#tell(message, listener)
        this.#caughtUp?.()
        this.#hasRead()
        while (this.#undone >= maxUndone && !this.#isClosed) await this.#hasRoom.promise
      }
      if (isCurrent()) throw new Error('the topic is read no further')
    } catch (error) {
      if (isCurrent()) listener.ended(this.#endOf(error))
    }
  }

  #tell({ partition: number, offset, value, timestamp }: Message, listener: FeedListener): void {
    const partition = this.#partitions.get(number) ?? new Partition(offset)
    this.#partitions.set(number, partition)
    partition.next = offset + 1n
    const sinceMs = seenAt(Number(timestamp))
    const notices = this.#options.parse(value.toString('utf8'))
    if (notices === undefined) return this.#hasMisread(sinceMs, listener)
    const folders = changesIn(notices, this.#options)
    if (folders.length === 0) return
    partition.undone.add(offset)
    this.#undone++
    listener.changed(folders, () => {
      partition.undone.delete(offset)
      this.#undone--
      this.#hasRoom.resolve()
      this.#hasRoom = Promise.withResolvers()
    })
  }

  #hasMisread(sinceMs: number, listener: FeedListener): void {
    this.#misread.sinceMs ??= sinceMs
    this.#compareMisread(listener)
  }

  /** Tells that everything may have changed, but not all the time. */
  #compareMisread({ changed }: FeedListener): void {
    const { comparedMs, sinceMs } = this.#misread
    if (sinceMs === undefined || monotonicMs() - comparedMs < misreadMs) return
    this.#misread = { comparedMs: monotonicMs(), sinceMs: undefined }
    this.#comparisons++
    changed([everythingSince(sinceMs)], () => void this.#comparisons--)
  }

  /** Not while everything is to be compared for what nobody understood: who goes on from there would not know. */
  async #keepIn({ positions }: FeedListener, stream: string): Promise<void> {
    if (!positions.isComplete || this.#misread.sinceMs !== undefined || this.#comparisons > 0) return
    const offsets = Object.fromEntries(
      [...this.#partitions].map(([number, { position }]) => [number, String(position)]),
    )
    await positions.keep(stream, JSON.stringify({ keptMs: Date.now(), offsets }))
  }

  /** Where the topic is not there, or may not be read, everything is compared from time to time instead. */
  #endOf(error: unknown): Error {
    const { topic } = this.#options
    const { codes, causes } = whatWasSaid(error)
    const said = `the topic ${topic} cannot be read: ${[...(codes.size > 0 ? codes : causes)].join(', ')}`
    if ([...codes].some((code) => lasting.has(code)) || (error as Error).message.startsWith('Unknown topic'))
      return new WatchError(said, true, { cause: error })
    return new StoreError('unreachable', said, { cause: error, side: 'source' })
  }
}

/** Kafka's names of errors that do not go by themselves. */
const lasting = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'SASL_AUTHENTICATION_FAILED',
  'UNSUPPORTED_SASL_MECHANISM',
])

/** Attempts, connections, authentication, a response and what is wrong in it are errors in each other. */
const maxErrorDepth = 8

/** Kafka's names in an error and in all that it is made of, and what those say that have no cause themselves. */
function whatWasSaid(error: unknown, depth = maxErrorDepth): { codes: Set<string>; causes: Set<string> } {
  const { apiId, cause, errors, message } = (error ?? {}) as Record<string, unknown>
  const inner = [...(Array.isArray(errors) ? (errors as unknown[]) : []), cause].filter(Boolean)
  const said = depth === 0 ? [] : inner.map((one) => whatWasSaid(one, depth - 1))
  const own = said.length === 0 && typeof message === 'string' ? [message] : []
  return {
    codes: new Set([
      ...(typeof apiId === 'string' ? [apiId] : []),
      ...said.flatMap(({ codes }) => [...codes]),
    ]),
    causes: new Set([...own, ...said.flatMap(({ causes }) => [...causes])]),
  }
}

/** As `#keep` made it. */
function positionsIn(text: string | undefined) {
  if (text === undefined) return undefined
  const { keptMs, offsets } = JSON.parse(text) as {
    readonly keptMs: number
    readonly offsets: Record<string, string>
  }
  const known = new Map(Object.entries(offsets).map(([number, offset]) => [Number(number), BigInt(offset)]))
  return { keptMs, offsets: known }
}
