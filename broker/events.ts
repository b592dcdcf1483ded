import {
  DeliverPolicy,
  jetstream,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream'
import { headers, type Msg, type NatsConnection } from '@nats-io/transport-node'
import type { EventContract, Payload } from '../subjects/contract.ts'
import { eventSubject, roots, subjectToken } from '../subjects/names.ts'
import { check } from '../subjects/validate.ts'
import { eventHeader } from './headers.ts'
import { fileStorage, isApiError, jetStreamCodes } from './jetstream.ts'

/** One fact, ready to be published: plain data, so that it can be stored with the change that it tells of. */
export interface Emission {
  readonly subject: string
  readonly payload: unknown
  /** Two publications with the same id within two minutes are one. */
  readonly messageId?: string
}

/** A fact about the object with this id. @throws GantryError INVALID_INPUT when the payload does not fit its schema */
export function emission<E extends EventContract>(event: E, id: string, payload: Payload<E>): Emission {
  const subject = eventSubject(event.resource, event.event, subjectToken(id))
  return { subject, payload: check(event.payload, payload, subject) }
}

/**
 * Whether a message on a subject of facts is one. The broker checks the subject of a request and not the one that its
 * reply is wanted on: somebody may have a reply of the platform delivered there, but none with this header.
 */
export const isFact = (message: Msg): boolean => message.headers?.get(eventHeader) === message.subject

/** Name of the stream that keeps the facts. */
const stream = 'EVENTS'
/** Facts are for followers that were away for a while, not an archive; the audit log is another stream. */
const maxAgeNs = 7 * 24 * 3600 * 1e9
/** A tenth of the default storage; the oldest facts go first. */
const maxBytes = 1e9
/**
 * How long a follower's request for facts waits at the broker; as long does the client wait before it asks again for a
 * consumer that a restarted broker, not ready yet, could not tell of.
 */
const requestMs = 2_000

/** Facts after state changes, kept in order: at least once, to be followed from any sequence on. */
export class Events {
  readonly #js: JetStreamClient
  readonly #manager: JetStreamManager

  private constructor(js: JetStreamClient, manager: JetStreamManager) {
    this.#js = js
    this.#manager = manager
  }

  static async open(connection: NatsConnection, limits: { maxFileBytes: number }): Promise<Events> {
    const manager = await jetstreamManager(connection)
    const config = {
      name: stream,
      subjects: [`${roots.events}.>`],
      storage: fileStorage,
      retention: RetentionPolicy.Limits,
      max_age: maxAgeNs,
      max_bytes: Math.min(maxBytes, Math.floor(limits.maxFileBytes / 10)),
    }
    try {
      await manager.streams.add(config)
    } catch (error) {
      // The limits of messaging.config have changed since it was made.
      if (!isApiError(error, jetStreamCodes.streamNameInUse)) throw error
      await manager.streams.update(stream, config)
    }
    return new Events(jetstream(connection), manager)
  }

  /** Publishes and waits until the fact is stored. */
  async publish({ subject, payload, messageId }: Emission): Promise<void> {
    const marked = headers()
    marked.set(eventHeader, subject)
    await this.#js.publish(subject, JSON.stringify(payload), {
      headers: marked,
      ...(messageId === undefined ? {} : { msgID: messageId }),
    })
  }

  /**
   * Every fact from a sequence on (1 is the oldest that is kept), or every new one, each with its sequence to resume
   * after; survives restarts of the broker. Ends when the loop is left.
   */
  async *follow(options: { from?: number; filter?: string } = {}): AsyncGenerator<{
    sequence: number
    subject: string
    payload: unknown
  }> {
    // Always a sequence: of a consumer that is to tell what is new, and has told nothing yet, the client does not know
    // where it began, and has the next one tell everything.
    const from = options.from ?? (await this.#manager.streams.info(stream)).state.last_seq + 1
    const consumer = await this.#js.consumers.get(stream, {
      filter_subjects: options.filter ?? `${roots.events}.>`,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: from,
    })
    const messages = await consumer.consume({ expires: requestMs })
    try {
      for await (const message of messages) {
        yield { sequence: message.seq, subject: message.subject, payload: message.json() }
      }
    } finally {
      await messages.close()
    }
  }
}
