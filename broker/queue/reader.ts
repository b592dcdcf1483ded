import { queueStream } from '../common/queue-stream.ts'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { isApiError, jetStreamCodes } from '../state/jetstream.ts'

/** An item that is not done. */
export interface WaitingItem {
  readonly data: Uint8Array
  /** When it came into the queue. */
  readonly since: Date
}

/** Looks at a queue without taking part in it; a queue that is not there is an empty one. */
export class QueueReader {
  readonly #stream: string
  readonly #manager: JetStreamManager

  private constructor(stream: string, manager: JetStreamManager) {
    this.#stream = stream
    this.#manager = manager
  }

  static async open(connection: NatsConnection, name: string): Promise<QueueReader> {
    return new QueueReader(queueStream(name), await jetstreamManager(connection))
  }

  /** Items that are not done, and what they take of the storage. */
  async size(): Promise<{ items: number; bytes: number }> {
    const size = await this.#unlessGone(async () => {
      const { state } = await this.#manager.streams.info(this.#stream)
      return { items: state.messages, bytes: state.bytes }
    })
    return size ?? { items: 0, bytes: 0 }
  }

  /** The items that are not done, the oldest first; what comes or goes meanwhile may be among them or not. */
  async *items(): AsyncGenerator<WaitingItem> {
    for (let seq = 1; ; seq++) {
      // The next one at or after a sequence, whatever its lane: items are done in any order and leave gaps.
      const query = { seq, next_by_subj: '>' }
      const message = await this.#unlessGone(() => this.#manager.streams.getMessage(this.#stream, query))
      if (message === undefined || message === null) return
      yield { data: message.data, since: message.time }
      seq = message.seq
    }
  }

  async #unlessGone<T>(ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask()
    } catch (error) {
      if (isApiError(error, jetStreamCodes.streamNotFound)) return undefined
      throw error
    }
  }
}
