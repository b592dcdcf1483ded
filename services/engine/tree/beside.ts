import type { Entry, Page, StorePath } from '../../drivers/contract/driver.ts'
import { type EntryBudget, threadBudget } from './entry-budget.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { takenAt, targetPath } from '../run/mappings.ts'
import { storeError, type StoreSide, targetError } from '../../drivers/contract/store-error.ts'
import { joinPath } from '../items/paths.ts'
import { atTarget, concurrencyOf, type Run } from '../run/run.ts'

/**
 * Entries of one folder that are held in memory, some 550 bytes each. A larger folder is read side by side with the other one
 * where both stores list in order; what that does not find, and else each name, is asked for by itself.
 */
const maxInMemory = 200_000

/** Entries that are held of a folder that is read side by side: what the other one lacks leaves room for what follows. */
const maxInWindow = 20_000

export interface BesideOptions {
  /** When the folder may be finished, whatever else its job does; default: at once. */
  readonly turn?: Promise<void>
  /** Entries that are kept at most. */
  readonly limit?: number
  /** The folder is known to be large, and only a part of it is asked for. */
  readonly isPart?: boolean
  /** Of a folder that is read side by side: several pages of a listing. */
  readonly windowEntries?: number
  /** Of what the thread holds. */
  readonly budget?: EntryBudget
}

/** What stands at the target beside the entries of a folder of the source. To be disposed of: others wait for its memory. */
export interface Beside extends Disposable {
  /** For each entry of the source what the target has under its name; entries without such are left out. */
  find(batch: readonly Entry[]): Promise<ReadonlyMap<Entry, Entry>>
  /**
   * What of the target no `find` asked for, in batches: with all of the source asked for, what is only at the target. What
   * comes from elsewhere in the source, by a path mapping, is left out.
   */
  rest(): AsyncIterable<Entry[]>
}

/**
 * Lists what a folder of the source is at the target, before it is written to; undefined when there is no such folder.
 * Throws StoreErrors of the target.
 * @param folder in the source
 */
export async function lookBeside(
  run: Run,
  folder: StorePath,
  {
    turn = Promise.resolve(),
    limit = maxInMemory,
    isPart = false,
    windowEntries = maxInWindow,
    budget = threadBudget,
  }: BesideOptions = {},
): Promise<Beside | undefined> {
  const { signal } = run.stop
  const entries = new Map<string, Entry>()
  using holding = new DisposableStack()
  const held = holding.use(budget.hold())
  const inStore = async () => {
    // What was held so far is let go, and a window takes its place.
    const window = budget.hold()
    entries.clear()
    held[Symbol.dispose]()
    if (isInOrder(run)) await window.take(windowEntries, turn, signal)
    return new BesideInStore(run, folder, windowEntries, window)
  }
  if (isPart && isInOrder(run)) return inStore()
  try {
    for await (const { entries: batch } of run.target.list(targetPath(run, folder), signal)) {
      run.stop.check()
      if (entries.size + batch.length > limit) return await inStore()
      await held.take(batch.length, turn, signal)
      for (const entry of batch) entries.set(keyOf(entry.name), entry)
    }
  } catch (error) {
    run.stop.check()
    const known = storeError(error)
    if (known.failure === 'gone') return undefined
    throw targetError(known)
  }
  return new BesideInMemory(run, folder, entries, holding.move())
}

class BesideInMemory implements Beside {
  readonly #run: Run
  readonly #folder: StorePath
  readonly #entries: Map<string, Entry>
  readonly #held: Disposable

  constructor(run: Run, folder: StorePath, entries: Map<string, Entry>, held: Disposable) {
    this.#run = run
    this.#folder = folder
    this.#entries = entries
    this.#held = held
  }

  [Symbol.dispose](): void {
    this.#entries.clear()
    this.#held[Symbol.dispose]()
  }

  async find(batch: readonly Entry[]): Promise<ReadonlyMap<Entry, Entry>> {
    const found = new Map<Entry, Entry>()
    for (const entry of batch) {
      const key = keyOf(entry.name)
      const beside = this.#entries.get(key)
      if (beside === undefined) continue
      found.set(entry, beside)
      this.#entries.delete(key)
    }
    return found
  }

