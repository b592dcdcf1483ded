import {
  jetstream,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream'
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import { isFact } from '../../client/facts.ts'
import type { EventContract, Payload } from '../../subjects/kit/contract.ts'
import { eventSubject, ephemeralSubject, subjectToken } from '../../subjects/kit/names.ts'
import { check, matches } from '../../subjects/kit/validate.ts'
import { eventHeader } from '../messages/headers.ts'
import { ensureStream, fileStorage, readFrom, sequenceOf, storedMsOf } from './jetstream.ts'

export { isFact }

/** One fact, ready to be published: plain data, so that it can be stored with the change that it tells of. */
export interface Emission {
  readonly subject: string
  readonly payload: unknown
  /** Two publications with the same id within two minutes are one. */
  readonly messageId?: string
}

/** A fact about the object with this id. @throws GantryError INVALID_INPUT when the payload does not fit its schema */
export function emission<E extends EventContract>(event: E, id: string, payload: Payload<E>): Emission {
  const subject = subjectOf(event, id)
  return { subject, payload: check(event.payload, payload, subject) }
}

const subjectOf = ({ resource, event, ephemeral }: EventContract, id: string): string =>
  (ephemeral ? ephemeralSubject : eventSubject)(resource, event, subjectToken(id))

function marked(subject: string): MsgHdrs {
  const all = headers()
  all.set(eventHeader, subject)
  return all
}

/** Name of the stream that keeps the facts. */
export const factStream = 'EVENTS'
/** Those that are kept; the subjects of ephemeral ones are longer. */
const keptSubjects = eventSubject('*', '*', '*')
/** Facts are for followers that were away for a while, not an archive; the audit log is another stream. */
const maxAgeNs = 7 * 24 * 3600 * 1e9
/** A tenth of the default storage; the oldest facts go first. */
const maxBytes = 1e9

/** A fact that is kept. */
export interface StoredFact {
  /** Its place among all facts. */
  readonly sequence: number
  readonly storedMs: number
  readonly event: EventContract
  readonly payload: unknown
}

/** Facts after state changes, kept in order: at least once, to be followed from any sequence on. */
export class Events {
  readonly #connection: NatsConnection
  readonly #js: JetStreamClient
  readonly #manager: JetStreamManager

  private constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.#connection = connection
    this.#js = jetstream(connection)
    this.#manager = manager
  }

  static async open(connection: NatsConnection, limits: { maxFileBytes: number }): Promise<Events> {
    const manager = await jetstreamManager(connection)
    await ensureStream(manager, {
      name: factStream,
      subjects: [keptSubjects],
      storage: fileStorage,
      retention: RetentionPolicy.Limits,
      max_age: maxAgeNs,
      max_bytes: Math.min(maxBytes, Math.floor(limits.maxFileBytes / 10)),
    })
    return new Events(connection, manager)
  }

  /** Publishes and waits until the fact is stored. */
  async publish({ subject, payload, messageId }: Emission): Promise<void> {
    await this.#js.publish(subject, JSON.stringify(payload), {
      headers: marked(subject),
      ...(messageId === undefined ? {} : { msgID: messageId }),
    })
  }

  /** Publishes an ephemeral event to whoever listens now. */
  publishEphemeral({ subject, payload }: Emission): void {
    this.#connection.publish(subject, JSON.stringify(payload), { headers: marked(subject) })
  }

  /** What was told last of an object by such an event; undefined when that was never, or too long ago. */
  async last<E extends EventContract>(event: E, id: string): Promise<Payload<E> | undefined> {
    const query = { last_by_subj: subjectOf(event, id) }
    const message = await this.#manager.streams.getMessage(factStream, query)
    const payload: unknown = message?.json()
    // Another release may have told something else.
    return matches(event.payload, payload) ? (payload as Payload<E>) : undefined
  }

  /** Sequences of the oldest fact that is kept, and of the last one that was told. */
  async bounds(): Promise<{ readonly first: number; readonly last: number }> {
    const { first_seq, last_seq } = (await this.#manager.streams.info(factStream)).state
    return { first: first_seq, last: last_seq }
  }

  /** Hands over the facts of some events after a sequence, in order, up to the last one that is kept. */
  async read(
    events: readonly EventContract[],
    after: number,
    take: (fact: StoredFact) => void,
  ): Promise<void> {
    const byKind = new Map(events.map((event) => [`${event.resource}.${event.event}`, event]))
    const filters = events.map(({ resource, event }) => eventSubject(resource, event, '*'))
    await readFrom(this.#connection, factStream, { filters, first: after + 1 }, (message) => {
      const [kind, name] = message.subject.split('.').slice(-3)
      const event = byKind.get(`${kind}.${name}`)
      if (event === undefined || !isFact(message)) return
      const payload: unknown = message.json()
      // Another release may have told something else.
      if (!matches(event.payload, payload)) return
      take({ sequence: sequenceOf(message), storedMs: storedMsOf(message), event, payload })
    })
  }
}
