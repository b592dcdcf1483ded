import { hash } from 'node:crypto'
import { QueueGoneError, type QueueItem } from '../../broker/queue.ts'
import type { QueueWork } from '../../broker/queue-work.ts'
import type { Log } from '../../broker/log.ts'
import type { ItemResult } from './engine/counts.ts'
import { notBeforeOf } from './engine/items.ts'
import type { ChildBatch, Mover, MoveSpec } from './engine/mover.ts'
import { stillToWaitMs } from './engine/retry.ts'
import { type FailureNotes, noteFailures } from './failures.ts'
import type { WorkerBook } from './worker-book.ts'

export const lanes = ['transfer', 'region'] as const
type Lane = (typeof lanes)[number]

/** A store that does not work is told so often; whoever looks into the log sees why nothing moves. */
const tellEveryMs = 60_000
/** An item that failed for a reason of ours, not of a store, waits so long. */
const retryMs = 1_000

export interface ItemLoopOptions {
  /** Names the queue, the progress and the failures; see `workIdOf`. */
  readonly workId: string
  readonly spec: MoveSpec
  readonly mover: Mover
  readonly threads: number
  readonly queue: QueueWork
  readonly book: WorkerBook
  /** Resolves when more may be put into the queue. Rejects with the signal's reason. */
  readonly room: (signal: AbortSignal) => Promise<void>
  readonly failures: FailureNotes
  /** Sequences of the items that are being worked on here; the loop keeps it. */
  readonly inHand: Set<number>
  readonly onIdle: () => void
  /** Ends the work: what is in hand is handed back. */
  readonly signal: AbortSignal
  readonly log: Log
}

/**
 * What every worker does, in the platform and elsewhere: takes the items of a migration from its queue, has them done,
 * stores what came of them, and only then takes them off.
 */
export class ItemLoop {
  readonly #options: ItemLoopOptions
  readonly #inHand: Set<number>
  #toldUntilMs = 0

  constructor(options: ItemLoopOptions) {
    this.#options = options
    this.#inHand = options.inHand
  }

  /** Takes items until the signal aborts or the queue is gone; resolves when those in hand are settled. */
  async run(taking: AbortSignal): Promise<void> {
    const { queue, threads } = this.#options
    // Two jobs a thread keep it busy while the answer to the last one is on its way.
    const slots: Record<Lane, number> = { transfer: 2 * threads, region: threads }
    await Promise.all(
      lanes.map((lane) => queue.consume(lane, slots[lane], (item) => this.#work(lane, item), taking)),
    )
  }

  async #work(lane: Lane, item: QueueItem): Promise<void> {
    const waitMs = stillToWaitMs(notBeforeOf(item.data), Date.now())
    if (waitMs > 0) {
      item.later(waitMs)
      return
    }
    const { book, log, workId, onIdle } = this.#options
    this.#inHand.add(item.sequence)
    try {
      if (await book.includes(item)) await book.stored()
      else await this.#record(lane, item, await this.#move(lane, item))
      await item.done()
      book.acked(item.sequence)
    } catch (error) {
      if (this.#options.signal.aborted || error instanceof QueueGoneError) return
      log.warn({ err: error, migration: workId }, 'An item failed; it comes again.')
      item.later(retryMs)
    } finally {
      this.#inHand.delete(item.sequence)
      if (this.#inHand.size === 0) onIdle()
    }
  }

  #move(lane: Lane, item: QueueItem): Promise<ItemResult> {
    const { mover, spec, room } = this.#options
    const { signal } = this.#options
    if (lane === 'transfer') return mover.transfer(spec, item.data, signal, item.redelivered)
    const publish = async (children: ChildBatch) => {
      await room(signal)
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
    return this.#publishAs(
      lane,
      child,
      `${parent.sequence}.${hash('sha256', child, 'base64url').slice(0, 22)}`,
    )
  }

  async #publishAs(lane: Lane, child: Uint8Array, messageId: string): Promise<void> {
    const { book, queue } = this.#options
    if (book.wasDone(messageId)) return
    await queue.publish(lane, child, messageId, this.#options.signal)
  }

  /** What came of an item becomes durable in this order: failures, what is to be tried again, counts; then it may end. */
  async #record(lane: Lane, item: QueueItem, { failures, retry, putOff, counts }: ItemResult): Promise<void> {
    const { failures: ledger, workId, book } = this.#options
    await noteFailures(ledger, workId, { item: item.sequence, failures }, this.#options.signal)
    // Not by its content, which has the time of the next try in it.
    if (retry !== undefined) await this.#publishAs(lane, retry, `${item.sequence}.retry`)
    if (putOff !== undefined) this.#tell(putOff)
    await book.count(item, counts)
  }

  #tell(reason: string): void {
    const { log, workId } = this.#options
    if (performance.now() < this.#toldUntilMs) return
    this.#toldUntilMs = performance.now() + tellEveryMs
    log.warn({ migration: workId, reason }, 'Something does not arrive at the moment, and is tried again.')
  }
}
