import { Queue, type QueueState } from '../../../broker/queue/queue.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { lifeOf, onReconnect } from '../../../broker/common/reconnects.ts'
import type { Log } from '../../../broker/common/log.ts'
import type { Deferral } from '../../../subjects/migrations/model/condition-terms.ts'
import type { Movers } from '../../../subjects/migrations/agents.ts'
import type { StorePath } from '../../drivers/contract/driver.ts'
import type { Renamed, RenamedThere } from '../../drivers/feeds/dirty-folders.ts'
import type { Assignments } from '../assignments/assignments.ts'
import { ProgressLedger } from '../progress/progress-ledger.ts'
import type { Changes } from '../live/changes.ts'
import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import { allFolders, startRegion } from '../../engine/items/items.ts'
import { ComesAgain, type Mover, type MoveSpec } from '../../engine/mover.ts'
import type { FailureLedger } from '../failures/failures.ts'
import type { InFlightProgress, MeteredTransfer } from '../progress/in-flight-progress.ts'
import { type Moved, readMeter } from '../../engine/run/meter.ts'
import { Frontier, type FrontierBounds } from './frontier.ts'
import { ItemLoop } from './item-loop.ts'
import { childLanes, firstLanesOf, isMoving, lanesOf, lastLane } from './lanes.ts'
import type { Progress } from '../progress/progress.ts'
import { type Loss, lossOf, WorkLostError } from '../progress/proof.ts'
import { type RetryItem, retryMessageId } from '../failures/retries.ts'
import { Signal } from '../../scheduling/signal.ts'
import { type CountListener, CheckpointWriter } from '../progress/checkpoint-writer.ts'

/**
 * Look whether all is done at least so often: the last item may have been another process's. A live migration that only
 * follows changes is looked at to find that the queue is empty, seldom, and only if something is thought to be in it.
 */
const checkMs = { scanning: 500, following: 5_000, idle: 60_000 } as const

/** So long nothing moves in a queue until the broker is asked whether it would hand out what it has, and how often then. */
const stillMs = 10_000

export interface ActiveOptions {
  readonly connection: NatsConnection
  /** Names the queue, the progress and the failures; see `workIdOf`. */
  readonly workId: string
  readonly migrationId: string
  /** Name of the target filesystem. */
  readonly target: string
  /** Who takes part in the work. */
  readonly movedBy: Movers
  readonly agents: Assignments
  readonly spec: MoveSpec
  readonly mover: Mover
  readonly threads: number
  readonly progress: Progress
  readonly onCount: CountListener
  readonly failures: FailureLedger
  readonly inFlight: InFlightProgress
  readonly log: Log
  /** Of a live migration. */
  readonly changes: Changes | undefined
  /** Called when nothing is left to be listed, but something to be copied. @param isStill whether that is so by now */
  readonly onListed?: (isStill: () => boolean) => Promise<void>
  /** Default: those that suit any machine. */
  readonly frontier?: FrontierBounds
  /** Nobody works on it any more, and what was handed out comes back at once. */
  readonly takeBack: boolean
  /** Ends the work: items in flight are handed back. */
  readonly signal: AbortSignal
}

/** Who is told of a live migration. */
export interface FollowingListener {
  /** Called whenever nothing is left of scanning. */
  readonly onScanned: () => Promise<void>
  /** Called when items were lost; everything is compared then. */
  readonly onLost: (loss: Loss) => Promise<void>
}

/** One migration that is worked on: its queue, which is this process's, and this process's part of the work. */
export class ActiveMigration {
  readonly #options: ActiveOptions
  readonly #queue: Queue
  readonly #progressLedger: ProgressLedger
  readonly #frontier: Frontier
  readonly #loop: ItemLoop
  /** Aborts when the work is to end, be it finished or stopped. */
  readonly #end = new AbortController()
  /** Sequences of the items that are being worked on here. */
  readonly #held = new Set<number>()
  #last: Promise<void> | undefined
  readonly #failed = Promise.withResolvers<never>()
  /** Whether only changes are followed. */
  #isScanned = false
  /** How often something was put into the queue that is to be scanned. */
  #asked = 0
  /** How often that had been when all of it was listed. */
  #listed = -1
  /** How the queue was seen, and since when it was so. */
  #still = { seen: '', sinceMs: 0 }
  /** What was gone from the queue when it was opened. */
  readonly lossAtStart: Loss | undefined
  readonly #checkpoints: CheckpointWriter
  /** Whether all folders get their times, those included that no item was made for. */
  #isFinishingAll = false
  readonly #handedBack: MeteredTransfer[] = []
  readonly #wakeUp = new Signal()

