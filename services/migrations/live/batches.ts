import { monotonicMs } from '../../../broker/common/monotonic.ts'

const oldestOf = (times: Iterable<number>): number | undefined =>
  Iterator.from(times).reduce((oldest: number | undefined, time) => Math.min(oldest ?? time, time), undefined)

/** What the queue tells of an item. */
interface QueuedItem {
  readonly sequence: number
  readonly messageId: string
}

/** Items of the queue that came of one piece of news, directly or because others of them made them. */
export interface Batch {
  /** When the oldest change of it was seen (`monotonicMs`). */
  readonly sinceMs: number
  /** Changes that it stands for. */
  readonly changes: number
  /** Called when the item that was put into the queue first is done. */
  readonly onFirst: () => void
  /** Called when all items of it are done. */
  readonly releases: (() => void)[]
  /** Called with how long an item of it was worked on, when that is done. */
  readonly onWorked?: (ms: number) => void
  /** Whether everything is compared by it: nobody told of what it finds. */
  readonly isComparison?: boolean
}

interface OpenBatch {
  readonly batch: Batch
  readonly first: string
  /** Message ids of items that are not done. */
  readonly open: Set<string>
  /** Sequences of its items, and when the last work on each began (`monotonicMs`). */
  readonly begun: Map<number, number>
  /** How many batches were in the queue when its first item was; undefined as long as nobody knows that it is there. */
  queued?: number
}

/** Knows which changes are in the queue, until nothing is left of them. */
export class Batches {
  readonly #byId = new Map<string, OpenBatch>()
  readonly #bySequence = new Map<number, OpenBatch>()
  readonly #open = new Set<OpenBatch>()
  #queued = 0

  /** Batches that were put into the queue so far. */
  get queued(): number {
    return this.#queued
  }

  get size(): number {
    return this.#open.size
  }

  /** Changes that they stand for. */
  get changes(): number {
    return this.#open.values().reduce((sum, { batch }) => sum + batch.changes, 0)
  }

  /** When the oldest change was seen; undefined without any. */
  get oldestMs(): number | undefined {
    return oldestOf(this.#open.values().map(({ batch }) => batch.sinceMs))
  }

  /** The same of what was told, not found by comparing everything. */
  get oldestToldMs(): number | undefined {
    const told = this.#open.values().filter(({ batch }) => batch.isComparison !== true)
    return oldestOf(told.map(({ batch }) => batch.sinceMs))
  }

  /** An item goes into the queue that begins a batch. */
  begin(messageId: string, batch: Batch): void {
    const begun: OpenBatch = { batch, first: messageId, open: new Set([messageId]), begun: new Map() }
    this.#byId.set(messageId, begun)
    this.#open.add(begun)
  }

  /** The queue has the item that begins a batch. */
  isQueued(messageId: string): void {
    this.#queued += 1
    const begun = this.#byId.get(messageId)
    if (begun?.first === messageId) begun.queued = this.#queued
  }

  /** An item is being worked on: what it makes belongs to its batch. */
  working({ sequence, messageId }: QueuedItem): void {
    const known = this.#byId.get(messageId)
    if (known === undefined) return
    known.begun.set(sequence, monotonicMs())
    this.#bySequence.set(sequence, known)
  }

  /** That of an item; undefined where it has none. */
  of({ messageId }: QueuedItem): Batch | undefined {
    return this.#byId.get(messageId)?.batch
  }

  /** An item was made by another. */
  made(parent: number, messageId: string): void {
    const known = this.#bySequence.get(parent)
    if (known === undefined) return
    known.open.add(messageId)
    this.#byId.set(messageId, known)
  }

  /** An item is off the queue. */
  done({ sequence, messageId }: QueuedItem): void {
    const known = this.#byId.get(messageId)
    if (known === undefined) return
    this.#byId.delete(messageId)
    known.open.delete(messageId)
    const begunMs = known.begun.get(sequence)
    if (begunMs !== undefined) known.batch.onWorked?.(monotonicMs() - begunMs)
    if (messageId === known.first) known.batch.onFirst()
    if (known.open.size === 0) this.#end(known)
  }

  /**
   * The queue was empty when so many batches had been put into it: items that were made twice were dropped by it, and nobody
   * says of those that they are done. An answer about the queue says nothing of batches that were on their way meanwhile.
   */
  clear(queued: number): void {
    for (const known of this.#open) {
      if (known.queued === undefined || known.queued > queued) continue
      if (known.open.has(known.first)) known.batch.onFirst()
      this.#end(known)
    }
  }

  #end(known: OpenBatch): void {
    for (const id of known.open) this.#byId.delete(id)
    for (const sequence of known.begun.keys()) this.#bySequence.delete(sequence)
    this.#open.delete(known)
    for (const release of known.batch.releases) release()
  }
}
