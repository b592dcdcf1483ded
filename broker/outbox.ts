import type { NatsConnection } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from './backoff.ts'
import type { Bucket, Stored } from './bucket.ts'
import type { Emission, Events } from './events.ts'

/**
 * Publishes facts that are stored with the changes that they tell of: at least once, and in order, as whoever changes the
 * value next carries on those that were not published.
 */
export class Outbox {
  readonly #bucket: Bucket
  readonly #connection: NatsConnection
  readonly #events: Events | undefined
  /** Ids whose facts are being tried on. */
  readonly #late = new Set<string>()

  constructor(bucket: Bucket, connection: NatsConnection, events: Events | undefined) {
    this.#bucket = bucket
    this.#connection = connection
    this.#events = events
  }

  /** Resolves when all are stored. */
  async publish(outbox: readonly Emission[]): Promise<void> {
    for (const emission of outbox) await this.#events?.publish(emission)
  }

  /** Publishes the facts of a change that is stored, then forgets them. What the broker does not take now it is told soon. */
  async relay(stored: Stored): Promise<void> {
    if (stored.envelope.outbox === undefined || this.#events === undefined) return
    try {
      await this.settle(stored)
    } catch {
      this.soon(stored.envelope.id)
    }
  }

  /** Publishes the facts of what is stored, and forgets them; removes what is gone. */
  async settle({ envelope, revision }: Stored): Promise<void> {
    const { outbox = [], ...rest } = envelope
    await this.publish(outbox)
    if (envelope.gone === true) await this.#bucket.remove(envelope.id, revision)
    else await this.#bucket.store(rest, revision)
  }

  /** Publishes what is in the outbox of a value as soon as the broker takes it. */
  soon(id: string): void {
    if (this.#late.has(id) || this.#events === undefined) return
    this.#late.add(id)
    void this.#relayLate(id).finally(() => this.#late.delete(id))
  }

  /** Tries on until it is done; who stops meanwhile does it at the next start. */
  async #relayLate(id: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await delay(backoffMs(attempt), undefined, { ref: false })
      if (this.#connection.isClosed()) return
      try {
        const stored = await this.#bucket.get(id)
        if (stored?.envelope.outbox !== undefined) await this.settle(stored)
        return
      } catch {
        // Why, whoever made the change was told, or the log says of all that the platform does.
      }
    }
  }
}
