import { setTimeout as delay } from 'node:timers/promises'
import { itemGroups, reconcileItems } from '../../engine/items/changed-folders.ts'
import type { ItemResult } from '../../engine/run/counts.ts'
import { type Batch, Batches } from './batches.ts'
import { everything } from './comparison.ts'
import { Comparisons } from './comparisons.ts'
import { changedFolder, changesIn, foldersOf } from './dirty-folders.ts'
import {
  afterRenaming,
  type DirtyFolder,
  DirtyFolders,
  type Renamed,
  type RenamedThere,
} from '../../drivers/feeds/dirty-folders.ts'
import { type ChangesOptions, type ChangesPort, type ChangesView, lagSeconds, oldestOf } from './following.ts'
import type { KnownFailures } from './known-failures.ts'
import { entriesIn, OnHold, RemovalsHeld } from './on-hold.ts'
import { OtherNames } from './other-names.ts'
import { Told } from './told.ts'
import { monotonicMs, timeOf } from '../../../broker/common/monotonic.ts'
import { WatchError, type ChangeFeed, type FeedPositions } from '../../drivers/feeds/feed.ts'
import { HeldNames } from './held-names.ts'

/**
 * Items that are in the queue at once. What changes meanwhile is collected, so that the queue does not grow with the
 * number of changes, and a file that is written to a hundred times is copied a few times.
 */
const maxInQueue = 8
/** Folders and names that go into the queue together: what a thread compares in some 10 ms. */
const together = { folders: 64, names: 256 } as const
/** A name that changed while it was worked on is left alone for so long: whoever writes to it goes on, most often. */
const againMs = 10

/**
 * What is in the queue is to be done before something is renamed at the target: nobody writes below it then. After so long
 * what was renamed is copied instead, so that a large file does not keep all else back.
 */
const renameWaitMs = 5_000
const renamePollMs = 20
/** Where the queue did not become empty in time, nothing waits for that again so soon: there is much to do. */
const renamePauseMs = 60_000

/** Something that was told, and part of which is to be renamed first. */
interface Renaming {
  readonly folders: readonly DirtyFolder[]
  readonly done: (() => void) | undefined
  readonly renamed: readonly Renamed[]
  /** Since when the oldest change of it waits, and when it was told (`monotonicMs`). */
  readonly sinceMs: number
  readonly toldMs: number
}

interface QueuedItem {
  readonly sequence: number
  readonly messageId: string
}

/**
 * The changes at the source of one live migration, while it is worked on: learns of them, puts the folders in which
 * something changed into the queue, each once at a time, and knows what is not at the target yet. All of it is in memory
 * alone: a process that restarts watches first, and then compares everything once.
 */
