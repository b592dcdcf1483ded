import { hash } from 'node:crypto'
import { momentOf, monotonicMs } from '../../../broker/common/monotonic.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import { StoreError, storeError } from '../contract/store-error.ts'
import { type DirtyFolder, everythingSince, type Renamed } from '../feeds/dirty-folders.ts'
import { type ChangeFeed, type FeedListener, outageMs, WatchError } from '../feeds/feed.ts'
import { LongAnswer } from '../http/answer-reader.ts'
import {
  againIn,
  type Difference,
  foldersOf,
  isRefused,
  mayComeAgain,
  renamedIn,
  type Snapshots,
} from './snapshots.ts'

/** Differences that are told and not done, at most: each keeps a snapshot, and a folder has few. */
const maxUndone = 3

/** With so many further snapshots paths are told again that may have been seen as they were in none (`againIn`). */
const againRounds = 2

export interface SnapshotFeedOptions {
  readonly snapshots: Snapshots
  /** Cluster and folder, for the name of the stream. */
  readonly place: string
  /** Path of the folder whose changes count, below that of the snapshots, as latin1. */
  readonly below: string
  readonly periodMs: number
  /** In words. */
  readonly reason: string
  readonly close: () => Promise<void>
}

interface Base {
  readonly name: string
  /** When it was made (`monotonicMs`). */
  readonly madeMs: number
}

/** What differs between two snapshots. */
interface Found {
  readonly folders: readonly DirtyFolder[]
  readonly renamed: readonly Renamed[]
  readonly differences: readonly Difference[]
}

interface Undone {
  readonly base: Base
  readonly next: Base
  isDone: boolean
}

/**
 * Is told of changes by the differences between snapshots that it makes one after the other. The older one of two goes when
 * all that they differ in is done.
 */
export class SnapshotFeed implements ChangeFeed {
  readonly detection = 'snapshots'
  readonly reason: string
  readonly #options: SnapshotFeedOptions
  readonly #undone: Undone[] = []
  #again: { readonly differences: readonly Difference[]; readonly rounds: number }[] = []
  #listener: FeedListener | undefined
  #stream = ''
  #prefix = ''
  #count = 0
  /** The youngest snapshot whose changes are told. */
  #base: Base | undefined
  /** The one from which a later feed goes on, as far as it is stored. */
  #kept: string | undefined
  #settling: Promise<void> = Promise.resolve()
  #awaySinceMs: number | undefined
  #isLooking = false
  #task: Task | undefined

  constructor(options: SnapshotFeedOptions) {
    this.#options = options
    this.reason = options.reason
  }

