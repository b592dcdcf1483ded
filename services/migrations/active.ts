import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Queue, QueueGoneError, type QueueItem } from '../../broker/queue.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import type { Log } from '../../broker/log.ts'
import type { ItemResult } from './engine/counts.ts'
import { notBeforeOf, startRegion } from './engine/items.ts'
import type { ChildBatch, Mover, MoveSpec } from './engine/mover.ts'
import type { FailureLedger } from './failures.ts'
import type { WorkerBook } from './progress.ts'

const lanes = ['transfer', 'region'] as const
type Lane = (typeof lanes)[number]

/**
 * Transfers that may wait before listing pauses: the lister outruns the movers, and the queue would grow with the number
 * of files. 2,000 items are up to 512,000 files, some 40 MB.
 */
const maxWaitingTransfers = 2_000
/** How often a paused lister looks, in milliseconds; the movers need longer for what waits. */
const frontierCheckMs = 100
/** Look whether all is done at least so often: the last item may have been another process's. */
const idleCheckMs = 500
/** An item that failed for a reason of ours, not of a store, waits so long. */
const retryMs = 1_000

export interface ActiveOptions {
  readonly connection: NatsConnection
  readonly spec: MoveSpec
  readonly mover: Mover
  readonly threads: number
  readonly book: WorkerBook
  readonly failures: FailureLedger
  readonly log: Log
  /** Ends the work: what is in hand is handed back. */
  readonly signal: AbortSignal
}

/**
 * One migration that this process works on: takes its items from the queue, has them done, stores what came of them, and
 * only then takes them off.
 */
export class ActiveMigration {
  readonly #options: ActiveOptions
  readonly #queue: Queue
  /** Aborts when the work is to end, be it finished or stopped. */
  readonly #end = new AbortController()
  #inHand = 0
  #wake = Promise.withResolvers<void>()

  private constructor(options: ActiveOptions, queue: Queue) {
    this.#options = options
    this.#queue = queue
    options.signal.addEventListener('abort', () => this.#finish(), { once: true })
    if (options.signal.aborted) this.#finish()
  }

  static async open(options: ActiveOptions): Promise<ActiveMigration> {
    const queue = await Queue.open(options.connection, options.spec.id, lanes, options.log)
    return new ActiveMigration(options, queue)
  }

  /** Puts the root into the queue; twice is harmless. */
  async seed(): Promise<void> {
    await this.#queue.publish(
      'region',
      startRegion(),
      `start.${this.#options.spec.generation}`,
      this.#end.signal,
    )
  }

  /** Works until nothing is left (true) or the signal aborts (false). */
  async run(): Promise<boolean> {
    const { threads } = this.#options
    // Two jobs a thread keep it busy while the answer to the last one is on its way.
    const slots: Record<Lane, number> = { transfer: 2 * threads, region: threads }
    const consumers = lanes.map((lane) =>
      this.#queue.consume(lane, slots[lane], (item) => this.#work(lane, item), this.#end.signal),
    )
    const finished = await this.#untilEmpty()
    this.#finish()
    await Promise.all(consumers)
    return finished
  }

  #finish(): void {
    this.#end.abort(new Error('the migration was stopped'))
    this.#wake.resolve()
  }

  async deleteQueue(): Promise<void> {
    await this.#queue.delete()
  }

  async #untilEmpty(): Promise<boolean> {
    const { signal } = this.#end
    while (!signal.aborted) {
      try {
        if (this.#inHand === 0 && (await this.#queue.pending()) === 0) return true
      } catch (error) {
        this.#options.log.debug({ err: error }, 'The queue does not answer; asking again.')
      }
      this.#wake = Promise.withResolvers<void>()
      await Promise.race([this.#wake.promise, delay(idleCheckMs, undefined, { ref: false })])
    }
    return false
  }

  async #work(lane: Lane, item: QueueItem): Promise<void> {
    const waitMs = notBeforeOf(item.data) - Date.now()
    if (waitMs > 0) {
      item.later(waitMs)
      return
    }
    this.#inHand += 1
    try {
      const result = await this.#move(lane, item)
      await this.#settle(lane, item, result)
    } catch (error) {
      if (this.#end.signal.aborted || error instanceof QueueGoneError) return
      this.#options.log.warn(
        { err: error, migration: this.#options.spec.id },
        'An item failed; it comes again.',
      )
      item.later(retryMs)
    } finally {
      this.#inHand -= 1
      if (this.#inHand === 0) this.#wake.resolve()
    }
  }

  #move(lane: Lane, item: QueueItem): Promise<ItemResult> {
    const { mover, spec } = this.#options
    const { signal } = this.#end
    if (lane === 'transfer') return mover.transfer(spec, item.data, signal, item.redelivered)
    const publish = async (children: ChildBatch) => {
      await this.#roomForTransfers()
      await Promise.all([
        ...children.transfers.map((child) => this.#publish('transfer', child, item)),
        ...children.regions.map((child) => this.#publish('region', child, item)),
      ])
    }
    return mover.scan(spec, item.data, publish, signal, item.redelivered)
  }

  /**
   * The id is of the parent's delivery-independent place and the child's content: what a redelivered parent publishes
   * again is dropped, and what it lists differently now is not.
   */
  #publish(lane: Lane, child: Uint8Array, parent: QueueItem): Promise<void> {
    const digest = createHash('sha256').update(child).digest('base64url')
    return this.#queue.publish(lane, child, `${parent.sequence}.${digest}`, this.#end.signal)
  }

  /** What came of an item becomes durable in this order: failures, what is to be tried again, counts, and then its end. */
  async #settle(lane: Lane, item: QueueItem, { failures, retry, counts }: ItemResult): Promise<void> {
    const { book, failures: ledger, spec } = this.#options
    const { signal } = this.#end
    const timeMs = Date.now()
    await Promise.all(
      failures.map((failure, index) =>
        ledger.append(spec.id, { ...failure, timeMs }, `${spec.id}.${item.sequence}.${index}`, signal),
      ),
    )
    if (retry !== undefined) await this.#publish(lane, retry, item)
    await book.count(item.sequence, counts, item.redelivered)
    await item.done()
    book.acked(item.sequence)
  }

  async #roomForTransfers(): Promise<void> {
    while ((await this.#queue.pendingIn('transfer')) > maxWaitingTransfers) {
      await delay(frontierCheckMs, undefined, { signal: this.#end.signal })
    }
  }
}
