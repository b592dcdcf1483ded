import { hash } from 'node:crypto'
import { QueueGoneError, type QueueItem } from '../../../broker/queue/queue.ts'
import type { QueueWork } from '../../../broker/queue/work.ts'
import type { Log } from '../../../broker/common/log.ts'
import type { Changes } from '../live/changes.ts'
import type { ItemInFlight } from '../live/item-in-flight.ts'
import type { Counts, ItemResult } from '../../engine/run/counts.ts'
import type { Meter } from '../../engine/run/meter.ts'
import { deepItem, foundBytesOf } from '../../engine/items/item-decode.ts'
import { headOf, identityOf, kindOf, notBeforeOf } from '../../engine/items/items.ts'
import { heldForMs } from '../../engine/run/removal-budget.ts'
import type { ChildBatch, Mover, MoveSpec } from '../../engine/mover.ts'
import { stillToWaitMs } from '../../engine/run/retry.ts'
import { type FailureNotes, noteFailures } from '../failures/failures.ts'
import type { InFlightProgress, MeteredTransfer } from '../progress/in-flight-progress.ts'
import type { Room } from '../assignments/assignments.ts'
import { type ChildLanes, childLanes, type Lane, lastLane, slotsOf } from './lanes.ts'
import { Deferrals } from './deferrals.ts'
import { retriedFailure, retryMessageId } from '../failures/retries.ts'
import type { CheckpointWriter } from '../progress/checkpoint-writer.ts'

/** A store that does not work is told so often; whoever looks into the log sees why nothing moves. */
const tellEveryMs = 60_000
/** An item that failed for a reason of ours, not of a store, waits so long. */
const retryMs = 1_000
/** An item of the last lane that came too early waits so long. */
const tooEarlyMs = 500

export interface ItemLoopOptions {
  /** Names the queue, the progress and the failures; see `workIdOf`. */
  readonly workId: string
  readonly spec: MoveSpec
  readonly mover: Mover
  readonly threads: number
  readonly queue: QueueWork
  /** When that was made: sequences of items are unique since then. */
  readonly queueCreated: string
  /** Whether there are items in the moving lanes; for who takes the last lane. */
  readonly isTooEarly?: () => Promise<boolean>
  /** Whether there are other workers on the migration at the moment. */
  readonly hasHelp: () => boolean
  readonly checkpoints: CheckpointWriter
  /** Resolves when more may be put into these lanes. Rejects with the signal's reason. */
  readonly room: (lanes: ChildLanes, signal: AbortSignal) => Promise<Room>
  /** Of a live migration; they are told what becomes of each item. */
  readonly changes?: Changes | undefined
  readonly failures: FailureNotes
  /** Where what is under way is known until it is counted. */
  readonly inFlight: Pick<InFlightProgress, 'begin'>
  /** Sequences of the items that are being worked on here; the loop keeps it. */
  readonly held: Set<number>
  readonly onIdle: () => void
  /** Takes over what is under way of an item that is handed back: what is at the target of it is kept for whoever goes on. */
  readonly onHandedBack?: (transfer: MeteredTransfer) => void
  /** Ends the work: items in flight are handed back. */
  readonly signal: AbortSignal
  readonly log: Log
}

/**
 * What every worker does, in the platform and elsewhere: takes the items of a migration from its queue, has them done,
 * stores what came of them, and only then takes them off.
 */
export class ItemLoop {
  readonly #options: ItemLoopOptions
  readonly #held: Set<number>
  readonly deferrals = new Deferrals()
  readonly #begunMs = Date.now()
  #toldUntilMs = 0

  constructor(options: ItemLoopOptions) {
    this.#options = options
    this.#held = options.held
  }

  /** Takes items of these lanes until the signal aborts or the queue is gone; resolves when those in flight are settled. */
  async run(lanes: readonly Lane[], taking: AbortSignal): Promise<void> {
    await Promise.all(lanes.map((lane) => this.consume(lane, taking)))
  }