  async open(listener: FeedListener, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    const { snapshots, place, periodMs } = this.#options
    const { positions } = listener
    this.#listener = listener
    this.#stream = `${place} ${positions.reader}`
    this.#prefix = `gantry-${hash('sha256', this.#stream).slice(0, 16)}-`
    try {
      const recalled = await positions.recall(this.#stream)
      const own = (await snapshots.names()).filter((name) => name.startsWith(this.#prefix))
      const isThere = recalled !== undefined && own.includes(recalled)
      // The others are of a process that was killed.
      for (const name of own) if (name !== recalled) await snapshots.remove(name)
      this.#base = isThere ? { name: recalled, madeMs: madeMsOf(recalled) } : await this.#make()
      this.#kept = isThere ? recalled : undefined
      await this.#keep()
      signal.throwIfAborted()
      this.#task = every('migrations.snapshots', () => this.#look(), periodMs)
      if (isThere) void this.#look()
      return isThere
    } catch (error) {
      await this.close()
      signal.throwIfAborted()
      throw endOf(error)
    }
  }

  async close(): Promise<void> {
    this.#task?.stop()
    this.#listener = undefined
    await this.#settling.catch(() => undefined)
    await this.#options.close()
  }

  async #make(): Promise<Base> {
    const base = { name: `${this.#prefix}${Date.now()}-${this.#count++}`, madeMs: monotonicMs() }
    await this.#options.snapshots.create(base.name)
    return base
  }

  /** Tells what has changed since the last look. */
  async #look(): Promise<void> {
    const base = this.#base
    const isFull = this.#undone.length >= maxUndone
    if (base === undefined || this.#listener === undefined || isFull || this.#isLooking) return
    this.#isLooking = true
    try {
      const next = await this.#make()
      const found = await this.#differences(base, next)
      this.#awaySinceMs = undefined
      const { below } = this.#options
      const again = this.#again.flatMap(({ differences }) => againIn(differences, below, base.madeMs))
      if (found.folders.length + again.length === 0) await this.#options.snapshots.remove(next.name)
      else this.#tell({ base, next, isDone: false }, found, again)
      await this.#keep()
    } catch (error) {
      this.#failed(error)
    } finally {
      this.#isLooking = false
    }
  }

  /** Everything, where the differences cannot be told, as when somebody has removed a snapshot. */
  async #differences(base: Base, next: Base): Promise<Found> {
    try {
      const found = await this.#options.snapshots.differences(base.name, next.name)
      const { below } = this.#options
      return {
        folders: foldersOf(found, below, base.madeMs),
        renamed: renamedIn(found, below),
        differences: found,
      }
    } catch (error) {
      if (!isRefused(error) && !isTooLong(error)) throw error
      return { folders: [everythingSince(base.madeMs)], renamed: [], differences: [] }
    }
  }

  #tell(undone: Undone, { folders, renamed, differences }: Found, again: readonly DirtyFolder[]): void {
    this.#again = [
      ...this.#again.map((one) => ({ ...one, rounds: one.rounds - 1 })).filter(({ rounds }) => rounds > 0),
      ...(mayComeAgain(differences) ? [{ differences, rounds: againRounds }] : []),
    ]
    this.#base = undone.next
    this.#undone.push(undone)
    const done = () => {
      undone.isDone = true
      this.#settling = this.#settling
        .then(() => this.#settle())
        .catch((error: unknown) => this.#failed(error))
    }
    this.#listener?.changed([...folders, ...again], done, renamed)
  }

  /** What is done from the oldest on needs its snapshot no longer, once it is stored that a later one is gone on from. */
  async #settle(): Promise<void> {
    while (this.#undone[0]?.isDone === true) {
      const done = this.#undone.shift()
      await this.#keep()
      if (done !== undefined) await this.#options.snapshots.remove(done.base.name)
    }
  }

  async #keep(): Promise<void> {
    const positions = this.#listener?.positions
    const name = (this.#undone[0]?.base ?? this.#base)?.name
    if (positions?.isComplete !== true || name === undefined || name === this.#kept) return
    await positions.keep(this.#stream, name)
    this.#kept = name
  }

  #failed(error: unknown): void {
    this.#awaySinceMs ??= monotonicMs()
    const end = endOf(error)
    if (!(end instanceof WatchError) && monotonicMs() - this.#awaySinceMs < outageMs) return
    const listener = this.#listener
    this.#listener = undefined
    this.#task?.stop()
    listener?.ended(end)
  }
}

/** Its name says when one was made, in milliseconds since 1970. */
function madeMsOf(name: string): number {
  const timeMs = Number(/-(\d+)-\d+$/.exec(name)?.[1])
  return Number.isNaN(timeMs) ? monotonicMs() : Math.min(momentOf(timeMs), monotonicMs())
}

/** Where there can be no snapshots, everything is compared from time to time instead. */
const endOf = (error: unknown): Error =>
  isRefused(error) ? new WatchError(error.message, true, { cause: error }) : storeError(error)

/** More has changed than is told in an answer that is read. */
const isTooLong = (error: unknown): boolean =>
  error instanceof StoreError && error.cause instanceof LongAnswer
