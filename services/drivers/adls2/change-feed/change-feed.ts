import { monotonicMs } from '../../../../broker/common/monotonic.ts'
import { every, type Task } from '../../../../broker/tasks/tasks.ts'
import { everythingSince } from '../../feeds/dirty-folders.ts'
import { endOf } from '../../notifications/endings.ts'
import { type ChangeFeed, type FeedListener, outageMs, WatchError } from '../../feeds/feed.ts'
import { changesIn, seenAt } from '../../notifications/changed-objects.ts'
import { misreadMs, type Notice } from '../../notifications/message-queue.ts'
import { noticesOfRecord } from '../events.ts'
import { type AvroHeader, blockIn, headerIn, maxHeaderBytes, valuesIn } from './avro-file.ts'
import { AvroError } from './avro-values.ts'
import { type ChangeLog, type Chunk, firstSegment, Missed, segmentAt, timeOfSegment } from './change-log.ts'
import { type Place, type Position, positionIn, positionText } from './position.ts'

/** Azure adds events some minutes after the changes: to look more often costs requests, and gains little. */
const usualPeriodMs = 30_000
/** Of a file, with one request: some two thousand events. */
const pieceBytes = 1024 * 1024
/** Events that are told and not done, at most: what is read further waits in the feed. */
const maxUndone = 20_000
/** A segment that is not finalized may be so much older than one that is consumable; Azure's documents have six hours. */
const openMs = 24 * 3_600_000
/** The service keeps events for a day at least, whatever its owner says. */
const keepsMs = 23 * 3_600_000
/** A position is kept no more often, where nothing but time went on. */
const grainMs = 60_000
/** Azure's documents have the events of a change in the feed within a few minutes. */
const deliveryMs = 600_000
/** Machines of the service differ in their clocks by less. */
const clockSlackMs = 300_000

export interface BlobChangeFeedOptions {
  readonly log: ChangeLog
  /** Container whose changes count. */
  readonly container: string
  /** Path of the folder whose changes count, as latin1. */
  readonly root: string
  /** How often it is looked at; undefined for as often as usual. */
  readonly periodMs?: number | undefined
}

/** The events of one shard: told up to a place, and done up to another. */
class Shard {
  /** The next block that is read. Where an offset is 0 the header of the file comes first. */
  next: Place
  /** Of the file of `next`, once that is read. */
  header: AvroHeader | undefined
  /** Where what is told and not done begins, in its order. */
  readonly undone = new Set<{ readonly from: Place }>()

  constructor(next: Place = { chunk: 0, offset: 0 }) {
    this.next = next
  }

  get doneTo(): Place {
    return this.undone.values().next().value?.from ?? this.next
  }
}

class SegmentState {
  readonly shards: Map<string, Shard>
  /** Nothing comes any more. */
  isRead = false

  constructor(places: Readonly<Record<string, Place>> = {}) {
    this.shards = new Map(Object.entries(places).map(([name, place]) => [name, new Shard(place)]))
  }

  get isDone(): boolean {
    return this.isRead && this.shards.values().every(({ undone }) => undone.size === 0)
  }
}

/**
 * Is told of changes by the change feed of an account, which each migration reads for itself, from the position up to which all
 * was done.
 */
export class BlobChangeFeed implements ChangeFeed {
  readonly detection = 'notified'
  readonly reason: string
  readonly #options: BlobChangeFeedOptions
  readonly #log: ChangeLog
  readonly #end = new AbortController()
  #listener: FeedListener | undefined
  #stream = ''
  #identity = ''
  /** Up to this segment all are there; '' where none is known to be. */
  #consumable = ''
  /** All up to this segment is done. */
  #after = firstSegment
  /** Those after it that were looked at. */
  #segments = new Map<string, SegmentState>()
  /** All that was there at this time was read; see `Position`. */
  #readMs = 0
  /** What was changed before then is no news. */
  #fromMs = Number.NEGATIVE_INFINITY
  #undone = 0
  /** There was no room for all that there is. */
  #isFull = false
  #caughtUp: (() => void) | undefined
  /** Something was missing, and not all was read since. */
  #hasMissed = false
  /** Since when something may be missing for which everything is to be compared. */
  #missingSinceMs: number | undefined
  #comparedMs = Number.NEGATIVE_INFINITY
  /** Comparisons for that which are not done. */
  #comparisons = 0
  #kept: string | undefined
  #awaySinceMs: number | undefined
  #looking: Promise<void> | undefined
  #task: Task | undefined

