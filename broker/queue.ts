import {
  AckPolicy,
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import { roots } from '../subjects/names.ts'
import { backoffMs } from './backoff.ts'
import { fileStorage, isApiError, isStorageFull, isTransient, jetStreamCodes } from './jetstream.ts'
import type { Log } from './log.ts'
import { QueueConsumer } from './queue-consumer.ts'
import { ackWaitMs, type QueueItem } from './queue-item.ts'

export type { QueueItem } from './queue-item.ts'

/** Items handed out at once over all workers, those included that were handed back to come later. */
const maxOutstanding = 1_024
/**
 * Items that a broker may have handed out without knowing it after a kill -9: its account of deliveries is written some
 * tenths of a second behind. More than all workers of a platform have at once.
 */
const maxForgotten = 64
/**
 * How long two items with the same id are one: the children of an item that comes again must be recognised for as long
 * as a migration may be stopped in the middle of it. An id takes some 200 bytes of the broker's memory, a million files
 * need 4,000.
 */
const duplicateWindowMs = 24 * 3_600_000
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

/**
 * Work items on a JetStream work queue, in a few lanes that are consumed apart. An item stays until a worker has said
 * `done`, so nothing is lost with any process, and the work is finished exactly when the queue is empty.
 */
export class Queue {
  readonly name: string
  /** Whether nothing was ever put into it before it was opened. */
  readonly isNew: boolean
  /** When it was made: sequences of items are unique since then. */
  readonly created: string
  readonly #connection: NatsConnection
  readonly #js: JetStreamClient
  readonly #manager: JetStreamManager
  readonly #log: Log
  /** By lane: up to which sequence items were handed out to workers that are gone. */
  readonly #handedOut = new Map<string, number>()

  private constructor(
    name: string,
    connection: NatsConnection,
    manager: JetStreamManager,
    log: Log,
    { isNew, created }: Pick<Queue, 'isNew' | 'created'>,
  ) {
    this.name = name
    this.isNew = isNew
    this.created = created
    this.#connection = connection
    this.#js = jetstream(connection)
    this.#manager = manager
    this.#log = log
  }

  /**
   * Opens the queue, and makes it and its lanes if need be.
   * @param name letters, digits and `-`
   * @param options `takeBack`: nobody works on it any more; what was handed out comes again at once, and not after its wait
   */
  static async open(
    connection: NatsConnection,
    name: string,
    lanes: readonly string[],
    log: Log,
    { takeBack = false }: { takeBack?: boolean } = {},
  ): Promise<Queue> {
    const manager = await jetstreamManager(connection)
    const { state, created } = await manager.streams.add({
      name: streamName(name),
      subjects: [`${roots.work}.${name}.*`],
      retention: RetentionPolicy.Workqueue,
      storage: fileStorage,
      discard: DiscardPolicy.New,
      duplicate_window: nanoseconds(duplicateWindowMs),
    })
    const queue = new Queue(name, connection, manager, log, { isNew: state.last_seq === 0, created })
    await Promise.all(
      lanes.map(async (lane) => {
        if (takeBack) await queue.#takeBack(lane)
        await manager.consumers.add(streamName(name), {
          durable_name: lane,
          filter_subject: subject(name, lane),
          ack_policy: AckPolicy.Explicit,
          ack_wait: nanoseconds(ackWaitMs),
          // A limit would leave an item that nobody gets and nobody counts.
          max_deliver: -1,
          max_ack_pending: maxOutstanding,
        })
      }),
    )
    return queue
  }

  /** A consumer that is made anew hands out all that is there. */
  async #takeBack(lane: string): Promise<void> {
    try {
      const { delivered } = await this.#manager.consumers.info(streamName(this.name), lane)
      this.#handedOut.set(lane, delivered.stream_seq)
      await this.#manager.consumers.delete(streamName(this.name), lane)
    } catch (error) {
      if (!isApiError(error, jetStreamCodes.consumerNotFound)) throw error
      // Whoever deleted it may not have lived to make it anew.
      this.#handedOut.set(lane, 0)
    }
  }

  /**
   * Stores an item; resolves when the stream has it. Tries on while the broker is away or its storage full.
   * @param messageId two items with the same id within the window are one, even when the first is done already; a broker
   *   that was killed in between knows only the ids of what is still there
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
    const handedOut = this.#handedOut.get(lane)
    let forgotten = handedOut === undefined ? 0 : maxForgotten
    const consumer = new QueueConsumer({
      connection: this.#connection,
      stream: streamName(this.name),
      lane,
      slots,
      work,
      wasOut: (sequence) => sequence <= (handedOut ?? 0) || forgotten-- > 0,
      remove: (sequence) => this.#remove(sequence),
      isGone: () => this.#isGone(),
      log: this.#log,
    })
    await consumer.run(signal)
  }

  /**
   * Items that are not done, exactly.
   * @throws QueueGoneError: what was in it may not be done
   */
  async pending(): Promise<number> {
    try {
      return (await this.#manager.streams.info(streamName(this.name))).state.messages
    } catch (error) {
      throw isApiError(error, jetStreamCodes.streamNotFound) ? new QueueGoneError(this.name) : error
    }
  }

  /** Whether an item is not done yet. */
  async has(sequence: number): Promise<boolean> {
    try {
      return (await this.#manager.streams.getMessage(streamName(this.name), { seq: sequence })) !== null
    } catch (error) {
      if (isApiError(error, jetStreamCodes.streamNotFound)) return false
      throw error
    }
  }

  async #remove(sequence: number): Promise<void> {
    if (await this.has(sequence))
      await this.#manager.streams.deleteMessage(streamName(this.name), sequence, false)
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

  /**
   * Items of each lane that are not done, exactly; lanes without any are left out.
   * @throws QueueGoneError: what was in it may not be done
   */
  async pendingByLane(): Promise<Map<string, number>> {
    const filter = subject(this.name, '*')
    try {
      const { state } = await this.#manager.streams.info(streamName(this.name), { subjects_filter: filter })
      const prefix = filter.length - 1
      return new Map(Object.entries(state.subjects ?? {}).map(([lane, count]) => [lane.slice(prefix), count]))
    } catch (error) {
      throw isApiError(error, jetStreamCodes.streamNotFound) ? new QueueGoneError(this.name) : error
    }
  }

  /** Names of the queues that there are. */
  static async names(connection: NatsConnection): Promise<string[]> {
    const manager = await jetstreamManager(connection)
    const names: string[] = []
    for await (const name of manager.streams.names(`${roots.work}.>`))
      names.push(name.slice(streamName('').length))
    return names
  }

  /** Deletes the queue with all that is in it; no error when it is gone already. */
  delete(): Promise<void> {
    return Queue.#delete(this.#manager, this.name)
  }

  /** Deletes a queue without opening it. */
  static async deleteByName(connection: NatsConnection, name: string): Promise<void> {
    await Queue.#delete(await jetstreamManager(connection), name)
  }

  static async #delete(manager: JetStreamManager, name: string): Promise<void> {
    try {
      await manager.streams.delete(streamName(name))
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

/** Stream of a queue. */
export const streamName = (name: string) => `WORK_${name}`
const subject = (name: string, lane: string) => `${roots.work}.${name}.${lane}`
