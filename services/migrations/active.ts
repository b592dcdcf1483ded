import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Queue, QueueGoneError, type QueueItem } from '../../broker/queue.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import type { Log } from '../../broker/log.ts'
import type { StorePath } from '../drivers/driver.ts'
import type { Changes } from './changes/changes.ts'
import type { ItemResult } from './engine/counts.ts'
import type { ActionPolicy } from '../../subjects/migration-model.ts'
import { notBeforeOf, startRegion } from './engine/items.ts'
import type { ChildBatch, Mover, MoveSpec } from './engine/mover.ts'
import { stillToWaitMs } from './engine/retry.ts'
import { type FailureLedger, noteFailures } from './failures.ts'
import { Frontier } from './frontier.ts'
import type { Progress } from './progress.ts'
import { retriedFailure, type RetryItem, retryMessageId } from './retries.ts'
import { type CountListener, WorkerBook } from './worker-book.ts'

/** Lanes whose items make others, or something in a folder. */
const movingLanes = ['transfer', 'region'] as const
/** What is done when nothing is left in those. */
const lastLane = 'folders'
const lanes = [...movingLanes, lastLane] as const
type Lane = (typeof lanes)[number]

/** An item of the last lane that came too early waits so long. */
const tooEarlyMs = 500

/** Look whether all is done at least so often: the last item may have been another process's. */
const idleCheckMs = 500
/** A store that does not work is told so often; whoever looks into the log sees why nothing moves. */
const tellEveryMs = 60_000
/** An item that failed for a reason of ours, not of a store, waits so long. */
const retryMs = 1_000

export interface ActiveOptions {
  readonly connection: NatsConnection
  /** Names the queue, the progress and the failures; see `workIdOf`. */
  readonly workId: string
  readonly spec: MoveSpec
  readonly mover: Mover
  readonly threads: number
  readonly progress: Progress
  readonly onCount: CountListener
  readonly failures: FailureLedger
  readonly log: Log
  /** Of a live migration. */
  readonly changes: Changes | undefined
  /** Nobody works on it any more, and what was handed out comes back at once. */
  readonly takeBack: boolean
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
  readonly #book: WorkerBook
  readonly #frontier: Frontier
  /** Aborts when the work is to end, be it finished or stopped. */
  readonly #end = new AbortController()
  /** Sequences of the items that are being worked on here. */
  readonly #inHand: Set<number>
  #last: Promise<void> | undefined
  readonly #lastFailed = Promise.withResolvers<never>()
  #wake = Promise.withResolvers<void>()
  #toldUntilMs = 0

