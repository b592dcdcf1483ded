import type { QueueState } from '../../../broker/queue/queue.ts'
import type { Progress, WorkerProgress } from './progress.ts'
import { addSums, type Booked, type Loss, lossOf, sumBetween, sumOfAll } from './proof.ts'
import { SequenceRuns } from './sequence-runs.ts'

/** What a worker has done, as it is to be stored. */
export interface Book extends Pick<WorkerProgress, 'counts' | 'counted' | 'early'> {
  /** The highest sequence that was given to an item that the worker has published. */
  readonly published: number
}

/** The same with what is known of the items that were done. */
type KeptBook = Omit<WorkerProgress, 'migration' | 'worker'>

/** The book of no worker: what is to be added to all others, so that they tell of the queue as it is. */
const correction = 'correction'

/** What all books together say of an item. */
export interface Finding {
  /** It is done, and counted by somebody. */
  readonly counted: boolean
  /** Somebody may have had it who is gone. */
  readonly wasOut: boolean
  /** Ids of the items that it has made and that were done before it. */
  readonly early: readonly string[]
}

/** What the books have to know of the queue. */
export interface BookedQueue {
  /** Whether an item is still in it. */
  has(sequence: number): Promise<boolean>
  /** Whether an item that is handed out as if for the first time may have been handed out before. */
  wasOut(sequence: number): Promise<boolean>
}

/** Where a worker has its book stored, and asks what the others say. */
export interface Bookkeeper {
  look(sequence: number): Promise<Finding>
  /** Stores the book; or, when others have counted some of its items, stores nothing and returns the sequences of those. */
  store(book: Book): Promise<readonly number[]>
}

/**
 * The books of all workers on one migration. An item that two workers had at once, as one of them was thought dead, is
 * counted by who comes first: every book is stored here, one after the other.
 */
export class Shelf {
  readonly #progress: Progress
  readonly #migration: string
  readonly #queue: BookedQueue
  readonly #books = new Map<string, KeptBook>()
  /** Sequences of items that were counted and acknowledged since this was opened. */
  readonly #ended = new SequenceRuns()
  #stores = 0
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(progress: Progress, migration: string, queue: BookedQueue) {
    this.#progress = progress
    this.#migration = migration
    this.#queue = queue
  }

  /** @param options `isEmpty`: there are no books of this migration yet */
  static async open(
    progress: Progress,
    migration: string,
    queue: BookedQueue,
    { isEmpty = false }: { isEmpty?: boolean } = {},
  ): Promise<Shelf> {
    const shelf = new Shelf(progress, migration, queue)
    if (isEmpty) return shelf
    for (const { migration: _, worker, ...book } of await progress.of(migration))
      shelf.#books.set(worker, book)
    return shelf
  }

  /** How often a book was stored since this was opened. */
  get stores(): number {
    return this.#stores
  }