  async *rest(): AsyncIterable<Entry[]> {
    const there = targetPath(this.#run, this.#folder)
    const [run, folder] = [this.#run, this.#folder]
    const only = [...this.#entries.values()].filter(
      ({ name }) => takenAt(run, joinPath(there, name), joinPath(folder, name)) === undefined,
    )
    if (only.length > 0) yield only
  }
}

/** For a folder with more names than fit: asks the stores for each that is not found beside it. */
class BesideInStore implements Beside {
  readonly #run: Run
  readonly #folder: StorePath
  readonly #windowEntries: number
  readonly #held: Disposable
  readonly #target: Window | undefined

  /** @param held what the entries of one window are held by */
  constructor(run: Run, folder: StorePath, windowEntries: number, held: Disposable) {
    this.#run = run
    this.#folder = folder
    this.#windowEntries = windowEntries
    this.#held = held
    this.#target = this.#window('target', targetPath(run, folder))
  }

  [Symbol.dispose](): void {
    this.#target?.[Symbol.dispose]()
    this.#held[Symbol.dispose]()
  }

  async find(batch: readonly Entry[]): Promise<ReadonlyMap<Entry, Entry>> {
    const there = targetPath(this.#run, this.#folder)
    const found = new Map<Entry, Entry>()
    await atTarget(this.#target?.reach(batch) ?? Promise.resolve())
    await concurrently(batch, concurrencyOf(this.#run), async (entry) => {
      const beside =
        this.#target?.take(entry.name) ??
        (await atTarget(this.#run.target.stat(joinPath(there, entry.name), this.#run.stop.signal)))
      if (beside !== undefined) found.set(entry, beside)
    })
    return found
  }

  async *rest(): AsyncIterable<Entry[]> {
    const { source, target, stop } = this.#run
    const there = targetPath(this.#run, this.#folder)
    this.#target?.[Symbol.dispose]()
    using beside = this.#window('source', this.#folder)
    for await (const { entries } of target.list(there, stop.signal)) {
      const only: Entry[] = []
      await beside?.reach(entries)
      await concurrently(entries, concurrencyOf(this.#run), async (entry) => {
        if (beside?.take(entry.name) !== undefined) return
        const path = joinPath(this.#folder, entry.name)
        if (takenAt(this.#run, joinPath(there, entry.name), path) !== undefined) return
        if ((await source.stat(path, this.#run.stop.signal)) === undefined) only.push(entry)
      })
      if (only.length > 0) yield only
    }
  }

  #window(side: StoreSide, folder: StorePath): Window | undefined {
    const { [side]: store, stop } = this.#run
    return isInOrder(this.#run) ? new Window(store.list(folder, stop.signal), this.#windowEntries) : undefined
  }
}

/** Whether source and target can be read side by side. */
const isInOrder = ({ source, target }: Run): boolean =>
  source.capabilities.listsInOrder === true && target.capabilities.listsInOrder === true

/** A part of a listing that goes forward with another one. */
class Window implements Disposable {
  readonly #pages: AsyncIterator<Page>
  readonly #maxEntries: number
  readonly #held = new Map<string, Entry>()
  /** All up to this name has been seen. */
  #reached = ''
  #isOver = false

  constructor(pages: AsyncIterable<Page>, maxEntries: number) {
    this.#pages = pages[Symbol.asyncIterator]()
    this.#maxEntries = maxEntries
  }

  [Symbol.dispose](): void {
    this.#held.clear()
    void this.#pages.return?.().catch(() => undefined)
  }

  /** Reads on as far as other entries go. */
  async reach(others: readonly Entry[]): Promise<void> {
    const last = lastOf(others)
    while (!this.#isOver && this.#reached < last) {
      const page = await this.#pages.next()
      this.#isOver = page.done === true
      if (page.done === true) return
      const { entries } = page.value
      this.#reached = [this.#reached, lastOf(entries)].toSorted().at(-1)!
      for (const entry of entries) this.#held.set(keyOf(entry.name), entry)
      for (const oldest of this.#held.keys()) {
        if (this.#held.size <= this.#maxEntries) break
        this.#held.delete(oldest)
      }
    }
  }

  /** The entry of this name, once; undefined where it is not in this part. */
  take(name: Buffer): Entry | undefined {
    const key = keyOf(name)
    const found = this.#held.get(key)
    this.#held.delete(key)
    return found
  }
}

/** The greatest of the names by which stores list in order. */
const lastOf = (entries: readonly Entry[]): string =>
  entries.reduce((last, { name, type }) => {
    const key = type === 'folder' ? `${keyOf(name)}/` : keyOf(name)
    return key > last ? key : last
  }, '')

/** One character a byte: two names have the same key only if they are the same bytes. */
const keyOf = (name: Buffer) => name.toString('latin1')