  constructor(options: BlobChangeFeedOptions) {
    this.#options = options
    this.#log = options.log
    this.reason = `${options.log.name}, which has changes some minutes after they were made`
  }

  get toldUntilMs(): number {
    return seenAt(this.#readMs) - deliveryMs
  }

  async open(listener: FeedListener, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    const { positions } = listener
    const either = AbortSignal.any([signal, this.#end.signal])
    this.#stream = `${this.#log.name} ${this.#options.container} ${positions.reader}`
    try {
      this.#identity = await this.#log.identity(either)
      const position = positionIn(await positions.recall(this.#stream))
      const missedNothing = position !== undefined && (await this.#isWhole(position, either))
      if (missedNothing) {
        this.#goOn(position)
        this.#caughtUp = listener.behind?.(seenAt(position.readMs))
      } else await this.#begin(either)
      signal.throwIfAborted()
      this.#listener = listener
      await this.#keep()
      this.#task = every(
        'migrations.change-feed',
        () => this.#look(),
        this.#options.periodMs ?? usualPeriodMs,
      )
      void this.#look()
      return missedNothing
    } catch (error) {
      await this.close()
      signal.throwIfAborted()
      throw this.#endOf(error)
    }
  }

  async close(): Promise<void> {
    this.#task?.stop()
    this.#end.abort(new Error('the change feed is not followed any more'))
    await this.#looking
    await this.#keep().catch(() => undefined)
    this.#listener = undefined
    this.#log.close()
  }

  /** Whether all is there that comes after a position. */
  async #isWhole({ feed, readMs, after, segments }: Position, signal: AbortSignal): Promise<boolean> {
    if (feed !== this.#identity) return false
    const names = Object.keys(segments)
    // What is older than a segment that is there goes before it.
    if (this.#log.nowMs - readMs > keepsMs) {
      if (after === firstSegment) return false
      names.push(after)
    }
    for (const name of names) if ((await this.#log.segment(name, signal)) === undefined) return false
    return true
  }

  #goOn({ after, segments, readMs }: Position): void {
    this.#after = after
    this.#readMs = readMs
    this.#segments = new Map(
      Object.entries(segments).map(([name, places]) => [name, new SegmentState(places)]),
    )
  }

  /** Begins now: what is told are changes from some minutes ago on. */
  async #begin(signal: AbortSignal): Promise<void> {
    this.#identity = await this.#log.identity(signal)
    const consumable = await this.#log.consumable(signal)
    this.#readMs = this.#log.nowMs
    this.#fromMs = this.#readMs - clockSlackMs
    this.#segments = new Map()
    this.#after = consumable === undefined ? firstSegment : segmentAt(timeOfSegment(consumable) - openMs)
    for (const name of await this.#log.segments(this.#after, signal)) {
      if (consumable === undefined || name > consumable) break
      if ((await this.#log.segment(name, signal))?.isFinalized !== true) break
      this.#after = name
    }
  }

  /** One at a time. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined
      this.#lookFurther()
    })
    return this.#looking
  }

  /** What had no room is read as soon as there is some. */
  #lookFurther(): void {
    if (this.#isFull && this.#undone <= maxUndone / 2 && !this.#end.signal.aborted) void this.#look()
  }

  async #lookOnce(): Promise<void> {
    const { signal } = this.#end
    if (this.#listener === undefined) return
    try {
      try {
        await this.#readAll(signal)
      } catch (error) {
        // Where it misses something again at once, it would for ever.
        if (!(error instanceof Missed) || this.#hasMissed) throw error
        this.#isMissing(seenAt(this.#readMs))
        await this.#begin(signal)
        this.#hasMissed = true
      }
      this.#awaySinceMs = undefined
      this.#compareMissing()
      await this.#keep()
    } catch (error) {
      if (!signal.aborted) this.#failed(error)
    }
  }

  /** Reads all that there is, as far as there is room. Throws Missed. */
  async #readAll(signal: AbortSignal): Promise<void> {
    this.#isFull = false
    const nowMs = this.#log.nowMs
    if (nowMs - this.#readMs > keepsMs && !(await this.#isWhole(this.#position, signal)))
      throw new Missed('nobody looked for too long')
    if ((await this.#log.identity(signal)) !== this.#identity) throw new Missed('it was enabled anew')
    this.#consumable = (await this.#log.consumable(signal)) ?? ''
    const names = await this.#log.segments(this.#after, signal)
    for (const name of names) {
      const state = this.#segments.get(name) ?? new SegmentState()
      this.#segments.set(name, state)
      if (state.isRead) continue
      const segment = await this.#log.segment(name, signal)
      if (segment === undefined) throw new Missed(`segment ${name} has gone`)
      for (const shard of segment.shards) {
        const known = state.shards.get(shard) ?? new Shard()
        state.shards.set(shard, known)
        await this.#readShard(known, { name: shard, isFinal: segment.isFinalized }, signal)
        if (this.#isFull) return
      }
      if (state.shards.size > new Set(segment.shards).size) throw new Missed(`a shard of ${name} has gone`)
      state.isRead = segment.isFinalized
    }
    for (const [name, { isRead }] of this.#segments)
      if (!isRead && !names.includes(name)) throw new Missed(`segment ${name} has gone`)
    this.#readMs = nowMs
    this.#hasMissed = false
    this.#caughtUp?.()
    this.#caughtUp = undefined
  }

  async #readShard(
    shard: Shard,
    { name, isFinal }: { readonly name: string; readonly isFinal: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const chunks = await this.#log.chunks(name, signal)
    while (chunks.size > 0 || shard.next.chunk > 0 || shard.next.offset > 0) {
      const { chunk: number } = shard.next
      const chunk = chunks.get(number)
      if (chunk === undefined) throw new Missed(`a file of ${name} has gone`)
      const isLast = !chunks.has(number + 1)
      // It may have grown until the next one was begun.
      const sizeBytes = isLast ? chunk.sizeBytes : ((await this.#log.sizeOf(chunk)) ?? 0)
      if (sizeBytes < shard.next.offset) throw new Missed(`${chunk.blob} has become shorter`)
      await this.#readChunk(shard, { ...chunk, sizeBytes }, signal)
      if (this.#isFull) return
      if (shard.next.offset < sizeBytes && (isFinal || !isLast))
        throw this.#log.notUnderstood(`${chunk.blob} ends in the middle of a block`)
      if (isLast) return
      shard.next = { chunk: number + 1, offset: 0 }
      shard.header = undefined
    }
  }

  /** Reads the blocks of a file that are there as a whole. */
  async #readChunk(shard: Shard, chunk: Chunk, signal: AbortSignal): Promise<void> {
    const { sizeBytes } = chunk
    try {
      shard.header ??= await this.#headerOf(shard.next, chunk, signal)
      if (shard.header === undefined) return
      if (shard.next.offset === 0) shard.next = { ...shard.next, offset: shard.header.endBytes }
      for (let wanted = pieceBytes; shard.next.offset < sizeBytes;) {
        if (this.#undone >= maxUndone) {
          this.#isFull = true
          return
        }
        const left = sizeBytes - shard.next.offset
        const piece = await this.#log.read(chunk, shard.next.offset, Math.min(wanted, left), signal)
        const { bytes, needsBytes } = await this.#tellPiece(shard, shard.header, piece)
        if (bytes === 0 && needsBytes > left) return
        wanted = bytes === 0 ? needsBytes : pieceBytes
      }
    } catch (error) {
      if (error instanceof AvroError) throw this.#log.notUnderstood(`${chunk.blob}: ${error.message}`, error)
      throw error
    }
  }

  /** Undefined as long as it is not there as a whole. Throws Missed where another file stands there than was read before. */
  async #headerOf({ offset }: Place, chunk: Chunk, signal: AbortSignal): Promise<AvroHeader | undefined> {
    const { sizeBytes } = chunk
    if (sizeBytes === 0) return undefined
    const header = headerIn(await this.#log.read(chunk, 0, Math.min(sizeBytes, maxHeaderBytes), signal))
    if (offset === 0 || header === undefined) return header
    const { sync } = header
    const isEnd =
      offset >= header.endBytes &&
      (await this.#log.read(chunk, offset - sync.length, sync.length, signal)).equals(sync)
    if (!isEnd) throw new Missed(`${chunk.blob} is another file`)
    return header
  }

  /**
   * Tells what the blocks at the beginning of a piece say that are there as a whole.
   * @returns how long those are, and how many bytes it takes to have the next one
   */
  async #tellPiece(shard: Shard, header: AvroHeader, piece: Buffer) {
    const notices: Notice[] = []
    let at = 0
    for (;;) {
      const block = blockIn(piece, at, header)
      if ('needsBytes' in block) {
        this.#tell(shard, at, notices)
        return { bytes: at, needsBytes: block.needsBytes }
      }
      for (const record of await valuesIn(block, header)) {
        const said = noticesOfRecord(record)
        if (said === undefined) this.#isMissing(monotonicMs())
        else notices.push(...said.filter(({ timeMs }) => timeMs >= this.#fromMs))
      }
      at = block.end
    }
  }

  #tell(shard: Shard, bytes: number, notices: readonly Notice[]): void {
    const from = shard.next
    shard.next = { ...from, offset: from.offset + bytes }
    const { container: bucket, root } = this.#options
    const folders = changesIn(notices, { bucket, root })
    if (folders.length === 0) return
    const undone = { from }
    shard.undone.add(undone)
    this.#undone += notices.length
    this.#listener?.changed(folders, () => {
      if (!shard.undone.delete(undone)) return
      this.#undone -= notices.length
      this.#lookFurther()
    })
  }

  #isMissing(sinceMs: number): void {
    this.#missingSinceMs ??= sinceMs
  }

  /** Tells that everything may have changed, but not all the time. */
  #compareMissing(): void {
    const sinceMs = this.#missingSinceMs
    if (sinceMs === undefined || monotonicMs() - this.#comparedMs < misreadMs) return
    this.#missingSinceMs = undefined
    this.#comparedMs = monotonicMs()
    this.#comparisons++
    this.#listener?.changed([everythingSince(sinceMs)], () => void this.#comparisons--)
  }

  get #position(): Position {
    const segments = [...this.#segments].map(([name, { shards }]) => {
      const places = [...shards].map(([shard, { doneTo }]) => [shard, doneTo] as const)
      return [name, Object.fromEntries(places)] as const
    })
    return {
      feed: this.#identity,
      readMs: Math.floor(this.#readMs / grainMs) * grainMs,
      after: this.#after,
      segments: Object.fromEntries(segments),
    }
  }

  /** Not while something may be missing: who goes on from there would not know. */
  async #keep(): Promise<void> {
    const positions = this.#listener?.positions
    this.#settle()
    const text = positionText(this.#position)
    const mayKeep = this.#missingSinceMs === undefined && this.#comparisons === 0
    if (positions?.isComplete !== true || !mayKeep || text === undefined || text === this.#kept) return
    await positions.keep(this.#stream, text)
    this.#kept = text
  }

  /** Segments that are done from the first one on need no places any more. */
  #settle(): void {
    const names = [...this.#segments.keys()].toSorted()
    for (const name of names) {
      // Others may come before one that is not consumable.
      if (name > this.#consumable || this.#segments.get(name)?.isDone !== true) return
      this.#segments.delete(name)
      this.#after = name
    }
  }

  #failed(error: unknown): void {
    this.#awaySinceMs ??= monotonicMs()
    const end = this.#endOf(error)
    if (!(end instanceof WatchError) && monotonicMs() - this.#awaySinceMs < outageMs) return
    const listener = this.#listener
    this.#listener = undefined
    this.#task?.stop()
    listener?.ended(end)
  }

  #endOf(error: unknown): Error {
    return error instanceof Missed ? this.#log.notUnderstood(error.message, error) : endOf(error)
  }
}
