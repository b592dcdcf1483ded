import { queueStream } from '../common/queue-stream.ts'
import {
  AckPolicy,
  DiscardPolicy,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { roots } from '../../subjects/kit/names.ts'
import { fileStorage, isApiError, jetStreamCodes, openStream } from '../state/jetstream.ts'
import type { Log } from '../common/log.ts'
import { ackWaitMs } from './item.ts'
import { lifeOf } from '../common/reconnects.ts'
import { laneSubject, QueueGoneError, type QueueOffice, QueueWork } from './work.ts'

export type { QueueItem } from './item.ts'
export { QueueGoneError }

/** What a queue has. */
export interface QueueState {
  /** Items that are not done. */
  readonly messages: number
  /** Of the item that came last, done or not; items are numbered from 1 without gaps. */
  readonly lastSequence: number
  /** Items of each lane that are not done; lanes without any are left out. */
  readonly waiting: ReadonlyMap<string, number>
}

/** Items handed out at once over all workers, those included that were handed back to come later. */
const maxOutstanding = 1_024
/**
 * How long two items with the same id are one: the children of an item that comes again must be recognised for as long
 * as a migration may be stopped in the middle of it. An id takes some 200 bytes of the broker's memory, a million files
 * need 4,000.
 */
const duplicateWindowMs = 24 * 3_600_000
/** The server cannot read what it has stored about a queue or its lanes. */
const unreadable = [jetStreamCodes.streamOffline, jetStreamCodes.consumerOffline]
const nanoseconds = (ms: number) => ms * 1e6

/**
 * Work items on a JetStream work queue, in a few lanes that are consumed apart. An item stays until a worker has said
 * `done`, so nothing is lost with any process, and the work is finished exactly when the queue is empty.
 */
export class Queue extends QueueWork {
  /** Whether nothing was ever put into it before it was opened. */
  readonly isNew: boolean
  /** When it was made: sequences of items are unique since then. */
  readonly created: string
  readonly #manager: JetStreamManager
  readonly #office: QueueOffice
  readonly #handedOut: Map<string, number>
  readonly #life: () => number
  /** What the broker may have handed out without knowing it, and since which life of the connection it has not been killed. */
  #before: { readonly life: number; readonly lastSequence: Promise<number> }

  private constructor(
    name: string,
    connection: NatsConnection,
    manager: JetStreamManager,
    log: Log,
    { lastSequence, created }: Pick<Queue, 'created'> & { lastSequence: number },
  ) {
    const handedOut = new Map<string, number>()
    const office = officeOf(manager, name)
    super({ name, connection, office, log, handedOut })
    this.isNew = lastSequence === 0
    this.created = created
    this.#life = lifeOf(connection)
    this.#before = { life: this.#life(), lastSequence: Promise.resolve(lastSequence) }
    this.#manager = manager
    this.#office = office
    this.#handedOut = handedOut
  }

  /**
   * Opens the queue, and makes it and its lanes if need be.
   * @throws QueueGoneError for one that the broker could not read any more: the next time it is a new one
   * @param name letters, digits and `-`
   * @param options `takeBack`: nobody works on it any more; what was handed out comes again at once, and not after its wait
   */
  static async open(
    connection: NatsConnection,
    name: string,
    lanes: readonly string[],
    log: Log,
    options: { takeBack?: boolean } = {},
  ): Promise<Queue> {
    try {
      return await Queue.#open(connection, name, lanes, log, options)
    } catch (err) {
      if (!isApiError(err, ...unreadable) && !(await Queue.#isDamaged(connection, name, err))) throw err
      log.error({ err, queue: name }, 'The broker can no longer read a queue; the queue was deleted.')
      await Queue.deleteByName(connection, name)
      throw new QueueGoneError(name)
    }
  }

  /**
   * Whether a lane cannot be made because of what is stored of it: nats-server drops a lane with a damaged state at its start,
   * leaves its files, and fails to make it ever after. A lane of another name can be made then, but on no disk that is full.
   */
  static async #isDamaged(connection: NatsConnection, name: string, error: unknown): Promise<boolean> {
    if (!isApiError(error, jetStreamCodes.consumerNotMade)) return false
    const manager = await jetstreamManager(connection, { checkAPI: false })
    const lane = 'trial'
    try {
      await manager.consumers.add(queueStream(name), laneConfiguration(name, lane))
      await manager.consumers.delete(queueStream(name), lane)
      return true
    } catch (trialError) {
      if (isApiError(trialError, jetStreamCodes.consumerNotMade)) return false
      throw trialError
    }
  }

  static async #open(
    connection: NatsConnection,
    name: string,
    lanes: readonly string[],
    log: Log,
    { takeBack = false }: { takeBack?: boolean },
  ): Promise<Queue> {
    const manager = await jetstreamManager(connection, { checkAPI: false })
    const { state, created } = await openStream(manager, {
      name: queueStream(name),
      subjects: [`${roots.work}.${name}.*`],
      retention: RetentionPolicy.Workqueue,
      storage: fileStorage,
      discard: DiscardPolicy.New,
      duplicate_window: nanoseconds(duplicateWindowMs),
    })
    const queue = new Queue(name, connection, manager, log, { lastSequence: state.last_seq, created })
    await Promise.all(
      lanes.map(async (lane) => {
        if (takeBack) await queue.#takeBack(lane)
        await manager.consumers.add(queueStream(name), laneConfiguration(name, lane))
      }),
    )
    return queue
  }

  /** A new consumer hands out all that is there. */
  async #takeBack(lane: string): Promise<void> {
    try {
      const { delivered } = await this.#manager.consumers.info(queueStream(this.name), lane)
      this.#handedOut.set(lane, delivered.stream_seq)
      await this.#manager.consumers.delete(queueStream(this.name), lane)
    } catch (error) {
      if (!isApiError(error, jetStreamCodes.consumerNotFound)) throw error
      // Whoever deleted it may have been killed before it made a new one.
      this.#handedOut.set(lane, 0)
    }
  }

  /**
   * Items that are not done, exactly.
   * @throws QueueGoneError: what was in it may not be done
   */
  async pending(): Promise<number> {
    try {
      return (await this.#manager.streams.info(queueStream(this.name))).state.messages
    } catch (error) {
      throw isApiError(error, jetStreamCodes.streamNotFound) ? new QueueGoneError(this.name) : error
    }
  }

  /**
   * Items that are not done and that the broker neither has handed out nor would: it cannot read them any more. To be asked
   * of a queue that nothing comes to: a lane counts an item a moment after the stream has it.
   */
  async unreadable(): Promise<number> {
    const { waiting } = await this.state()
    const counts = [...waiting].map(async ([lane, count]) => {
      try {
        const info = await this.#manager.consumers.info(queueStream(this.name), lane)
        return Math.max(0, count - info.num_pending - info.num_ack_pending)
      } catch (error) {
        // nats-server drops a lane at its start when what it had stored of it is damaged.
        if (!isApiError(error, jetStreamCodes.consumerNotFound)) throw error
        return count
      }
    })
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }

  /** Whether an item is not done yet. */
  has(sequence: number): Promise<boolean> {
    return this.#office.has(sequence)
  }

  /**
   * Whether a worker elsewhere may have had an item that is handed out as if for the first time: what there was when the queue
   * was opened, or when the broker was killed, somebody may be working on.
   */
  async wasOut(sequence: number): Promise<boolean> {
    const life = this.#life()
    if (this.#before.life !== life) {
      const lastSequence = this.state().then((state) => state.lastSequence)
      lastSequence.catch(() => (this.#before = { ...this.#before, life: Number.NaN }))
      this.#before = { life, lastSequence }
    }
    return sequence <= (await this.#before.lastSequence)
  }

  /** Takes an item off, whoever has it. */
  remove(sequence: number): Promise<void> {
    return this.#office.remove(sequence)
  }

  /** As `waiting` of `state`. */
  async pendingByLane(): Promise<ReadonlyMap<string, number>> {
    return (await this.state()).waiting
  }

  /**
   * What it has at one moment, exactly.
   * @throws QueueGoneError: what was in it may not be done
   */
  async state(): Promise<QueueState> {
    const filter = laneSubject(this.name, '*')
    try {
      const { state } = await this.#manager.streams.info(queueStream(this.name), { subjects_filter: filter })
      const prefix = filter.length - 1
      const waiting = Object.entries(state.subjects ?? {}).map(
        ([lane, count]) => [lane.slice(prefix), count] as const,
      )
      return { messages: state.messages, lastSequence: state.last_seq, waiting: new Map(waiting) }
    } catch (error) {
      throw isApiError(error, jetStreamCodes.streamNotFound) ? new QueueGoneError(this.name) : error
    }
  }

  /** Names of the queues that there are. */
  static async names(connection: NatsConnection): Promise<string[]> {
    const manager = await jetstreamManager(connection)
    const names: string[] = []
    for await (const name of manager.streams.names(`${roots.work}.>`))
      names.push(name.slice(queueStream('').length))
    return names
  }

  /** Deletes the queue with all that is in it; no error when it is gone already. */
  delete(): Promise<void> {
    return Queue.#delete(this.#manager, this.name)
  }

  /** Deletes a queue without opening it. */
  static async deleteByName(connection: NatsConnection, name: string): Promise<void> {
    await Queue.#delete(await jetstreamManager(connection, { checkAPI: false }), name)
  }

  static async #delete(manager: JetStreamManager, name: string): Promise<void> {
    try {
      await manager.streams.delete(queueStream(name))
    } catch (error) {
      if (!isApiError(error, jetStreamCodes.streamNotFound)) throw error
    }
  }
}

const laneConfiguration = (name: string, lane: string) => ({
  durable_name: lane,
  filter_subject: laneSubject(name, lane),
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanoseconds(ackWaitMs),
  // A limit would leave an item that nobody gets and nobody counts.
  max_deliver: -1,
  max_ack_pending: maxOutstanding,
})

/** What the broker says of a queue to whoever may ask it all. */
function officeOf(manager: JetStreamManager, name: string): QueueOffice {
  const stream = queueStream(name)
  const has = async (sequence: number) => {
    try {
      return (await manager.streams.getMessage(stream, { seq: sequence })) !== null
    } catch (error) {
      if (isApiError(error, jetStreamCodes.streamNotFound)) return false
      throw error
    }
  }
  return {
    has,
    remove: async (sequence) => {
      if (await has(sequence)) await manager.streams.deleteMessage(stream, sequence, false)
    },
    isGone: async () => {
      try {
        await manager.streams.info(stream)
        return false
      } catch (error) {
        return isApiError(error, jetStreamCodes.streamNotFound, ...unreadable)
      }
    },
  }
}
