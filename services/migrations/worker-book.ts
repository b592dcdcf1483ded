import type { Book, Bookkeeper } from './books.ts'
import { add, type Counts, noCounts, subtract } from './engine/run/counts.ts'

/** Adds what an item brought to figures that are kept in memory. */
export type CountListener = (counts: Readonly<Counts>) => void

/** What the book needs to know of an item. */
export interface CountedItem {
  /** Unique in its queue. */
  readonly sequence: number
  /** Id that it was published with: the sequence of the item that made it, a dot, and what tells it from its siblings. */
  readonly messageId: string
  readonly redelivered: boolean
}

export interface WorkerBookOptions {
  readonly keeper: Bookkeeper
  /** What others have stored by now. */
  readonly others?: readonly Pick<Book, 'counted' | 'early'>[]
  /** Whether the keeper is asked about every item: who is elsewhere does not know what the broker may have forgotten. */
  readonly asksAlways?: boolean
  /** The highest sequence that was given to an item that was published here; default: none was. */
  readonly published?: () => number
  /** Whether an item is still in the queue. */
  readonly isOpen: (sequence: number) => Promise<boolean>
  readonly onCount: CountListener
}

/**
 * Early items that are remembered: of a folder of 2.5 million files, all. Each takes some 30 bytes of a record that is
 * written with every group of items while such a folder is being listed, and of those beyond it some may be counted twice
 * if the process dies meanwhile.
 */
const maxEarly = 10_000
/** Items known to be done, so that the queue is not asked for each of their children. */
const maxKnownDone = 256

/**
 * Counts each item once, whatever dies: a worker's totals are stored, with the sequences of the items that they include,
 * before those are acknowledged. An item that comes again and is in some worker's book is not done a second time.
 *
 * An item that makes others may die when some of them are done and gone from the queue, and make them again: as long as it
 * is open, the book remembers which ones those are.
 */
export class WorkerBook {
  readonly #options: WorkerBookOptions
  readonly #counts = noCounts()
  /** Counted, and not known to be acknowledged: no more than the queue hands out at once. */
  readonly #counted = new Set<number>()
  /** What of it is not stored yet: it may turn out to be another's. */
  readonly #unstored = new Map<number, Counts>()
  /** Ids of done items by the open item that made them. */
  readonly #early = new Map<number, Set<string>>()
  /** What books of workers that are gone say. */
  readonly #oldCounted = new Set<number>()
  readonly #oldEarly = new Set<string>()
  readonly #knownDone = new Set<number>()
  #earlyLeft = maxEarly
  #waiting: { resolve: () => void; reject: (error: unknown) => void }[] = []
  #storing = false

  constructor(options: WorkerBookOptions) {
    this.#options = options
    for (const { counted, early } of options.others ?? []) {
      for (const sequence of counted) this.#oldCounted.add(sequence)
      for (const id of Object.values(early).flat()) this.#oldEarly.add(id)
    }
  }

  /** Whether an item was done and counted, here or elsewhere: nothing is left to do but to acknowledge it. */
  async includes({ sequence, redelivered }: CountedItem): Promise<boolean> {
    if (this.#counted.has(sequence) || this.#oldCounted.has(sequence)) return true
    if (!redelivered && this.#options.asksAlways !== true) return false
    const { counted, early } = await this.#options.keeper.look(sequence)
    for (const id of early) this.#oldEarly.add(id)
    return counted
  }

  /** Whether an item of this id was done before the one that makes it now came again. */
  wasDone(messageId: string): boolean {
    return this.#oldEarly.has(messageId) || (this.#early.get(parentOf(messageId))?.has(messageId) ?? false)
  }

  /** Resolves when the counts are stored. */
  async count({ sequence, messageId }: CountedItem, counts: Counts): Promise<void> {
    const isEarly = await this.#isOpen(parentOf(messageId))
    if (!this.#counted.has(sequence)) {
      add(this.#counts, counts)
      this.#counted.add(sequence)
      this.#unstored.set(sequence, counts)
      if (isEarly) this.#remember(messageId)
    }
    await this.stored()
  }

  /** Resolves when all that was counted so far is stored; what comes meanwhile is stored together. */
  async stored(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      if (!this.#storing) void this.#store()
    })
  }

  /** The queue has confirmed that the item is done: it will not come again. */
  acked(sequence: number): void {
    this.#counted.delete(sequence)
    this.#isDone(sequence)
  }

  async #isOpen(parent: number): Promise<boolean> {
    if (Number.isNaN(parent) || this.#knownDone.has(parent)) return false
    if (await this.#options.isOpen(parent)) return true
    this.#isDone(parent)
    return false
  }

  #isDone(sequence: number): void {
    if (this.#knownDone.size >= maxKnownDone) this.#knownDone.clear()
    this.#knownDone.add(sequence)
    this.#forget(sequence)
  }

  #remember(messageId: string): void {
    const parent = parentOf(messageId)
    const siblings = this.#early.get(parent) ?? new Set()
    this.#early.set(parent, siblings.add(messageId))
    this.#earlyLeft -= 1
    while (this.#earlyLeft < 0) this.#forget([...this.#early.keys()].find((one) => one !== parent) ?? parent)
  }

  #forget(parent: number): void {
    this.#earlyLeft += this.#early.get(parent)?.size ?? 0
    this.#early.delete(parent)
  }

  /** Another had the item too, and has counted it. */
  #giveUp(sequence: number): void {
    const counts = this.#unstored.get(sequence)
    if (counts !== undefined) subtract(this.#counts, counts)
    this.#unstored.delete(sequence)
    this.#counted.delete(sequence)
  }

  async #store(): Promise<void> {
    const { keeper, onCount, published = () => 0 } = this.#options
    this.#storing = true
    while (this.#waiting.length > 0) {
      const group = this.#waiting
      this.#waiting = []
      try {
        const unstored = [...this.#unstored]
        const refused = await keeper.store({
          counts: { ...this.#counts },
          counted: [...this.#counted],
          early: Object.fromEntries([...this.#early].map(([parent, ids]) => [parent, [...ids]])),
          // What the counted items have made is among it.
          published: published(),
        })
        if (refused.length > 0) {
          for (const sequence of refused) this.#giveUp(sequence)
          this.#waiting.unshift(...group)
          continue
        }
        for (const [sequence, counts] of unstored) {
          this.#unstored.delete(sequence)
          onCount(counts)
        }
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#storing = false
  }
}

/** Sequence of the item that made the one of this id; NaN for one that no item made. */
const parentOf = (messageId: string): number => {
  const dot = messageId.indexOf('.')
  return dot > 0 ? Number(messageId.slice(0, dot)) : Number.NaN
}
