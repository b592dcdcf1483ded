import { hash } from 'node:crypto'
import { momentOf, monotonicMs } from '../../../broker/common/monotonic.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import { StoreError, storeError } from '../contract/store-error.ts'
import { type DirtyFolder, everythingSince, type Renamed } from '../feeds/dirty-folders.ts'
import { type ChangeFeed, type FeedListener, maxPositionText, outageMs, WatchError } from '../feeds/feed.ts'
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

/** With so many further snapshots paths are told again, with what is below them, that may have been seen as they were in none. */
const againRounds = 2
/** Paths whose names are told again until nothing has changed meanwhile, at most: the oldest go first. */
const maxKept = 1_000

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
 * Paths that are looked at again, as somebody may have seen what was there between two snapshots only (`againIn`). A look tells
 * what it found once it is done: only a snapshot that was made later shows whether anything has changed around it.
 */
interface Again {
  readonly differences: readonly Difference[]
  /** How often they are still told with what is below them. */
  readonly rounds: number
  /** What they were told with last. */
  readonly told: Pick<Undone, 'isDone'>
}

/** What is kept of a feed, so that a later one goes on from there. */
interface Position {
  /** Name of the snapshot. */
  readonly snapshot: string
  /** What is still to be looked at again. */
  readonly again: readonly Difference[]
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
  #again: readonly Again[] = []
  #listener: FeedListener | undefined
  #stream = ''
  #prefix = ''
  #count = 0
  /** When the last snapshot was made whose differences were told, be there none (`monotonicMs`). */
  #toldUntilMs: number | undefined
  /** The youngest snapshot whose changes are told. */
  #base: Base | undefined
  /** From where a later feed goes on, as far as it is stored (`positionText`). */
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
      const text = await positions.recall(this.#stream)
      const own = (await snapshots.names()).filter((name) => name.startsWith(this.#prefix))
      const recalled = positionIn(text)
      const isThere = recalled !== undefined && own.includes(recalled.snapshot)
      // The others are of a process that was killed.
      for (const name of own) if (name !== recalled?.snapshot) await snapshots.remove(name)
      this.#base = isThere
        ? { name: recalled.snapshot, madeMs: madeMsOf(recalled.snapshot) }
        : await this.#make()
      this.#kept = isThere ? text : undefined
      if (isThere && recalled.again.length > 0)
        this.#again = [{ differences: recalled.again, rounds: againRounds, told: { isDone: true } }]
      this.#toldUntilMs = this.#base.madeMs
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

  get toldUntilMs(): number | undefined {
    return this.#toldUntilMs
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
      // Those that were looked at before it is made.
      const seen = this.#again.filter(({ told }) => told.isDone)
      const next = await this.#make()
      const found = await this.#differences(base, next)
      this.#awaySinceMs = undefined
      const { below } = this.#options
      const isQuiet = found.folders.length === 0
      const due = seen.filter(({ rounds }) => rounds > 0 || !isQuiet)
      const again = due.flatMap(({ differences, rounds }) =>
        againIn(differences, below, base.madeMs, rounds > 0),
      )
      const pending = this.#again.filter((one) => !seen.includes(one))
      if (isQuiet && again.length === 0) {
        this.#again = pending
        await this.#options.snapshots.remove(next.name)
        await this.#keep()
      } else await this.#tell({ base, next, isDone: false }, found, { folders: again, due, pending })
      this.#toldUntilMs = next.madeMs
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

  /** What is to be looked at again is stored before anybody looks: a look may be over when this process is killed. */
  async #tell(
    undone: Undone,
    { folders, renamed, differences }: Found,
    again: {
      readonly folders: readonly DirtyFolder[]
      readonly due: readonly Again[]
      readonly pending: readonly Again[]
    },
  ): Promise<void> {
    const before = { again: this.#again, base: this.#base }
    this.#again = withinBound([
      ...again.pending,
      ...again.due.map(({ differences: its, rounds }) => ({
        differences: its,
        rounds: Math.max(0, rounds - 1),
        told: undone,
      })),
      ...(mayComeAgain(differences) ? [{ differences, rounds: againRounds, told: undone }] : []),
    ])
    this.#base = undone.next
    this.#undone.push(undone)
    try {
      await this.#keep()
    } catch (error) {
      this.#again = before.again
      this.#base = before.base
      this.#undone.splice(this.#undone.indexOf(undone), 1)
      await this.#options.snapshots.remove(undone.next.name)
      throw error
    }
    const done = () => {
      undone.isDone = true
      this.#settling = this.#settling
        .then(() => this.#settle())
        .catch((error: unknown) => this.#failed(error))
    }
    this.#listener?.changed([...folders, ...again.folders], done, renamed)
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
    const snapshot = (this.#undone[0]?.base ?? this.#base)?.name
    if (positions?.isComplete !== true || snapshot === undefined) return
    const text = positionText({ snapshot, again: this.#again.flatMap(({ differences }) => differences) })
    if (text === this.#kept) return
    await positions.keep(this.#stream, text)
    this.#kept = text
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

/** Without the oldest of those that were told often enough, where all have too many paths. */
function withinBound(all: readonly Again[]): readonly Again[] {
  let paths = all.reduce((sum, { differences }) => sum + differences.length, 0)
  return all.filter(({ rounds, differences }) => {
    if (paths <= maxKept || rounds > 0) return true
    paths -= differences.length
    return false
  })
}

/** As text; where there are too many paths, one from which nobody goes on, so that a later feed has everything compared. */
function positionText({ snapshot, again }: Position): string {
  const unique = new Map(again.map((one) => [JSON.stringify(one), one]))
  const text = JSON.stringify({ snapshot, again: [...unique.values()] } satisfies Position)
  return text.length <= maxPositionText ? text : ''
}

/** What `positionText` made; undefined for nothing, and for what an older release kept (the name alone). */
function positionIn(text: string | undefined): Position | undefined {
  if (text?.startsWith('{') !== true) return undefined
  return JSON.parse(text) as Position
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