  private constructor(
    options: ActiveOptions,
    queue: Queue,
    progressLedger: ProgressLedger,
    lossAtStart: Loss | undefined,
  ) {
    this.#options = options
    this.#queue = queue
    this.#progressLedger = progressLedger
    this.#frontier = new Frontier(options.connection, queue, options.log, options.frontier)
    this.lossAtStart = lossAtStart
    this.#checkpoints = new CheckpointWriter({
      keeper: progressLedger.keeperOf(crypto.randomUUID()),
      others: progressLedger.all(),
      published: () => queue.published,
      life: lifeOf(options.connection),
      // The queue need not be asked for what is in flight here: most items are made by one that is.
      isOpen: async (sequence) => this.#held.has(sequence) || (await queue.has(sequence)),
      onCount: options.onCount,
    })
    this.#loop = new ItemLoop({
      ...options,
      queue,
      queueCreated: queue.created,
      isTooEarly: () => this.#isTooEarly(),
      checkpoints: this.#checkpoints,
      room: (lanes, signal) => this.#frontier.room(lanes, signal),
      hasHelp: () => options.agents.workersOn(options.workId) > 1,
      held: this.#held,
      onIdle: () => {
        if (!this.#isScanned) this.#wakeUp.wake()
      },
      onHandedBack: (transfer) => this.#handedBack.push(transfer),
      signal: this.#end.signal,
    })
    // What fails before anybody waits for it is told to whoever does.
    this.#failed.promise.catch(() => undefined)
    const { signal } = options
    signal.addEventListener('abort', () => this.#finish(signal.reason), { once: true })
    if (signal.aborted) this.#finish(signal.reason)
  }

  static async open(options: ActiveOptions): Promise<ActiveMigration> {
    const { connection, workId, log, takeBack, progress } = options
    const queue = await Queue.open(connection, workId, lanesOf(options.changes !== undefined), log, {
      takeBack,
    })
    // Sequences of another queue of this name, which somebody has deleted, would be taken for those of this one.
    if (queue.isNew) await progress.forget((migration) => migration === workId)
    const progressLedger = await ProgressLedger.open(progress, workId, queue, { isEmpty: queue.isNew })
    const loss = queue.isNew ? undefined : await progressLedger.lossAtStart(await queue.state())
    return new ActiveMigration(options, queue, progressLedger, loss)
  }

  /** What keeps the work from going on. */
  get waits(): { readonly forStorage: boolean; readonly deferrals: readonly Deferral[] } {
    return {
      forStorage: this.#frontier.waitsForStorage || this.#queue.waitsForRoom,
      deferrals: this.#loop.deferrals.reasons,
    }
  }

  /** What is at the target of items that were handed back when the work ended. */
  get handedBack(): Moved {
    const moved = this.#handedBack.map(({ meter }) => readMeter(meter))
    const sumOf = (name: keyof Moved) => moved.reduce((sum, one) => sum + one[name], 0)
    return { bytes: sumOf('bytes'), files: sumOf('files') }
  }

  /** The record says what was handed back, or others work on it again. */
  close(): void {
    for (const transfer of this.#handedBack.splice(0)) transfer.end()
  }

  /** Whether nothing was ever put into the queue. */
  get isNew(): boolean {
    return this.#queue.isNew
  }

  /** Puts the root into the queue. Idempotent. */
  async seed(): Promise<void> {
    await this.#queue.publish(
      'region',
      startRegion(),
      `start.${this.#options.spec.generation}`,
      this.#end.signal,
    )
  }

  /** Resolves when it is stored that all that was put into the queue so far was: who finds less there knows that it is lost. */
  async noteQueued(): Promise<void> {
    await this.#checkpoints.stored()
  }

  /** Puts a folder that is to be scanned again into the queue; twice with the same id is harmless. */
  async rescan(id: number, path: StorePath, policy: ActionPolicy | undefined): Promise<void> {
    await this.#queue.publish('region', startRegion(path, policy), `rescan.${id}`, this.#end.signal)
    this.#toScan()
  }

  /** Puts failures into the queue as work; twice with the same id is harmless. */
  async retry(id: number, items: readonly RetryItem[]): Promise<void> {
    await Promise.all(
      items.map(({ lane, item, sequence }) =>
        this.#queue.publish(lane, item, retryMessageId(sequence, `asked-${id}`), this.#end.signal),
      ),
    )
    this.#toScan()
  }

  #toScan(): void {
    this.#asked += 1
    this.#isScanned = false
    this.#wakeUp.wake()
  }

  /**
   * Works until nothing is left (true) or the signal aborts (false).
   * @param following of a live migration, which goes on then
   * @throws WorkLostError when the broker has lost a part of the queue that only another beginning makes good
   */
  async run(following?: FollowingListener): Promise<boolean> {
    const { changes, movedBy, agents, workId } = this.#options
    if (this.lossAtStart !== undefined && (changes === undefined || this.lossAtStart.isBroken))
      throw new WorkLostError(this.lossAtStart)
    await changes?.start(
      {
        publish: (lane, item, id) => this.#loop.publish(lane, item, id),
        rename: (renamed) => this.#rename(renamed),
        fail: this.#failed.reject,
      },
      this.#end.signal,
    )
    // What an agent does of a live migration nobody here would hear of, and something could change meanwhile.
    if (changes === undefined) {
      await agents.assign({
        ...this.#options,
        queue: this.#queue,
        progressLedger: this.#progressLedger,
        room: (signal) => this.#frontier.room(childLanes.region, signal),
      })
    }
    const isLeftToAgents = changes === undefined && movedBy === 'AGENTS'
    const consuming = isLeftToAgents
      ? aborted(this.#end.signal)
      : this.#loop.run(firstLanesOf(changes !== undefined), this.#end.signal)
    let isDone = false
    // A broker that comes back may have lost something.
    const forget = onReconnect(this.#options.connection, () => this.#wakeUp.wake())
    try {
      // Consumers end before they are told to only when they fail or the queue was deleted.
      const working = changes === undefined ? this.#untilEmpty() : this.#follow(changes, following)
      isDone = await Promise.race([working, consuming.then(() => false), this.#failed.promise])
      return isDone
    } finally {
      forget()
      this.#finish()
      await Promise.all([consuming, this.#last, changes?.close()])
      if (changes === undefined) await agents.withdraw(workId)
      // An agent that was lost sight of may have sent its checkpoints before.
      await this.#progressLedger.settled()
      // Who stops it soon after the last listing is told how far it is.
      if (!isDone)
        await this.#asking(async () => {
          const asked = this.#asked
          await this.#tellListed(await this.#queue.state(), asked)
        })
    }
  }

  /** See `ChangesPort`. */
  async #rename(renamed: readonly Renamed[]): Promise<readonly RenamedThere[] | undefined> {
    const { mover, spec } = this.#options
    const isEmpty = this.#held.size === 0 && (await this.#queue.state()).messages === 0
    // Something may have been handed out while the broker answered.
    if (!isEmpty || this.#held.size > 0) return undefined
    return mover.rename(spec, renamed, this.#end.signal)
  }

  /** Whether an item of the last lane is not to be worked on yet. When the first may be, so may what no item was made for. */
  async #isTooEarly(): Promise<boolean> {
    const waiting = await this.#queue.pendingByLane()
    const isEarly = isMoving(waiting)
    if (isEarly) this.#isFinishingAll = false
    else if (!this.#isFinishingAll && this.#frontier.hasLeftFolders(waiting)) {
      this.#isFinishingAll = true
      try {
        await this.#loop.publish(lastLane, allFolders(), `finish.${crypto.randomUUID()}`)
      } catch (error) {
        this.#isFinishingAll = false
        throw error
      }
    }
    return isEarly
  }

  #beginLast(): void {
    if (this.#last !== undefined) return
    this.#last = this.#loop.consume(lastLane, this.#end.signal)
    this.#last.catch(this.#failed.reject)
  }

  #finish(reason: unknown = new ComesAgain('the migration was stopped')): void {
    this.#end.abort(reason)
    this.#wakeUp.wake()
  }

  async #untilEmpty(): Promise<boolean> {
    const isEmpty = async () => {
      const { waiting, isEmpty, loss } = await this.#look()
      if (loss !== undefined) throw new WorkLostError(loss)
      if (waiting.size > 0 && !isMoving(waiting) && this.#held.size === 0) this.#beginLast()
      return isEmpty && this.#held.size === 0
    }
    while (!this.#end.signal.aborted) {
      if (await this.#asking(isEmpty)) return true
      await this.#wakeUp.wait(checkMs.scanning, this.#end.signal)
    }
    return false
  }

  /** Follows changes until the signal aborts; says whenever all that scanning found is done. */
  async #follow(changes: Changes, following: FollowingListener | undefined): Promise<false> {
    let lost = 0
    /** What is lost is told once, and found by comparing everything. */
    const seek = async (loss: Loss) => {
      const { items = 0 } = loss
      if (items <= lost) return
      await following?.onLost(loss)
      lost = items
      changes.compare()
      this.#isScanned = false
    }
    if (this.lossAtStart !== undefined) await seek(this.lossAtStart)
    while (!this.#end.signal.aborted) {
      await this.#asking(async () => {
        const asked = this.#asked
        const queued = changes.queued
        const { waiting, isEmpty, lastSequence, loss } = await this.#look()
        if (loss?.isBroken === true) throw new WorkLostError(loss)
        if (loss !== undefined && isEmpty) {
          await this.#progressLedger.settle(lastSequence, () => seek(loss))
          lost = 0
        } else if (loss !== undefined) await seek(loss)
        if (isMoving(waiting)) return
        if (waiting.has(lastLane)) return this.#beginLast()
        if (waiting.size === 0) changes.emptied(queued)
        // What was put into the queue since it was asked is not done.
        if (this.#asked !== asked || (await changes.scanned())) return
        await following?.onScanned()
        this.#isScanned = this.#asked === asked
      })
      const { isWaiting } = changes
      const ms = !this.#isScanned ? checkMs.scanning : isWaiting ? checkMs.following : checkMs.idle
      await this.#wakeUp.wait(ms, this.#end.signal)
    }
    return false
  }

  /** Tells, once, that all that was put into the queue so far is listed. */
  async #tellListed({ waiting, messages }: QueueState, asked: number): Promise<void> {
    if (messages === 0 || waiting.has(childLanes.region.regions) || this.#listed === asked) return
    const isStill = () => this.#asked === asked
    if (!isStill()) return
    await this.#options.onListed?.(isStill)
    this.#listed = asked
  }

  /** How the queue is, and what is gone from it; whether nothing is left is said only when that is proven or refuted. */
  async #look(): Promise<QueueState & { readonly isEmpty: boolean; readonly loss: Loss | undefined }> {
    const { stores, booked } = this.#progressLedger
    const asked = this.#asked
    // What is published from now on the answer need not know, and what is done by now it may know of.
    const published = Math.max(booked.published, this.#queue.published)
    const state = await this.#queue.state()
    const isExact = stores === this.#progressLedger.stores
    const loss =
      lossOf(state, { ...this.#progressLedger.booked, published }, { isExact }) ??
      (await this.#unreadable(state))
    if (loss === undefined) await this.#tellListed(state, asked)
    return { ...state, isEmpty: state.messages === 0 && isExact, loss }
  }

  /** Items that the broker hands out to nobody, when nothing has moved for long enough to say so. */
  async #unreadable({ messages, lastSequence }: QueueState): Promise<Loss | undefined> {
    const seen = `${messages} ${lastSequence} ${this.#progressLedger.stores}`
    if (seen !== this.#still.seen || messages === 0 || this.#held.size > 0)
      this.#still = { seen, sinceMs: performance.now() }
    if (performance.now() - this.#still.sinceMs < stillMs) return undefined
    this.#still.sinceMs = performance.now()
    const items = await this.#queue.unreadable()
    const now = await this.#queue.state()
    const isSame = seen === `${now.messages} ${now.lastSequence} ${this.#progressLedger.stores}`
    return items > 0 && isSame ? { items, isBroken: true } : undefined
  }

  /** What a question to the broker came to; undefined while it does not answer. @throws WorkLostError */
  async #asking<T>(question: () => Promise<T>): Promise<T | undefined> {
    try {
      return await question()
    } catch (error) {
      if (error instanceof WorkLostError) throw error
      this.#options.log.debug({ err: error }, 'The broker does not answer; asking again.')
      return undefined
    }
  }
}

/** Resolves when the signal aborts. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