  /** What the books say together. */
  get booked(): Booked {
    const books = [...this.#books.values()]
    const isSummed = this.#books.get(correction)?.sum !== undefined || !this.#books.has(correction)
    return {
      done: books.reduce((all, { done = 0 }) => all + done, 0),
      sum: isSummed ? books.reduce((all, { sum = 0 }) => addSums(all, sum), 0) : undefined,
      published: books.reduce((highest, { published = 0 }) => Math.max(highest, published), 0),
    }
  }

  /** What is gone from the queue of this migration, which nobody works on at the moment. */
  async lossAtStart(queue: Pick<QueueState, 'messages' | 'lastSequence'>): Promise<Loss | undefined> {
    const counted = this.all().flatMap((book) => book.counted)
    const unacked = (await Promise.all(counted.map((one) => this.#queue.has(one)))).filter(Boolean).length
    const isOfBefore = this.all().some(({ done }) => done === undefined)
    if (isOfBefore && !this.#books.has(correction)) {
      // A release before has taken items off without counting them. What is gone now it has done.
      const gone = queue.lastSequence - queue.messages + unacked
      await this.#correct({ done: gone - this.booked.done })
    }
    return lossOf(queue, this.booked, { unacked })
  }

  /**
   * Items that are missing from a queue that is empty are made good otherwise: they count as done when `beforehand` is.
   * The books must be as they were when the queue was asked.
   */
  async settle(lastSequence: number, beforehand: () => Promise<void>): Promise<void> {
    const { done = 0, sum = 0 } = this.#books.get(correction) ?? {}
    const total = this.all().reduce((all, book) => addSums(all, book.sum ?? 0), 0)
    const corrected = {
      done: done + lastSequence - this.booked.done,
      sum: addSums(sum, sumBetween(total, sumOfAll(lastSequence))),
    }
    await beforehand()
    await this.#correct(corrected)
  }

  async #correct(more: Pick<KeptBook, 'done' | 'sum'>): Promise<void> {
    const book = { counts: {}, counted: [], early: {}, ...more }
    await this.#progress.store({ migration: this.#migration, worker: correction, ...book })
    this.#books.set(correction, book)
  }

  /** The books as they are. */
  all(): KeptBook[] {
    return [...this.#books.values()]
  }

  /** What is stored of one worker. */
  of(worker: string): KeptBook | undefined {
    return this.#books.get(worker)
  }

  /** For a worker that asks whether an item is its to do: who else may have had it is dead, or has counted it. */
  async look(sequence: number): Promise<Finding> {
    const books = this.all()
    const counted =
      books.some((book) => book.counted.includes(sequence)) || !(await this.#queue.has(sequence))
    const early = books.flatMap((book) => book.early[sequence] ?? [])
    return { counted, early, wasOut: await this.#queue.wasOut(sequence) }
  }

  /**
   * As `Bookkeeper.store`.
   * @param onStored told what the book before said, at the moment when this one takes its place: who got no answer in time
   * sends the same once more, while the first is still being stored
   */
  store(
    worker: string,
    book: Book,
    onStored?: (before: KeptBook['counts'] | undefined) => void,
  ): Promise<readonly number[]> {
    const stored = this.#turn.then(() => this.#store(worker, book, onStored))
    this.#turn = stored.catch(() => undefined)
    return stored
  }

  /**
   * Resolves when all that anybody has asked to be stored is, or is refused: whoever opens the shelf of the same queue next
   * must find it.
   */
  async settled(): Promise<void> {
    await this.#turn
  }

  /** The place of one worker. */
  keeperOf(worker: string): Bookkeeper {
    return { look: (sequence) => this.look(sequence), store: (book) => this.store(worker, book) }
  }

  async #store(
    worker: string,
    book: Book,
    onStored: ((before: KeptBook['counts'] | undefined) => void) | undefined,
  ): Promise<readonly number[]> {
    const before = this.#books.get(worker)
    const known = new Set(before?.counted)
    const others = [...this.#books]
      .filter(([other]) => other !== worker && other !== correction)
      .map(([, { counted }]) => counted)
    const fresh = book.counted.filter((sequence) => !known.has(sequence))
    const isTaken = async (sequence: number) => {
      if (this.#ended.has(sequence) || others.some((counted) => counted.includes(sequence))) return true
      // Where there is nobody else, nobody need be asked.
      return others.length > 0 && !(await this.#queue.has(sequence))
    }
    const taken = await Promise.all(fresh.map(isTaken))
    const refused = fresh.filter((_, index) => taken[index])
    if (refused.length > 0) return refused
    const kept = {
      ...book,
      done: (before?.done ?? 0) + fresh.length,
      sum: fresh.reduce(addSums, before?.sum ?? 0),
      published: Math.max(before?.published ?? 0, book.published, ...fresh),
    }
    await this.#progress.store({ migration: this.#migration, worker, ...kept })
    this.#books.set(worker, kept)
    this.#stores += 1
    onStored?.(before?.counts)
    const counted = new Set(book.counted)
    for (const sequence of known) if (!counted.has(sequence)) this.#ended.add(sequence)
    return []
  }
}
