import { hash } from 'node:crypto'
import { Queue, QueueGoneError, type QueueItem } from '../../broker/queue.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import type { Log } from '../../broker/log.ts'
import type { StorePath } from '../drivers/driver.ts'
import type { Changes } from './changes/changes.ts'
import type { Counts, ItemResult } from './engine/counts.ts'
import type { ActionPolicy } from '../../subjects/migration-model.ts'
import { notBeforeOf, startRegion } from './engine/items.ts'
import type { ChildBatch, Mover, MoveSpec } from './engine/mover.ts'
import { stillToWaitMs } from './engine/retry.ts'
import { type FailureLedger, noteFailures } from './failures.ts'
import { Frontier } from './frontier.ts'
import { childLanes, firstLanesOf, isMoving, type Lane, lanesOf, lastLane, slotsOf } from './lanes.ts'
import type { Progress } from './progress.ts'
import { retriedFailure, type RetryItem, retryMessageId } from './retries.ts'
import { Waker } from './waker.ts'
import { type CountListener, WorkerBook } from './worker-book.ts'

/** An item of the last lane that came too early waits so long. */
const tooEarlyMs = 500

/**
 * Look whether all is done at least so often: the last item may have been another process's. A live migration that only
 * follows changes is looked at to find that the queue is empty, seldom, and only if something is thought to be in it.
 */
