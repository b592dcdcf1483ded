import { queueStream } from '../common/queue-stream.ts'
import { type JetStreamClient, jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { roots } from '../../subjects/kit/names.ts'
import { retry } from '../common/retry.ts'
import { isStorageFull, isTransient } from '../state/jetstream.ts'
import type { Log } from '../common/log.ts'
import { QueueConsumer } from './consumer.ts'
import type { QueueItem } from './item.ts'

/**
 * Items that a broker may have handed out without knowing it after a kill -9: its account of deliveries is written some
 * tenths of a second behind. More than all workers of a platform have at once.
 */
const maxForgotten = 64
/** How long a publication waits for the stream's acknowledgement before it tries again with the same message id. */
const publishTimeoutMs = 5_000

/** Above all sequences: the broker has lost its latest items, and numbers others like them. */
export const givenTwice = Number.MAX_SAFE_INTEGER

/** Subject of the items in a lane of a queue. */
export const laneSubject = (name: string, lane: string) => `${roots.work}.${name}.${lane}`

/** The stream is gone: whoever owned the work has ended it. */
export class QueueGoneError extends Error {
  constructor(name: string) {
    super(`the queue ${name} no longer exists`)
    this.name = 'QueueGoneError'
  }
}

/** What about a queue only its owner may ask of the broker; a worker elsewhere asks the owner. */
export interface QueueOffice {
  /** Whether an item is not done yet. */
  has(sequence: number): Promise<boolean>
  /** Takes an item off the queue, whatever the broker knows of its delivery. */
  remove(sequence: number): Promise<void>
  isGone(): Promise<boolean>
}

/** The part of a queue that every worker has, also one that may do no more than take items, end them, and make others. */
export class QueueWork {
  readonly name: string
  readonly #connection: NatsConnection
  readonly #js: JetStreamClient
  readonly #office: QueueOffice
  readonly #log: Log
  readonly #handedOut: ReadonlyMap<string, number>
  readonly #inboxPrefix: string | undefined
  /** Publications that wait for room. */
  readonly #withoutRoom = new Set<symbol>()
  #published = 0

  /**
   * @param options `handedOut`: by lane, up to which sequence items were handed out to workers that are gone;
   *   `inboxPrefix`: the only inbox that the connection may hear, where it may not hear all
   */
  constructor({
    name,
    connection,
    office,
    log,
    handedOut = new Map<string, number>(),
    inboxPrefix,
  }: {
    name: string
    connection: NatsConnection
    office: QueueOffice
    log: Log
    handedOut?: ReadonlyMap<string, number>
    inboxPrefix?: string
  }) {
    this.name = name
    this.#connection = connection
    this.#js = jetstream(connection)
    this.#office = office
    this.#log = log
    this.#handedOut = handedOut
    this.#inboxPrefix = inboxPrefix
  }

  /** Whether something is to be stored that there is no room for. */
  get waitsForRoom(): boolean {
    return this.#withoutRoom.size > 0
  }

  /** The highest sequence that was given to an item that was published here; `givenTwice` once one was given out again. */
  get published(): number {
    return this.#published
  }

  /**
   * Stores an item; resolves when the stream has it. Retries while the broker is away or its storage is full.
   * @param messageId two items with the same id within the window are one, even when the first is done already; a broker
   *   that was killed in between knows only the ids of what is still there
   * @param isDone asked before each further try: what a try that seemed to fail has stored may be done by then
   * @throws QueueGoneError when the stream was deleted, and the signal's reason
   */
  async publish(
    lane: string,
    data: Uint8Array,
    messageId: string,
    signal: AbortSignal,
    isDone: () => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<void> {
    const self = Symbol()
    try {
      await this.#publishWithRoom(lane, data, messageId, signal, isDone, self)
    } finally {
      this.#withoutRoom.delete(self)
    }
  }

  async #publishWithRoom(
    lane: string,
    data: Uint8Array,
    messageId: string,
    signal: AbortSignal,
    isDone: () => Promise<boolean>,
    self: symbol,
  ): Promise<void> {
    const publish = async (attempt: number) => {
      if (attempt > 1 && (await isDone())) return
      const before = this.#published
      const { seq, duplicate } = await this.#js.publish(laneSubject(this.name, lane), data, {
        msgID: messageId,
        timeout: publishTimeoutMs,
      })
      this.#published = Math.max(this.#published, !duplicate && seq <= before ? givenTwice : seq)
    }
    const mayPass = async (error: unknown) => {
      if (!isTransient(error) && !isStorageFull(error)) return false
      signal.throwIfAborted()
      if (isStorageFull(error)) {
        this.#withoutRoom.add(self)
        this.#log.warn(
          { queue: this.name },
          'The storage is full; waiting for space. Raise max_file in messaging.config.',
        )
      } else if (await this.#office.isGone()) {
        throw new QueueGoneError(this.name)
      }
      return true
    }
    await retry(publish, { mayPass, signal })
  }

  /**
   * Hands the items of a lane to `work`, at most `slots` at once, until the signal aborts or the queue is deleted; then
   * resolves when those in flight are settled. A rejection of `work` hands the item back.
   */
  async consume(
    lane: string,
    slots: number,
    work: (item: QueueItem) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const handedOut = this.#handedOut.get(lane)
    let forgotten = handedOut === undefined ? 0 : maxForgotten
    const consumer = new QueueConsumer({
      connection: this.#connection,
      stream: queueStream(this.name),
      lane,
      slots,
      inboxPrefix: this.#inboxPrefix,
      work,
      wasOut: (sequence) => sequence <= (handedOut ?? 0) || forgotten-- > 0,
      remove: (sequence) => this.#office.remove(sequence),
      isGone: () => this.#office.isGone(),
      log: this.#log,
    })
    await consumer.run(signal)
  }
}