  private constructor(options: ActiveOptions, queue: Queue, book: WorkerBook, inHand: Set<number>) {
    this.#inHand = inHand
    this.#options = options
    this.#queue = queue
    this.#book = book
    this.#frontier = new Frontier(options.connection, queue, options.log)
    const { signal } = options
    signal.addEventListener('abort', () => this.#finish(signal.reason), { once: true })
    if (signal.aborted) this.#finish(signal.reason)
  }

  static async open(options: ActiveOptions): Promise<ActiveMigration> {
    const { connection, workId, log, takeBack, progress, onCount } = options
    const queue = await Queue.open(connection, workId, lanes, log, { takeBack })
    // Sequences of another queue of this name, which somebody has deleted, would be taken for those of this one.
    if (queue.isNew) await progress.forget((migration) => migration === workId)
    const inHand = new Set<number>()
    const book = await WorkerBook.open({
      progress,
      migration: workId,
      worker: crypto.randomUUID(),
      // The queue need not be asked for what is in hand here: most items are made by one that is.
      isOpen: async (sequence) => inHand.has(sequence) || (await queue.has(sequence)),
      onCount,
    })
    return new ActiveMigration(options, queue, book, inHand)
  }

  /** Whether nothing was ever put into the queue. */
  get isNew(): boolean {
    return this.#queue.isNew
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

  /** Puts a folder that is to be scanned again into the queue; twice with the same id is harmless. */
  async rescan(id: number, path: StorePath, policy: ActionPolicy | undefined): Promise<void> {
    await this.#queue.publish('region', startRegion(path, policy), `rescan.${id}`, this.#end.signal)
  }

  /** Puts failures into the queue as work; twice is harmless. */
  async retry(items: readonly RetryItem[]): Promise<void> {
    await Promise.all(
      items.map(({ lane, item, sequence }) =>
        this.#queue.publish(lane, item, retryMessageId(sequence), this.#end.signal),
      ),
    )
  }

  /**
   * Works until nothing is left (true) or the signal aborts (false).
   * @param onScanned of a live migration, which goes on then: called whenever nothing is left
   */
  async run(onScanned?: () => Promise<void>): Promise<boolean> {
    await this.#options.changes?.start(this.#end.signal)
    const consuming = Promise.all(movingLanes.map((lane) => this.#consume(lane)))
    try {
      // Consumers end before they are told to only when they fail or the queue was deleted.
      return await Promise.race([
        this.#untilEmpty(onScanned),
        consuming.then(() => false),
        this.#lastFailed.promise,
      ])
    } finally {
      this.#finish()
      await Promise.all([consuming, this.#last])
    }
  }

  #beginLast(): void {
    if (this.#last !== undefined) return
    this.#last = this.#consume(lastLane)
    this.#last.catch(this.#lastFailed.reject)
  }

  #consume(lane: Lane): Promise<void> {
    const { threads } = this.#options
    // Two jobs a thread keep it busy while the answer to the last one is on its way.
    const slots = lane === 'transfer' ? 2 * threads : threads
    return this.#queue.consume(lane, slots, (item) => this.#work(lane, item), this.#end.signal)
  }

  #finish(reason: unknown = new Error('the migration was stopped')): void {
    this.#end.abort(reason)
    this.#wake.resolve()
  }

  async #untilEmpty(onScanned: (() => Promise<void>) | undefined): Promise<boolean> {
    const { signal } = this.#end
    while (!signal.aborted) {
      try {
        if (this.#inHand.size === 0) {
          if ((await this.#queue.pending()) === 0) {
            if (onScanned === undefined) return true
            await onScanned()
          } else if ((await this.#queue.pendingIn(...movingLanes)) === 0) {
            this.#beginLast()
          }
        }
      } catch (error) {
        this.#options.log.debug({ err: error }, 'The broker does not answer; asking again.')
      }
      this.#wake = Promise.withResolvers<void>()
      await Promise.race([this.#wake.promise, delay(idleCheckMs, undefined, { ref: false })])
    }
    return false
  }

  async #work(lane: Lane, item: QueueItem): Promise<void> {
    const waitMs = stillToWaitMs(notBeforeOf(item.data), Date.now())
    if (waitMs > 0) {
      item.later(waitMs)
      return
    }
    this.#inHand.add(item.sequence)
    try {
      if (lane === lastLane && (await this.#queue.pendingIn(...movingLanes)) > 0) {
        item.later(tooEarlyMs)
        return
      }
      if (await this.#book.includes(item)) await this.#book.stored()
      else await this.#record(lane, item, await this.#move(lane, item))
      await item.done()
      this.#book.acked(item.sequence)
    } catch (error) {
      if (this.#end.signal.aborted || error instanceof QueueGoneError) return
      this.#options.log.warn(
        { err: error, migration: this.#options.spec.id },
        'An item failed; it comes again.',
      )
      item.later(retryMs)
    } finally {
      this.#inHand.delete(item.sequence)
      if (this.#inHand.size === 0) this.#wake.resolve()
    }
  }

  #move(lane: Lane, item: QueueItem): Promise<ItemResult> {
    const { mover, spec } = this.#options
    const { signal } = this.#end
    if (lane === 'transfer') return mover.transfer(spec, item.data, signal, item.redelivered)
    if (lane === lastLane) return mover.finishFolders(spec, item.data, signal)
    const publish = async (children: ChildBatch) => {
      await this.#frontier.room(signal)
      await Promise.all([
        ...children.transfers.map((child) => this.#publish('transfer', child, item)),
        ...children.regions.map((child) => this.#publish('region', child, item)),
        ...children.folders.map((child) => this.#publish(lastLane, child, item)),
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
    if (this.#book.wasDone(messageId)) return
    await this.#queue.publish(lane, child, messageId, this.#end.signal)
  }

  /** What came of an item becomes durable in this order: failures, what is to be tried again, counts; then it may end. */
  async #record(lane: Lane, item: QueueItem, { failures, retry, putOff, counts }: ItemResult): Promise<void> {
    const { failures: ledger, workId } = this.#options
    await noteFailures(
      ledger,
      workId,
      { item: `${this.#queue.created}.${item.sequence}`, failures },
      this.#end.signal,
    )
    const retried = retriedFailure(item.messageId)
    // Not by its content, which has the time of the next try in it.
    const messageId =
      retried === undefined ? `${item.sequence}.retry` : retryMessageId(retried, item.sequence)
    if (retry !== undefined) await this.#publishAs(lane, retry, messageId)
    else if (retried !== undefined) {
      // It has arrived, or failed once more and is noted anew.
      await ledger.forget(retried)
      counts[lane === 'region' ? 'foldersRetried' : 'filesRetried']++
    }
    if (putOff !== undefined) this.#tell(putOff)
    await this.#book.count(item, counts)
  }

  #tell(reason: string): void {
    const { log, spec } = this.#options
    if (performance.now() < this.#toldUntilMs) return
    this.#toldUntilMs = performance.now() + tellEveryMs
    log.warn({ migration: spec.id, reason }, 'Something does not arrive at the moment, and is tried again.')
  }
}
