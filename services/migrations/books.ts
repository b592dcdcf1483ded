import type { Progress, WorkerProgress } from './progress.ts'

/** What a worker has done, as it is to be stored. */
export type Book = Pick<WorkerProgress, 'counts' | 'counted' | 'early'>

/** What all books together say of an item. */
export interface Finding {
  /** It is done, and counted by somebody. */
  readonly counted: boolean
  /** Ids of the items that it has made and that were done before it. */
  readonly early: readonly string[]
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
  readonly #isOpen: (sequence: number) => Promise<boolean>
  readonly #books = new Map<string, Book>()
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(progress: Progress, migration: string, isOpen: (sequence: number) => Promise<boolean>) {
    this.#progress = progress
    this.#migration = migration
    this.#isOpen = isOpen
  }

  /**
   * @param isOpen whether an item is still in the queue
   * @param options `isEmpty`: there are no books of this migration yet
   */
  static async open(
    progress: Progress,
    migration: string,
    isOpen: (sequence: number) => Promise<boolean>,
    { isEmpty = false }: { isEmpty?: boolean } = {},
  ): Promise<Shelf> {
    const shelf = new Shelf(progress, migration, isOpen)
    if (isEmpty) return shelf
    for (const { worker, counts, counted, early } of await progress.of(migration))
      shelf.#books.set(worker, { counts, counted, early })
    return shelf
  }

  /** The books as they are. */
  all(): Book[] {
    return [...this.#books.values()]
  }

  /** What is stored of one worker. */
  of(worker: string): Book | undefined {
    return this.#books.get(worker)
  }

  /** For a worker that asks whether an item is its to do: who else may have had it is dead, or has counted it. */
  async look(sequence: number): Promise<Finding> {
    const books = this.all()
    const counted = books.some((book) => book.counted.includes(sequence)) || !(await this.#isOpen(sequence))
    return { counted, early: books.flatMap(({ early }) => early[sequence] ?? []) }
  }

  /** As `Bookkeeper.store`. */
  store(worker: string, book: Book): Promise<readonly number[]> {
    const stored = this.#turn.then(() => this.#store(worker, book))
    this.#turn = stored.catch(() => undefined)
    return stored
  }

  /** The place of one worker. */
  keeperOf(worker: string): Bookkeeper {
    return { look: (sequence) => this.look(sequence), store: (book) => this.store(worker, book) }
  }

  async #store(worker: string, book: Book): Promise<readonly number[]> {
    const known = new Set(this.#books.get(worker)?.counted)
    const others = [...this.#books].filter(([other]) => other !== worker).map(([, { counted }]) => counted)
    // Where there is nobody else, nobody need be asked.
    const fresh = others.length === 0 ? [] : book.counted.filter((sequence) => !known.has(sequence))
    const taken = await Promise.all(
      fresh.map(
        async (sequence) =>
          others.some((counted) => counted.includes(sequence)) || !(await this.#isOpen(sequence)),
      ),
    )
    const refused = fresh.filter((_, index) => taken[index])
    if (refused.length > 0) return refused
    await this.#progress.store({ migration: this.#migration, worker, ...book })
    this.#books.set(worker, book)
    return []
  }
}