export class Changes {
  readonly #options: ChangesOptions
  readonly #dirty = new DirtyFolders()
  readonly #batches = new Batches()
  readonly #told = new Told()
  /** Those that wait, and nothing goes into the queue meanwhile. */
  readonly #renamings: Renaming[] = []
  /** Until when nothing waits for the queue to be empty (`monotonicMs`). */
  #renamePauseEndsMs = Number.NEGATIVE_INFINITY
  /** Since when changes may be on their way that nobody has told yet. */
  readonly #behind = new Set<{ readonly sinceMs: number }>()
  readonly #held = new HeldNames(
    (...change) => {
      this.#addName(...change)
      this.#pump()
    },
    (folder, scope, sinceMs) => {
      this.#add({ folder, names: [], trees: [], scope, sinceMs })
      this.#pump()
    },
  )
  readonly #otherNames = new OtherNames((sinceMs) => {
    this.#comparisons.ask(sinceMs)
    this.#pump()
  })
  readonly #comparisons: Comparisons
  readonly #onHold = new OnHold((error) => this.#port?.fail(error))
  /** Folders that are in the queue. */
  readonly #inQueue = new Set<string>()
  #feed: ChangeFeed | undefined
  #reason: string | undefined
  #port: ChangesPort | undefined
  #signal = AbortSignal.abort()
  #items = 0
  #isScanned = false
  /** Since when removals wait that are being judged. */
  #judgedSinceMs: number | undefined
  /** Changes are not followed any more, as nobody wants them. */
  #isOff = false
  /** Since when the target was behind when this was closed. */
  #closedMs: number | undefined
  #count = 0
  readonly #id = crypto.randomUUID()

  constructor(options: ChangesOptions) {
    this.#options = options
    this.#feed = options.feed
    this.#reason = options.reason
    this.#comparisons = new Comparisons(options.gapSinceMs)
  }

  /** Begins; resolves when no later change is missed, so that a scan that begins then finds all that is older. */
  async start(port: ChangesPort, signal: AbortSignal): Promise<void> {
    this.#port = port
    this.#signal = signal
    this.#countFirst()
    signal.addEventListener('abort', () => void this.close(), { once: true })
    try {
      const missedNothing = await this.#open()
      if (missedNothing && this.#options.comparesFirst !== true) this.#comparisons.nothingMissed()
    } catch (error) {
      if (!(error instanceof WatchError && error.isLimit)) throw error
      await this.#fallBack(error)
    }
    this.#pump()
  }

  async close(): Promise<void> {
    this.#closedMs ??= this.behindMs
    this.#port = undefined
    this.#held.close()
    this.#otherNames.close()
    this.#onHold.close()
    const feed = this.#feed
    this.#feed = undefined
    await feed?.close()
  }

  /** All that was found by scanning is at the target. True when it is to be compared now, and scanning is not over. */
  async scanned(): Promise<boolean> {
    this.#isScanned = true
    if (this.#renamings.length > 0) return true
    // Of what is held outside of a comparison, as by another try of a failure, the next one decides.
    if (this.#onHold.sinceMs !== undefined && this.#countsFirst && this.#judgedSinceMs === undefined) {
      if (!this.#comparisons.isUnderWay && this.#port !== undefined) {
        this.#comparisons.ask(this.#onHold.sinceMs)
        await this.#compare()
      }
      return true
    }
    const isHeld = (this.#onHold.sinceMs ?? this.#judgedSinceMs) !== undefined
    if (this.#comparisons.isUnderWay || isHeld) return true
    if (this.#comparisons.dueMs !== undefined) {
      await this.#compare()
      return true
    }
    if (this.#options.endsWithScan && this.#feed !== undefined) {
      this.#reason = 'listenAndApplySourceChanges of the target is false'
      this.#isOff = true
      await this.close()
    }
    return false
  }

  /** An item is being worked on. */
  working(item: QueuedItem): void {
    this.#batches.working(item)
  }

  /** An item was made by another. */
  made(parent: number, messageId: string): void {
    this.#batches.made(parent, messageId)
  }

  /** An item is off the queue, with what came of it unless that was known before. */
  done(item: QueuedItem, result: ItemResult | undefined): void {
    const batch = this.#batches.of(item)
    for (const bytes of result?.again ?? []) this.#again(bytes, batch)
    for (const bytes of result?.busy ?? []) this.#busy(bytes, batch)
    if (result?.held !== undefined)
      this.#onHold.add(result.held, batch?.sinceMs ?? monotonicMs(), this.#countsFirst)
    if (result?.hasOtherNames === true) this.#otherNames.written(batch?.sinceMs ?? monotonicMs())
    if (result?.deferral?.reason === 'SOURCE_EMPTY') this.failures.keepAll()
    this.#batches.done(item)
    this.#pump()
    this.#acknowledge()
  }

  /** Whether something is thought to be in the queue. */
  get isWaiting(): boolean {
    return this.#batches.size > 0
  }

  /** How often something was put into the queue so far. */
  get queued(): number {
    return this.#batches.queued
  }

  /** The queue was empty after something was put into it so often; what came later may still be there. */
  emptied(queued: number): void {
    this.#batches.clear(queued)
    this.#acknowledge()
  }

  /** What is in the queue may be lost: everything is to be compared. */
  compare(): void {
    this.#comparisons.ask(this.#batches.oldestMs ?? monotonicMs())
    this.#pump()
  }

  /** What did not arrive. */
  get failures(): KnownFailures {
    return this.#options.failures
  }

  view(): ChangesView {
    const { comparesMs } = this.#otherNames
    const told = this.#feed?.toldUntilMs
    // A comparison finds what nobody has told.
    const toldUntilMs = told && Math.max(told, this.#comparisons.comparedMs ?? told)
    const isToCompare = (this.#comparisons.dueMs ?? this.#otherNames.sinceMs) !== undefined
    return {
      detection: this.#feed?.detection ?? 'off',
      reason: this.#reason,
      lagSeconds: lagSeconds(this.#isOff ? undefined : (this.#closedMs ?? this.#oldestMs)),
      toldUntilMs: toldUntilMs === undefined ? undefined : timeOf(toldUntilMs),
      unscheduled: this.#dirty.changes + this.#held.changes + (isToCompare ? 1 : 0) + this.#renamings.length,
      scheduled: this.#batches.changes,
      writtenTo: this.#oldestMs === undefined ? undefined : this.#held.writtenTo,
      comparesAtMs: comparesMs === undefined ? undefined : timeOf(comparesMs),
    }
  }

  /** Since when the target would be behind if nothing more was done; undefined where changes are not wanted. */
  get behindMs(): number | undefined {
    return this.#isOff ? undefined : (this.#closedMs ?? this.#oldestMs ?? monotonicMs())
  }

  /** Since when something waits, or nobody knows whether something does. */
  get #oldestMs(): number | undefined {
    const { dueMs, knownMs } = this.#comparisons
    // Before the first scan is over, most of the source may not be at the target.
    const isUnknown = this.#feed?.detection === 'comparing' || !this.#isScanned
    const unknownMs = isUnknown && this.#feed !== undefined ? knownMs : undefined
    const found = [this.#waitingMs, dueMs, unknownMs, this.#otherNames.sinceMs]
    const behind = [...this.#behind].map(({ sinceMs }) => sinceMs)
    return oldestOf([...found, ...behind, this.#batches.oldestMs, this.#onHold.sinceMs, this.#judgedSinceMs])
  }

  async #open(): Promise<boolean> {
    const listener = {
      changed: (folders: readonly DirtyFolder[], done?: () => void, renamed: readonly Renamed[] = []) =>
        this.#receive(folders, done, renamed),
      behind: (sinceMs: number) => this.#isBehind(sinceMs),
      ended: (error: Error) => this.#ended(error),
      positions: this.#positions,
    }
    return (await this.#feed?.open(listener, this.#signal)) ?? false
  }

  #isBehind(sinceMs: number): () => void {
    const one = { sinceMs }
    this.#behind.add(one)
    return () => void this.#behind.delete(one)
  }

  get #positions(): FeedPositions {
    const { positions } = this.#options
    const comparisons = this.#comparisons
    return {
      reader: positions.reader,
      get isComplete() {
        return !comparisons.isGapOpen
      },
      recall: (stream) => positions.recall(stream),
      readersOf: (stream) => positions.readersOf(stream),
      keep: (stream, at, readers = comparisons.isGapOpen ? [] : [positions.reader]) =>
        positions.keep(stream, at, readers),
    }
  }

  /** Since when something waits that is not in the queue. */
  get #waitingMs(): number | undefined {
    const renamings = this.#renamings.map(({ sinceMs }) => sinceMs)
    return oldestOf([this.#dirty.oldestMs, this.#held.oldestMs, ...renamings])
  }

  #receive(
    folders: readonly DirtyFolder[],
    done: (() => void) | undefined,
    renamed: readonly Renamed[],
  ): void {
    if (renamed.length === 0) return this.#take(folders, done)
    const toldMs = monotonicMs()
    const sinceMs = oldestOf(folders.map((folder) => folder.sinceMs)) ?? toldMs
    this.#renamings.push({ folders, done, renamed, sinceMs, toldMs })
    if (this.#renamings.length === 1) void this.#rename()
  }

  /** Renames at the target what waits for that; never rejects. */
  async #rename(): Promise<void> {
    for (let first = this.#renamings[0]; first !== undefined; first = this.#renamings[0]) {
      const done = await this.#renamed(first)
      this.#renamings.shift()
      this.#take(afterRenaming(first.folders, done), first.done)
    }
  }

  /** Those that were renamed at the target. */
  async #renamed({ renamed, toldMs }: Renaming): Promise<readonly RenamedThere[]> {
    const signal = this.#signal
    try {
      while (this.#port !== undefined && this.#isScanned && !this.#comparisons.isUnderWay) {
        const done = this.#batches.size === 0 ? await this.#port.rename(renamed) : undefined
        if (done !== undefined) return done
        const nowMs = monotonicMs()
        if (nowMs < this.#renamePauseEndsMs) break
        if (nowMs - toldMs > renameWaitMs) {
          this.#renamePauseEndsMs = nowMs + renamePauseMs
          break
        }
        await delay(renamePollMs, undefined, { signal })
      }
    } catch (err) {
      if (!signal.aborted)
        this.#options.log.debug({ err, migration: this.#options.migration }, 'What was renamed is copied.')
    }
    return []
  }

  #take(folders: readonly DirtyFolder[], done: (() => void) | undefined): void {
    for (const folder of folders) this.#add(folder)
    if (done !== undefined) this.#told.add(folders, done)
    this.#pump()
    this.#acknowledge()
  }

  /** Says of what was told, and is done, that it is. */
  #acknowledge(): void {
    if (this.#told.size === 0 || this.#port === undefined) return
    const found = [this.#waitingMs, this.#otherNames.sinceMs, this.#batches.oldestToldMs]
    this.#told.done(
      oldestOf([...found, this.#onHold.sinceMs, this.#judgedSinceMs]),
      oldestOf([this.#comparisons.dueMs, this.#batches.oldestMs]),
    )
  }

  #add(folder: DirtyFolder): void {
    const { names, trees, sinceMs } = folder
    const isEverything = folder.folder === '' && folder.scope === 'tree'
    if (isEverything) this.#comparisons.ask(sinceMs)
    else if (folder.scope !== 'names') this.#dirty.add({ ...folder, names: [], trees: [] })
    for (const name of names) this.#addName(folder.folder, name, false, sinceMs)
    for (const name of trees) this.#addName(folder.folder, name, true, sinceMs)
  }

  #addName(folder: string, name: string, isTree: boolean, sinceMs: number): void {
    if (!this.#held.keep(folder, name, isTree, sinceMs)) this.#dirty.addName(folder, name, isTree, sinceMs)
  }

  #again(bytes: Uint8Array, batch: Batch | undefined): void {
    const nowMs = monotonicMs()
    for (const { folder, waitMs } of foldersOf(bytes, batch?.sinceMs ?? nowMs)) {
      this.#held.hold(folder, nowMs + Math.max(againMs, waitMs))
      if (folder.scope !== 'names') this.#add({ ...folder, names: [], trees: [] })
    }
  }

  /** Large files stay as they are until all that was made with them is done. */
  #busy(bytes: Uint8Array, batch: Batch | undefined): void {
    if (batch === undefined) return
    for (const { folder } of foldersOf(bytes, batch.sinceMs)) {
      this.#held.hold(folder)
      batch.releases.push(() => this.#held.release(folder))
    }
  }

  #ended(error: Error): void {
    if (error instanceof WatchError && error.isLimit)
      this.#fallBack(error).catch((failure: unknown) => this.#port?.fail(failure))
    else this.#port?.fail(error)
  }

  /** There is no room to watch: comparing misses nothing either, it is only later and costs more. */
  async #fallBack(error: Error): Promise<void> {
    const { fallback, log, migration } = this.#options
    await this.#feed?.close()
    this.#behind.clear()
    if (this.#port === undefined) return
    this.#feed = fallback()
    this.#reason = error.message
    this.#countFirst()
    log.warn(
      { migration, reason: error.message },
      'The source of a live migration cannot be watched; it is compared with the target at intervals.',
    )
    await this.#open()
    this.#comparisons.newsEnded()
    this.#pump()
  }

  /** Puts dirty folders into the queue as long as there is room. */
  #pump(): void {
    if (this.#renamings.length > 0) return
    while (this.#port !== undefined && this.#items < maxInQueue && this.#dirty.size > 0) {
      const taken = this.#dirty.take(together, (folder) => !this.#inQueue.has(folder))
      if (taken.length === 0) break
      // Folders before what is in them.
      const ordered = taken.toSorted((a, b) => a.folder.length - b.folder.length)
      const sinceMs = Math.min(...ordered.map((folder) => folder.sinceMs))
      for (const { folder } of ordered) this.#inQueue.add(folder)
      const portions = [...itemGroups(ordered.map(changedFolder))]
      let left = portions.length
      const release = () => {
        this.#items--
        if (--left > 0) return
        for (const { folder } of ordered) this.#inQueue.delete(folder)
      }
      for (const groups of portions) {
        this.#items++
        const items = reconcileItems(groups, { attempt: 1, notBeforeMs: 0 })
        const batch = { sinceMs, changes: changesIn(groups), releases: [], onFirst: release }
        this.#publish('change', items, batch).catch((error: unknown) => this.#port?.fail(error))
      }
    }
    const isToCompare = this.#comparisons.isToBegin && this.#judgedSinceMs === undefined
    if (this.#isScanned && isToCompare && this.#port !== undefined)
      this.#compare().catch((error: unknown) => this.#port?.fail(error))
  }

  /** Compares everything; what changes meanwhile is told as ever. */
  async #compare(): Promise<void> {
    const sinceMs = this.#comparisons.begin()
    const items = reconcileItems([changedFolder(everything())], { attempt: 1, notBeforeMs: 0 })
    this.failures.compare()
    this.#otherNames.comparing()
    const batch = {
      sinceMs,
      changes: 1,
      releases: [() => this.#compared()],
      onFirst: () => undefined,
      onWorked: (ms: number) => this.#otherNames.worked(ms),
      isComparison: true,
    }
    await this.#publish('region', items, batch)
  }

  /** What is only found by comparing is counted before it is removed; what was told is not. */
  #countFirst(): void {
    if (this.#feed?.detection === 'comparing') this.#options.countedFirst?.begin()
  }

  get #countsFirst(): boolean {
    return this.#options.countedFirst?.isOn() ?? false
  }

  /** What the comparison would have removed is counted by now: the next one removes it, or the migration stops. */
  async #judgeCounted(): Promise<void> {
    const { countedFirst } = this.#options
    if (this.#feed?.detection !== 'comparing') return
    countedFirst?.end()
    const taken = this.#countsFirst ? this.#onHold.take() : undefined
    if (taken === undefined) return
    this.#judgedSinceMs = taken.sinceMs
    try {
      if ((await countedFirst?.allows(entriesIn(taken.held), this.#signal)) === true)
        this.#comparisons.ask(taken.sinceMs)
      else this.#port?.fail(new RemovalsHeld(taken.held))
    } finally {
      this.#judgedSinceMs = undefined
    }
    this.#pump()
  }

  #compared(): void {
    const { failures, log, migration } = this.#options
    this.#comparisons.end()
    this.#judgeCounted().catch((error: unknown) => this.#port?.fail(error))
    this.#otherNames.compared()
    this.#acknowledge()
    failures.compared().catch((err: unknown) => {
      log.debug({ err, migration }, 'Failures that are mended stay until the next comparison.')
    })
  }

  /**
   * The ids must be new: the queue takes items with one that it has seen before for the same. All of them are known before the
   * first is in the queue, which may be done before the next one is.
   */
  async #publish(lane: 'change' | 'region', items: readonly Uint8Array[], batch: Batch): Promise<void> {
    const made = items.map((item) => ({ item, messageId: `change-${this.#id}.${this.#count++}` }))
    for (const { messageId } of made) this.#batches.begin(messageId, batch)
    for (const { item, messageId } of made) {
      await this.#port?.publish(lane, item, messageId)
      this.#batches.isQueued(messageId)
    }
  }
}
