import {
  AckPolicy,
  type ConsumerMessages,
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type JsMsg,
  RetentionPolicy,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import { roots } from '../subjects/names.ts'
import { backoffMs } from './backoff.ts'
import { fileStorage, isApiError, isStorageFull, isTransient, jetStreamCodes } from './jetstream.ts'
import type { Log } from './log.ts'

/** An item that nobody finishes or keeps alive is handed to another worker after this. */
const ackWaitMs = 30_000
/** Three signs of life within the wait, so that one lost message does not hand the item on. */
const workingIntervalMs = 10_000
/**
 * Items handed out at once over all workers. Times the time of an item, divided by the slots, this must stay below the
 * wait above, or items come a second time.
 */
const maxOutstanding = 64
/** How long a publication waits for the stream's acknowledgement before it tries again with the same message id. */
const publishTimeoutMs = 5_000

const nanoseconds = (ms: number) => ms * 1e6

/** The stream is gone: whoever owned the work has ended it. */
export class QueueGoneError extends Error {
  constructor(name: string) {
    super(`the queue ${name} is gone`)
    this.name = 'QueueGoneError'
  }
}

/** One item in the hands of a worker. Leaving its scope without `done` or `later` hands it back at once. */
export class QueueItem implements AsyncDisposable {
  readonly #message: JsMsg
  readonly #alive: NodeJS.Timeout
  #settled = false

  constructor(message: JsMsg) {
    this.#message = message
    this.#alive = setInterval(() => message.working(), workingIntervalMs)
  }

  get data(): Uint8Array {
    return this.#message.data
  }

  /** Unique in its queue and the same at each delivery. */
  get sequence(): number {
    return this.#message.seq
  }

  /** Whether it was handed out before, to a worker that did not finish it. */
  get redelivered(): boolean {
    return this.#message.redelivered
  }

  /** Its effect is durable: takes it off the queue, and waits until the queue says so. */
  async done(): Promise<void> {
    this.#settle()
    await this.#message.ackAck()
  }

  /** Hands it back, to be delivered again not before this time. */
  later(delayMs: number): void {
    this.#settle()
    this.#message.nak(delayMs)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#settled) this.later(0)
  }

  #settle(): void {
    this.#settled = true
    clearInterval(this.#alive)
  }
}

/**
 * Work items on a JetStream work queue, in a few lanes that are consumed apart. An item stays until a worker has said
 * `done`, so nothing is lost with any process, and the work is finished exactly when the queue is empty.
 */
export class Queue {
  readonly name: string
  readonly #js: JetStreamClient
  readonly #manager: JetStreamManager
  readonly #log: Log

  private constructor(name: string, js: JetStreamClient, manager: JetStreamManager, log: Log) {
    this.name = name
    this.#js = js
    this.#manager = manager
    this.#log = log
  }

  /** Opens the queue, and makes it and its lanes if need be. @param name letters, digits and `-` */
  static async open(
    connection: NatsConnection,
    name: string,
    lanes: readonly string[],
    log: Log,
  ): Promise<Queue> {
    const manager = await jetstreamManager(connection)
    await manager.streams.add({
      name: streamName(name),
      subjects: [`${roots.work}.${name}.*`],
      retention: RetentionPolicy.Workqueue,
      storage: fileStorage,
      discard: DiscardPolicy.New,
    })
    for (const lane of lanes) {
      await manager.consumers.add(streamName(name), {
        durable_name: lane,
        filter_subject: subject(name, lane),
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanoseconds(ackWaitMs),
        // A limit would leave an item that nobody gets and nobody counts.
        max_deliver: -1,
        max_ack_pending: maxOutstanding,
      })
    }
    return new Queue(name, jetstream(connection), manager, log)
  }

  /**
   * Stores an item; resolves when the stream has it. Tries on while the broker is away or its storage full.
   * @param messageId two items with the same id within two minutes are one, even when the first is done already
   * @throws QueueGoneError when the stream was deleted, and the signal's reason
   */
  async publish(lane: string, data: Uint8Array, messageId: string, signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#js.publish(subject(this.name, lane), data, {
          msgID: messageId,
          timeout: publishTimeoutMs,
        })
        return
      } catch (error) {
        if (!isTransient(error) && !isStorageFull(error)) throw error
        signal.throwIfAborted()
        if (isStorageFull(error)) {
          this.#log.warn(
            { queue: this.name },
            'The storage is full (max_file in messaging.config); waiting for room.',
          )
        } else if (await this.#isGone()) {
          throw new QueueGoneError(this.name)
        }
        await delay(backoffMs(attempt), undefined, { signal })
      }
    }
  }

  /**
   * Hands the items of a lane to `work`, at most `slots` at once, until the signal aborts or the queue is deleted; then
   * resolves when those in hand are settled. A rejection of `work` hands the item back.
   */
  async consume(
    lane: string,
    slots: number,
    work: (item: QueueItem) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const inHand = new Set<Promise<void>>()
    while (!signal.aborted) {
      let messages: ConsumerMessages
      try {
        const consumer = await this.#js.consumers.get(streamName(this.name), lane)
        messages = await consumer.consume({ max_messages: slots, abort_on_missing_resource: true })
      } catch (error) {
        if (isApiError(error, jetStreamCodes.streamNotFound, jetStreamCodes.consumerNotFound)) break
        if (!isTransient(error)) throw error
        await delay(backoffMs(1))
        continue
      }
      const stop = () => messages.stop()
      signal.addEventListener('abort', stop, { once: true })
      try {
        for await (const message of messages) {
          const job = this.#take(message, work).finally(() => inHand.delete(job))
          inHand.add(job)
          if (inHand.size >= slots) await Promise.race(inHand)
          if (signal.aborted) break
        }
      } catch (error) {
        this.#log.debug({ err: error, queue: this.name, lane }, 'The consumer ended.')
      } finally {
        signal.removeEventListener('abort', stop)
      }
      if (!signal.aborted && (await this.#isGone())) break
    }
    await Promise.all(inHand)
  }

  async #take(message: JsMsg, work: (item: QueueItem) => Promise<void>): Promise<void> {
    await using item = new QueueItem(message)
    try {
      await work(item)
    } catch (error) {
      this.#log.warn(
        { err: error, queue: this.name, sequence: item.sequence },
        'An item failed and is handed back.',
      )
    }
  }

  /** Items that are not done, exactly. A queue that is gone has none. */
  async pending(): Promise<number> {
    try {
      return (await this.#manager.streams.info(streamName(this.name))).state.messages
    } catch (error) {
      if (isApiError(error, jetStreamCodes.streamNotFound)) return 0
      throw error
    }
  }

  /** Items of one lane that are not done, exactly. */
  async pendingIn(lane: string): Promise<number> {
    const filter = subject(this.name, lane)
    try {
      const { state } = await this.#manager.streams.info(streamName(this.name), { subjects_filter: filter })
      return state.subjects?.[filter] ?? 0
    } catch (error) {
      if (isApiError(error, jetStreamCodes.streamNotFound)) return 0
      throw error
    }
  }

  /** Names of the queues that there are. */
  static async names(connection: NatsConnection): Promise<string[]> {
    const manager = await jetstreamManager(connection)
    const names: string[] = []
    for await (const name of manager.streams.names(`${roots.work}.>`)) names.push(name.slice(streamName('').length))
    return names
  }

  /** Deletes the queue with all that is in it; no error when it is gone already. */
  async delete(): Promise<void> {
    try {
      await this.#manager.streams.delete(streamName(this.name))
    } catch (error) {
      if (!isApiError(error, jetStreamCodes.streamNotFound)) throw error
    }
  }

  async #isGone(): Promise<boolean> {
    try {
      await this.#manager.streams.info(streamName(this.name))
      return false
    } catch (error) {
      return isApiError(error, jetStreamCodes.streamNotFound)
    }
  }
}

const streamName = (name: string) => `WORK_${name}`
const subject = (name: string, lane: string) => `${roots.work}.${name}.${lane}`
