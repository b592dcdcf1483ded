import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import { createInbox } from '../../subjects/kit/unguessable.ts'
import type { Log } from '../common/log.ts'
import { deliveryOf, QueueItem } from './item.ts'
import { onReconnect } from '../common/reconnects.ts'
import { every } from '../tasks/tasks.ts'

/** How long a request for an item waits at the broker. */
const requestMs = 30_000
const request = JSON.stringify({ batch: 1, expires: requestMs * 1e6 })
/** A request without any answer after its time was lost. */
const lostAfterMs = requestMs + 5_000
/** Pause after the broker has refused a request: its storage is starting, or the consumer is being made again. */
const refusedMs = 200
/** Longest wait for what is on its way when the work ends. */
const drainMs = 1_000

export interface ConsumerOptions {
  readonly connection: NatsConnection
  readonly stream: string
  readonly lane: string
  readonly slots: number
  /** The only inbox that the connection may hear; default: any. */
  readonly inboxPrefix: string | undefined
  readonly work: (item: QueueItem) => Promise<void>
  /** Whether a worker that is gone may have had the item. */
  readonly wasOut: (sequence: number) => boolean
  /** Takes an item off the queue, whatever the broker knows of its delivery. */
  readonly remove: (sequence: number) => Promise<void>
  readonly isGone: () => Promise<boolean>
  readonly log: Log
}

/**
 * Asks for an item for each free slot, and for no more: an item that waited in a buffer would not be kept alive, come a
 * second time, and be missed for the whole wait when the process ends.
 */
export class QueueConsumer {
  readonly #options: ConsumerOptions
  readonly #inbox: string
  /** Times of the requests at the broker, which it answers in their order. */
  #asked: number[] = []
  /** Slots that wait for the end of the pause after a refusal. */
  #refused = 0
  readonly #inFlight = new Map<number, { item: QueueItem; work: Promise<void> }>()
  readonly #end = Promise.withResolvers<void>()
  #isEnded = false

  constructor(options: ConsumerOptions) {
    this.#options = options
    this.#inbox = createInbox(options.inboxPrefix)
  }

  /** Resolves when the signal has aborted, or the queue is gone, and all items in flight are settled. */
  async run(signal: AbortSignal): Promise<void> {
    const { connection } = this.#options
    const subscription = connection.subscribe(this.#inbox, {
      callback: (error, message) => (error === null ? this.#receive(message) : this.#stop(error)),
    })
    const stop = () => this.#stop()
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const forget = onReconnect(connection, () => {
      this.#asked = []
      this.#ask()
    })
    const task = every('queues.requests', () => this.#check())
    void connection.closed().then(stop)
    try {
      this.#ask()
      await this.#end.promise
    } finally {
      task.stop()
      forget()
      signal.removeEventListener('abort', stop)
      // What is on its way still arrives, and is handed back at once; from a broker that is away nothing is.
      if (!connection.isClosed())
        await Promise.race([subscription.drain(), delay(drainMs)]).catch(() => undefined)
      await Promise.all([...this.#inFlight.values()].map(({ work }) => work))
    }
  }

  #stop(error?: Error): void {
    this.#isEnded = true
    if (error === undefined) this.#end.resolve()
    else this.#end.reject(error)
  }

  #ask(): void {
    const { connection, stream, lane, slots } = this.#options
    if (connection.isClosed() || connection.isDraining()) this.#stop()
    while (!this.#isEnded && this.#asked.length + this.#refused + this.#inFlight.size < slots) {
      this.#asked.push(Date.now())
      connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${lane}`, request, { reply: this.#inbox })
    }
  }

  async #check(): Promise<void> {
    this.#asked = this.#asked.filter((sinceMs) => Date.now() - sinceMs < lostAfterMs)
    if (await this.#options.isGone()) this.#stop()
    this.#ask()
  }

  #receive(message: Msg): void {
    const { connection, wasOut, remove } = this.#options
    this.#asked.shift()
    if (message.reply === undefined || message.reply === '') {
      this.#receiveStatus(message)
      return
    }
    const { sequence } = deliveryOf(message)
    const known = this.#inFlight.get(sequence)
    if (known !== undefined) {
      known.item.deliveredAgain(message)
      this.#ask()
      return
    }
    const item = new QueueItem(connection, message, { wasOut: wasOut(sequence), remove })
    if (this.#isEnded) {
      item.later(0)
      return
    }
    this.#inFlight.set(sequence, { item, work: this.#work(item) })
  }

  /** A request has ended without an item: its time is over (408), or the broker cannot serve it now or ever again. */
  #receiveStatus({ headers }: Msg): void {
    if (headers?.code === 408) {
      this.#ask()
      return
    }
    this.#refused += 1
    setTimeout(() => void this.#afterRefusal(), refusedMs)
  }

  async #afterRefusal(): Promise<void> {
    if (await this.#options.isGone()) this.#stop()
    this.#refused -= 1
    this.#ask()
  }

  /** Never rejects: what fails is handed back. */
  async #work(item: QueueItem): Promise<void> {
    const { stream, work, log } = this.#options
    await using inFlight = item
    try {
      await work(inFlight)
    } catch (error) {
      log.warn(
        { err: error, stream, sequence: item.sequence },
        'An item failed and was returned to the queue.',
      )
    } finally {
      this.#inFlight.delete(item.sequence)
      this.#ask()
    }
  }
}
