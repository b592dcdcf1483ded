import type { NatsConnection } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from '../common/retry.ts'
import type { Bucket, Stored } from './bucket.ts'
import type { Envelope } from './envelope.ts'
import type { Emission, Events } from './events.ts'

/** How far the facts about one value are published, kept while anybody here changes it. */
interface Telling {
  /** Writers and publishers that need this. */
  users: number
  /** Ends when the last publisher in the queue has finished: facts about one value are published one after the other. */
  turn: Promise<unknown>
  /** Message ids of facts that are published, and may still be in the stored outbox. */
  readonly told: Set<string>
  /** All facts up to this revision are published. */
  upTo: number
  /** Whether publishing failed, and is tried on until it succeeds. */
  isLate: boolean
}

/**
 * Publishes facts that are stored with the changes that they tell of: at least once, and in order, as whoever changes the
 * value next carries on those that were not published. Changes made by one process publish each fact once, unless the
 * broker does not acknowledge it.
 */
export class Outbox {
  readonly #bucket: Bucket
  readonly #connection: NatsConnection
  readonly #events: Events | undefined
  /** By id. */
  readonly #tellings = new Map<string, Telling>()

  constructor(bucket: Bucket, connection: NatsConnection, events: Events | undefined) {
    this.#bucket = bucket
    this.#connection = connection
    this.#events = events
  }

  /** Of the facts in the stored outbox of a value those that a writer has to carry on. */
  untold(id: string, outbox: readonly Emission[]): readonly Emission[] {
    const told = this.#tellings.get(id)?.told
    return told === undefined ? outbox : outbox.filter((fact) => !isTold(told, fact))
  }

  /**
   * Writes an envelope in the place of a revision, and publishes its facts; those that the broker does not take now it is
   * told soon. Resolves to the revision as `Bucket.store` does.
   * @param stored called when it is written, before anything is published
   */
  store(envelope: Envelope, over: number, stored: () => void = () => undefined): Promise<number | undefined> {
    return this.#using(envelope.id, async (telling) => {
      const revision = await this.#bucket.store(envelope, over)
      if (revision !== undefined) stored()
      if (revision !== undefined && envelope.outbox !== undefined && this.#events !== undefined)
        await this.#inTurn(telling, async () => {
          // Then all that is in the stored outbox is published, and what this change tells of with it.
          if (telling.isLate) return
          try {
            await this.#tell({ envelope, revision }, telling)
          } catch {
            this.#tellLate(envelope.id, telling)
          }
        })
      return revision
    })
  }

  /** Publishes the facts of what is stored, and forgets them; removes what is gone. */
  settle(stored: Stored): Promise<void> {
    return this.#using(stored.envelope.id, (telling) =>
      this.#inTurn(telling, () => this.#tell(stored, telling)),
    )
  }

  async #using<T>(id: string, work: (telling: Telling) => Promise<T>): Promise<T> {
    const known = this.#tellings.get(id)
    const telling = known ?? { users: 0, turn: Promise.resolve(), told: new Set(), upTo: 0, isLate: false }
    if (known === undefined) this.#tellings.set(id, telling)
    telling.users += 1
    try {
      return await work(telling)
    } finally {
      telling.users -= 1
      if (telling.users === 0) this.#tellings.delete(id)
    }
  }

  async #inTurn(telling: Telling, work: () => Promise<void>): Promise<void> {
    const done = telling.turn.then(work)
    telling.turn = done.catch(() => undefined)
    await done
  }

  async #tell({ envelope, revision }: Stored, telling: Telling): Promise<void> {
    const { outbox = [], ...rest } = envelope
    // Whoever has changed it since has carried its facts on, and published them.
    if (revision < telling.upTo) return
    for (const fact of outbox) {
      if (isTold(telling.told, fact)) continue
      await this.#events?.publish(fact)
      if (fact.messageId !== undefined) telling.told.add(fact.messageId)
    }
    telling.upTo = revision
    if (envelope.gone === true) await this.#bucket.remove(envelope.id, revision)
    // No writer can carry them on any more.
    else if ((await this.#bucket.store(rest, revision)) !== undefined) telling.told.clear()
  }

  /** Publishes what is in the outbox of a value as soon as the broker takes it. */
  #tellLate(id: string, telling: Telling): void {
    telling.isLate = true
    void this.#using(id, () => this.#keepTelling(id, telling))
  }

  /** Retries until it is done; a process that stops meanwhile does it at its next start. */
  async #keepTelling(id: string, telling: Telling): Promise<void> {
    for (let attempt = 1; telling.isLate; attempt++) {
      await delay(backoffMs(attempt), undefined, { ref: false })
      if (this.#connection.isClosed()) return
      try {
        await this.#inTurn(telling, async () => {
          const stored = await this.#bucket.get(id)
          if (stored?.envelope.outbox !== undefined) await this.#tell(stored, telling)
          telling.isLate = false
        })
      } catch {
        // Why, whoever made the change was told, or the log says of all that the platform does.
      }
    }
  }
}

const isTold = (told: ReadonlySet<string>, { messageId }: Emission): boolean =>
  messageId !== undefined && told.has(messageId)
