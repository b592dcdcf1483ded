import type { Checkpoint, CheckpointStore, Finding } from './progress-ledger.ts'
import { add, type Counts, noCounts, subtract } from '../../engine/run/counts.ts'
import { makerOf } from '../failures/retries.ts'

/** Adds what an item brought to figures that are kept in memory. */
export type CountListener = (counts: Readonly<Counts>) => void

/** What the checkpoint needs to know of an item. */
export interface CountedItem {
  /** Unique in its queue. */
  readonly sequence: number
  /** Id that it was published with: the sequence of the item that made it, a dot, and what tells it from its siblings. */
  readonly messageId: string
  readonly redelivered: boolean
}

export interface CheckpointWriterOptions {
  readonly keeper: CheckpointStore
  /** What others have stored by now. */
  readonly others?: readonly Pick<Checkpoint, 'counted' | 'early'>[]
  /** Whether the keeper is asked about every item: who is elsewhere does not know what the broker may have forgotten. */
  readonly asksAlways?: boolean
  /** The highest sequence that was given to an item that was published here; default: none was. */
  readonly published?: () => number
  /**
   * Changes whenever the broker may have been killed: it knows then only the ids of what is still in the queue. Default: it
   * never is.
   */
  readonly life?: () => number
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
/** Of an item that nobody else has had, nobody need be asked. */
const handedOutFirst: Finding = { counted: false, wasOut: false, early: [] }

/**
 * Counts each item once, whatever dies: a worker's totals are stored, with the sequences of the items that they include,
 * before those are acknowledged. An item that comes again and is in some worker's checkpoint is not done a second time.
 *
 * An item that makes others may die when some of them are done and gone from the queue, and make them again: as long as it
 * is open, the checkpoint remembers which ones those are. So it does for a worker that outlives the broker, which does not know
 * what of its publications have arrived.
 */
export class CheckpointWriter {
  readonly #options: CheckpointWriterOptions
  readonly #counts = noCounts()
  /** Counted, and not known to be acknowledged: no more than the queue hands out at once. */
  readonly #counted = new Set<number>()
  /** What of it is not stored yet: it may turn out to be another's. */
  readonly #unstored = new Map<number, Counts>()
  /** Ids of done items by the open item that made them. */
  readonly #early = new Map<number, Set<string>>()
  /** What checkpoints of workers that are gone say. */
  readonly #oldCounted = new Set<number>()
  readonly #oldEarly = new Set<string>()
  readonly #knownDone = new Set<number>()
  /** What others have said of the items in flight here, and in which life of the broker. */
  readonly #asked = new Map<number, { readonly life: number; readonly answered: Promise<Finding> }>()
  readonly #firstLife: number
  #earlyLeft = maxEarly
  #waiting: { resolve: () => void; reject: (error: unknown) => void }[] = []
  #storing = false

  constructor(options: CheckpointWriterOptions) {
    this.#options = options
    this.#firstLife = this.#life()
    for (const { counted, early } of options.others ?? []) {
      for (const sequence of counted) this.#oldCounted.add(sequence)
      for (const id of Object.values(early).flat()) this.#oldEarly.add(id)
    }
  }

  /** Whether an item was done and counted, here or elsewhere: nothing is left to do but to acknowledge it. */
  async includes({ sequence, redelivered }: CountedItem): Promise<boolean> {
    if (this.#counted.has(sequence) || this.#oldCounted.has(sequence)) return true
    // A broker that was killed hands out as if for the first time what others are working on.
    const asks = redelivered || this.#options.asksAlways === true || this.#life() !== this.#firstLife
    if (!asks) {
      this.#asked.set(sequence, { life: this.#life(), answered: Promise.resolve(handedOutFirst) })
      return false
    }
    return (await this.#look(sequence)).counted
  }

  /** Whether somebody may have had an item before, of which `includes` was asked. */
  async wasOut({ sequence, redelivered }: CountedItem): Promise<boolean> {
    return redelivered || ((await this.#asked.get(sequence)?.answered)?.wasOut ?? false)
  }

  /** An item is not in flight any more. */
  letGo(sequence: number): void {
    this.#asked.delete(sequence)
  }

  /**
   * Whether an item of this id was done before the one that makes it now came again, or before the broker was killed, which
   * would take it for another.
   */
  async wasDone(messageId: string): Promise<boolean> {
    const parent = makerOf(messageId)
    if (!Number.isNaN(parent)) await this.#askAnew(parent)
    return this.#oldEarly.has(messageId) || (this.#early.get(parent)?.has(messageId) ?? false)
  }

  #life(): number {
    return this.#options.life?.() ?? 0
  }

  #look(sequence: number): Promise<Finding> {
    const life = this.#life()
    const answered = this.#options.keeper.look(sequence).then((finding) => {
      for (const id of finding.early) this.#oldEarly.add(id)
      return finding
    })
    this.#asked.set(sequence, { life, answered })
    return answered
  }

  /** Once for all that the item makes at the same time. */
  async #askAnew(parent: number): Promise<void> {
    for (;;) {
      const asked = this.#asked.get(parent)
      if (asked === undefined || asked.life !== this.#life()) await this.#look(parent)
      else {
        await asked.answered
        if (asked.life === this.#life()) return
      }
    }
  }

  /** Resolves when the counts are stored. */
  async count({ sequence, messageId }: CountedItem, counts: Counts): Promise<void> {
    const isEarly = await this.#isOpen(makerOf(messageId))
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
    const parent = makerOf(messageId)
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