  /** The same for one lane. */
  consume(lane: Lane, taking: AbortSignal): Promise<void> {
    const { queue, threads } = this.#options
    return queue.consume(lane, slotsOf(lane, threads), (item) => this.#work(lane, item), taking)
  }

  async #work(lane: Lane, item: QueueItem): Promise<void> {
    const notBeforeMs = this.#notBeforeOf(item)
    // Nobody could ever work on it, and it would come back for ever.
    if (notBeforeMs === undefined) return item.done()
    const waitMs = isHeldBefore(item.data, this.#begunMs) ? 0 : stillToWaitMs(notBeforeMs, Date.now())
    if (waitMs > 0) {
      item.later(waitMs)
      return
    }
    const { checkpoints, changes, log, workId, onIdle, inFlight } = this.#options
    const { isTooEarly = () => Promise.resolve(false), onHandedBack, signal } = this.#options
    this.#held.add(item.sequence)
    changes?.working(item)
    using work = changes?.failures.begin(item.data)
    const transfer = inFlight.begin(workId)
    let isHandedBack = false
    try {
      if (lane === lastLane && (await isTooEarly())) {
        item.later(tooEarlyMs)
        return
      }
      let result: ItemResult | undefined
      if (await checkpoints.includes(item)) await checkpoints.stored()
      else {
        result = await this.#move(lane, item, transfer.meter, work)
        await this.#record(lane, item, result, work)
      }
      transfer.end()
      await item.done()
      this.deferrals.settle(item.messageId)
      checkpoints.acked(item.sequence)
      changes?.done(item, result)
    } catch (error) {
      if (signal.aborted && onHandedBack !== undefined) {
        isHandedBack = true
        onHandedBack(transfer)
      }
      if (signal.aborted || error instanceof QueueGoneError) return
      log.warn({ err: error, migration: workId }, 'A work item failed; retrying.')
      this.deferrals.failed(item.messageId, error)
      item.later(retryMs)
    } finally {
      if (!isHandedBack) transfer.end()
      this.#held.delete(item.sequence)
      checkpoints.letGo(item.sequence)
      if (this.#held.size === 0) onIdle()
    }
  }

  /** Undefined for bytes that are no item: no worker of this version makes such. */
  #notBeforeOf({ data, sequence }: QueueItem): number | undefined {
    try {
      return notBeforeOf(data)
    } catch (err) {
      const { log, workId } = this.#options
      log.error(
        { err, migration: workId, sequence },
        'The queue contains a message that is not a work item; it is dropped.',
      )
      return undefined
    }
  }

  async #move(
    lane: Lane,
    item: QueueItem,
    meter: Meter,
    work: ItemInFlight | undefined,
  ): Promise<ItemResult> {
    const { checkpoints, mover, room, hasHelp, signal } = this.#options
    const spec = { ...this.#options.spec, meter }
    const wasOut = await checkpoints.wasOut(item)
    if (lane === 'transfer' || lane === 'update') {
      const share = async (parts: readonly Uint8Array[]) => {
        await Promise.all(parts.map((part) => this.#publish(lane, part, item)))
      }
      return mover.transfer(spec, item.data, signal, wasOut, hasHelp() ? share : undefined)
    }
    if (lane === lastLane) {
      const publish = async ({ folders }: ChildBatch) => {
        await Promise.all(folders.map((child) => this.#publish(lane, child, item)))
      }
      return mover.finishFolders(spec, item.data, publish, signal)
    }
    const to = childLanes[lane]
    const publish = async (children: ChildBatch) => {
      work?.handOn([...children.transfers, ...children.regions])
      const { goesDeep, leavesFolders } = await room(to, signal)
      await Promise.all([
        ...children.transfers.map((child) => this.#publish(to.transfers, child, item)),
        ...children.regions.map((child) => this.#publish(to.regions, child, item, goesDeep)),
        ...(leavesFolders ? [] : children.folders.map((child) => this.#publish(to.folders, child, item))),
      ])
    }
    return mover.scan(spec, item.data, publish, signal, wasOut)
  }

  /**
   * The id is of the parent's delivery-independent place and the child's content: what a redelivered parent publishes
   * again is dropped, and what it lists differently now is not.
   * @param isDeep whether it is to go deep: the same child, whatever waits at the moment
   */
  #publish(lane: Lane, child: Uint8Array, parent: QueueItem, isDeep = false): Promise<void> {
    const messageId = `${parent.sequence}.${hash('sha256', identityOf(child), 'base64url').slice(0, 22)}`
    this.#options.changes?.made(parent.sequence, messageId)
    return this.publish(lane, isDeep ? deepItem(child) : child, messageId)
  }

  /** Puts an item into the queue, unless one of this id was done. */
  async publish(lane: Lane, child: Uint8Array, messageId: string): Promise<void> {
    const { checkpoints, queue } = this.#options
    const isDone = () => checkpoints.wasDone(messageId)
    if (await isDone()) return
    await queue.publish(lane, child, messageId, this.#options.signal, isDone)
  }

  /** What came of an item becomes durable in this order: failures, what is to be tried again, counts; then it may end. */
  async #record(
    lane: Lane,
    item: QueueItem,
    result: ItemResult,
    work: ItemInFlight | undefined,
  ): Promise<void> {
    const { failures, retry, deferral, counts } = result
    const { failures: ledger, workId, checkpoints, changes, queueCreated, signal } = this.#options
    const retried = retriedFailure(item.messageId)
    const noted = { item: `${queueCreated}.${item.sequence}`, failures, retried }
    if (changes === undefined || work === undefined) await noteFailures(ledger, workId, noted, signal)
    else {
      const again = await changes.failures.settle(noted, result, work, signal)
      result.again = [...(result.again ?? []), ...again]
    }
    // Not by its content, which has the time of the next try in it.
    const retryId = retried === undefined ? `${item.sequence}.retry` : retryMessageId(retried, item.sequence)
    if (retry !== undefined) {
      changes?.made(item.sequence, retryId)
      await this.publish(lane, retry, retryId)
    } else if (retried !== undefined) {
      // It has arrived, or failed once more and is recorded again.
      await (changes === undefined ? ledger.forget(retried) : changes.failures.retried(retried))
      // A comparison counts what it finds as scanned once more.
      if (kindOf(item.data) !== 'reconcile') counts[lane === 'region' ? 'foldersRetried' : 'filesRetried']++
      if (lane !== 'region') counts.bytesRetried += foundBytesOf(item.data)
    }
    await Promise.all(
      (result.split ?? []).map(async (part, index) => {
        const id = `${retryId}.${index}`
        changes?.made(item.sequence, id)
        await this.publish(lane, part, id)
      }),
    )
    this.deferrals.settle(lane)
    if (deferral !== undefined) {
      // A live migration's own tries are items of their own: the next in the lane says how it goes.
      this.deferrals.note(retry === undefined ? lane : retryId, deferral)
      this.#tell(deferral.message)
    }
    await checkpoints.count(item, lane === 'update' ? ofChanges(counts) : counts)
  }

  #tell(reason: string): void {
    const { log, workId } = this.#options
    if (performance.now() < this.#toldUntilMs) return
    this.#toldUntilMs = performance.now() + tellEveryMs
    log.warn({ migration: workId, reason }, 'Some paths cannot be copied at the moment; retrying.')
  }
}

/** Whether what an item is about was held before a moment: a worker that restarts checks at once whether it may go. */
const isHeldBefore = (item: Uint8Array, thenMs: number): boolean => {
  const { kind, attempt, notBeforeMs } = headOf(item)
  return kind === 'reconcile' && attempt === 1 && notBeforeMs < thenMs + heldForMs
}

/** What was copied because it changed. */
const ofChanges = (counts: Counts): Counts => ({
  ...counts,
  filesChanged: counts.filesMigrated + counts.linksMigrated,
  bytesChanged: counts.bytesMigrated,
})