const checkMs = { scanning: 500, following: 5_000, idle: 60_000 } as const
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
  readonly #failed = Promise.withResolvers<never>()
  /** Whether only changes are followed. */
  #isScanned = false
  readonly #waker = new Waker()
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
    const queue = await Queue.open(connection, workId, lanesOf(options.changes !== undefined), log, {
      takeBack,
    })
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
    this.#isScanned = false
    this.#waker.wake()
  }

  /** Puts failures into the queue as work; twice is harmless. */
  async retry(items: readonly RetryItem[]): Promise<void> {
    await Promise.all(
      items.map(({ lane, item, sequence }) =>
        this.#queue.publish(lane, item, retryMessageId(sequence), this.#end.signal),
      ),
    )
    this.#isScanned = false
    this.#waker.wake()
  }

  /**
   * Works until nothing is left (true) or the signal aborts (false).
   * @param onScanned of a live migration, which goes on then: called whenever nothing is left of scanning
   */
  async run(onScanned?: () => Promise<void>): Promise<boolean> {
    const { changes } = this.#options
    await changes?.start(
      { publish: (lane, item, id) => this.#publishAs(lane, item, id), fail: this.#failed.reject },
      this.#end.signal,
    )
    const consuming = Promise.all(firstLanesOf(changes !== undefined).map((lane) => this.#consume(lane)))
    try {
      // Consumers end before they are told to only when they fail or the queue was deleted.
      const working = changes === undefined ? this.#untilEmpty() : this.#follow(changes, onScanned)
      return await Promise.race([working, consuming.then(() => false), this.#failed.promise])
    } finally {
      this.#finish()
      await Promise.all([consuming, this.#last, changes?.close()])
    }
  }

  #beginLast(): void {
    if (this.#last !== undefined) return
    this.#last = this.#consume(lastLane)
    this.#last.catch(this.#failed.reject)
  }

  #consume(lane: Lane): Promise<void> {
    const slots = slotsOf(lane, this.#options.threads)
    return this.#queue.consume(lane, slots, (item) => this.#work(lane, item), this.#end.signal)
  }

  #finish(reason: unknown = new Error('the migration was stopped')): void {
    this.#end.abort(reason)
    this.#waker.wake()
  }

  async #untilEmpty(): Promise<boolean> {
    const isEmpty = async () => {
      if (this.#inHand.size > 0) return false
      const waiting = await this.#queue.pendingByLane()
      if (waiting.size > 0 && !isMoving(waiting)) this.#beginLast()
      return waiting.size === 0
    }
    while (!this.#end.signal.aborted) {
      if (await this.#asking(isEmpty)) return true
      await this.#waker.wait(checkMs.scanning, this.#end.signal)
    }
    return false
  }

  /** Follows changes until the signal aborts; says whenever all that scanning found is done. */
  async #follow(changes: Changes, onScanned: () => Promise<void> = async () => undefined): Promise<false> {
    while (!this.#end.signal.aborted) {
      await this.#asking(async () => {
        const waiting = await this.#queue.pendingByLane()
        if (isMoving(waiting)) return
        if (waiting.has(lastLane)) return this.#beginLast()
        if (waiting.size === 0) changes.emptied()
        if (await changes.scanned()) return
        await onScanned()
        this.#isScanned = true
      })
      const { isWaiting } = changes
      const ms = !this.#isScanned ? checkMs.scanning : isWaiting ? checkMs.following : checkMs.idle
      await this.#waker.wait(ms, this.#end.signal)
    }
    return false
  }

  /** What a question to the broker came to; undefined while it does not answer. */
  async #asking<T>(question: () => Promise<T>): Promise<T | undefined> {
    try {
      return await question()
    } catch (error) {
      this.#options.log.debug({ err: error }, 'The broker does not answer; asking again.')
      return undefined
    }
  }

  async #work(lane: Lane, item: QueueItem): Promise<void> {
    const waitMs = stillToWaitMs(notBeforeOf(item.data), Date.now())
    if (waitMs > 0) {
      item.later(waitMs)
      return
    }
    const { changes } = this.#options
    this.#inHand.add(item.sequence)
    changes?.working(item)
    try {
      if (lane === lastLane && isMoving(await this.#queue.pendingByLane())) {
        item.later(tooEarlyMs)
        return
      }
      let result: ItemResult | undefined
      if (await this.#book.includes(item)) await this.#book.stored()
      else {
        result = await this.#move(lane, item)
        await this.#record(lane, item, result)
      }
      await item.done()
      this.#book.acked(item.sequence)
      changes?.done(item, result)
    } catch (error) {
      if (this.#end.signal.aborted || error instanceof QueueGoneError) return
      this.#options.log.warn(
        { err: error, migration: this.#options.spec.id },
        'An item failed; it comes again.',
      )
      item.later(retryMs)
    } finally {
      this.#inHand.delete(item.sequence)
      if (this.#inHand.size === 0 && !this.#isScanned) this.#waker.wake()
    }
  }

  #move(lane: Lane, item: QueueItem): Promise<ItemResult> {
    const { mover, spec } = this.#options
    const { signal } = this.#end
    if (lane === 'transfer' || lane === 'update')
      return mover.transfer(spec, item.data, signal, item.redelivered)
    if (lane === lastLane) return mover.finishFolders(spec, item.data, signal)
    const to = childLanes[lane]
    const publish = async (children: ChildBatch) => {
      await this.#frontier.room(to.transfers, signal)
      await Promise.all([
        ...children.transfers.map((child) => this.#publish(to.transfers, child, item)),
        ...children.regions.map((child) => this.#publish(to.regions, child, item)),
        ...children.folders.map((child) => this.#publish(to.folders, child, item)),
      ])
    }
    return mover.scan(spec, item.data, publish, signal, item.redelivered)
  }

  /**
   * The id is of the parent's delivery-independent place and the child's content: what a redelivered parent publishes
   * again is dropped, and what it lists differently now is not.
   */
  #publish(lane: Lane, child: Uint8Array, parent: QueueItem): Promise<void> {
    const messageId = `${parent.sequence}.${hash('sha256', child, 'base64url').slice(0, 22)}`
    this.#options.changes?.made(parent.sequence, messageId)
    return this.#publishAs(lane, child, messageId)
  }

  async #publishAs(lane: Lane, child: Uint8Array, messageId: string): Promise<void> {
    if (this.#book.wasDone(messageId)) return
    await this.#queue.publish(lane, child, messageId, this.#end.signal)
  }

  /** What came of an item becomes durable in this order: failures, what is to be tried again, counts; then it may end. */
  async #record(lane: Lane, item: QueueItem, { failures, retry, putOff, counts }: ItemResult): Promise<void> {
    const { failures: ledger, workId, changes } = this.#options
    await noteFailures(
      ledger,
      workId,
      {
        item: `${this.#queue.created}.${item.sequence}`,
        failures: changes?.unknown(failures) ?? failures,
      },
      this.#end.signal,
    )
    const retried = retriedFailure(item.messageId)
    // Not by its content, which has the time of the next try in it.
    const retryId = retried === undefined ? `${item.sequence}.retry` : retryMessageId(retried, item.sequence)
    if (retry !== undefined) {
      changes?.made(item.sequence, retryId)
      await this.#publishAs(lane, retry, retryId)
    } else if (retried !== undefined) {
      // It has arrived, or failed once more and is noted anew.
      await ledger.forget(retried)
      counts[lane === 'region' ? 'foldersRetried' : 'filesRetried']++
    }
    if (putOff !== undefined) this.#tell(putOff)
    await this.#book.count(item, lane === 'update' ? ofChanges(counts) : counts)
  }

  #tell(reason: string): void {
    const { log, spec } = this.#options
    if (performance.now() < this.#toldUntilMs) return
    this.#toldUntilMs = performance.now() + tellEveryMs
    log.warn({ migration: spec.id, reason }, 'Something does not arrive at the moment, and is tried again.')
  }
}

/** What was copied because it changed. */
const ofChanges = (counts: Counts): Counts => ({
  ...counts,
  filesChanged: counts.filesMigrated + counts.linksMigrated,
  bytesChanged: counts.bytesMigrated,
})
