import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { retry } from '../common/retry.ts'
import { isTransient } from '../state/jetstream.ts'
import { every, type Task } from '../tasks/tasks.ts'

/** An item that nobody finishes or keeps alive is handed to another worker after this. */
export const ackWaitMs = 30_000
/** The queue answers in a millisecond; after this the broker was away, or knows nothing of the delivery. */
const ackTimeoutMs = 2_000
/** With the pauses between them they outlast the wait above: then the item is another's, and comes again if it is not. */
const maxAckAttempts = 15

/** One item in the hands of a worker. Leaving its scope without `done` or `later` hands it back at once. */
export class QueueItem implements AsyncDisposable {
  readonly #connection: NatsConnection
  readonly #wasOut: boolean
  readonly #remove: (sequence: number) => Promise<void>
  readonly #alive: Task
  #message: Msg
  #settled = false

  /**
   * @param options `wasOut`: a worker that is gone may have had it; `remove`: takes an item off the queue, whatever the
   *   broker knows of its delivery
   */
  constructor(
    connection: NatsConnection,
    message: Msg,
    { wasOut, remove }: { wasOut: boolean; remove: (sequence: number) => Promise<void> },
  ) {
    this.#connection = connection
    this.#message = message
    this.#wasOut = wasOut
    this.#remove = remove
    this.#alive = every('queues.work-in-progress', () => this.#answer('+WPI'))
  }

  get data(): Uint8Array {
    return this.#message.data
  }

  /** Unique in its queue and the same at each delivery. */
  get sequence(): number {
    return deliveryOf(this.#message).sequence
  }

  /** The id that it was published with. */
  get messageId(): string {
    return this.#message.headers?.get('Nats-Msg-Id') ?? ''
  }

  /** Whether it was handed out before, to a worker that did not finish it. */
  get redelivered(): boolean {
    return this.#wasOut || deliveryOf(this.#message).count > 1
  }

  /** It was delivered once more while it is in flight: a broker that was killed has forgotten that it is. */
  deliveredAgain(message: Msg): void {
    this.#message = message
  }

  /** Its effect is durable: takes it off the queue, and waits until the queue says so. */
  async done(): Promise<void> {
    try {
      await retry(
        async (attempt) => {
          if (attempt === 1) await this.#connection.request(this.#reply, '+ACK', { timeout: ackTimeoutMs })
          // A broker that was killed may have forgotten the delivery: it leaves its acknowledgement without an answer.
          else await this.#remove(this.sequence)
        },
        { mayPass: (error, attempt) => isTransient(error) && attempt < maxAckAttempts },
      )
    } finally {
      this.#settle()
    }
  }

  /** Hands it back, to be delivered again not before this time. */
  later(delayMs: number): void {
    this.#settle()
    this.#answer(`-NAK {"delay":${Math.ceil(delayMs) * 1e6}}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#settled) this.later(0)
  }

  get #reply(): string {
    return this.#message.reply ?? ''
  }

  /** What is not heard is made good: the item comes again after its wait. */
  #answer(text: string): void {
    if (!this.#connection.isClosed()) this.#connection.publish(this.#reply, text)
  }

  #settle(): void {
    this.#settled = true
    this.#alive.stop()
  }
}

/**
 * What the reply subject of a message from a consumer says (NATS ADR-15):
 * `$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<count>.<sequence>.…`
 */
export function deliveryOf({ reply = '' }: Msg): { sequence: number; count: number } {
  const tokens = reply.split('.')
  // The longer form has a domain and an account in front, and one token more at its end.
  const countAt = tokens.length > 9 ? 6 : 4
  return { count: Number(tokens[countAt]), sequence: Number(tokens[countAt + 1]) }
}
