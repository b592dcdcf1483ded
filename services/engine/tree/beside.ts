import type { Entry, StorePath } from '../../drivers/contract/driver.ts'
import { type EntryBudget, threadBudget } from './entry-budget.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { takenAt, targetPath } from '../run/mappings.ts'
import { storeError, targetError } from '../../drivers/contract/store-error.ts'
import { joinPath } from '../items/paths.ts'
import { atTarget, concurrencyOf, type Run } from '../run/run.ts'

/** Entries of one folder that are held in memory, some 550 bytes each; in a larger folder each name is asked for by itself. */
const maxInMemory = 200_000

export interface BesideOptions {
  /** When the folder may be finished, whatever else its job does; default: at once. */
  readonly turn?: Promise<void>
  /** Entries that are kept at most. */
  readonly limit?: number
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
  { turn = Promise.resolve(), limit = maxInMemory, budget = threadBudget }: BesideOptions = {},
): Promise<Beside | undefined> {
  const { signal } = run.stop
  const entries = new Map<string, Entry>()
  using holding = new DisposableStack()
  const held = holding.use(budget.hold())
  try {
    for await (const { entries: batch } of run.target.list(targetPath(run, folder), signal)) {
      run.stop.check()
      if (entries.size + batch.length > limit) return new BesideInStore(run, folder)
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

/** For a folder with more names than fit: asks the stores for each. */
class BesideInStore implements Beside {
  readonly #run: Run
  readonly #folder: StorePath

  constructor(run: Run, folder: StorePath) {
    this.#run = run
    this.#folder = folder
  }

  [Symbol.dispose](): void {
    // It holds nothing.
  }

  async find(batch: readonly Entry[]): Promise<ReadonlyMap<Entry, Entry>> {
    const there = targetPath(this.#run, this.#folder)
    const found = new Map<Entry, Entry>()
    await concurrently(batch, concurrencyOf(this.#run), async (entry) => {
      const beside = await atTarget(this.#run.target.stat(joinPath(there, entry.name)))
      if (beside !== undefined) found.set(entry, beside)
    })
    return found
  }

  async *rest(): AsyncIterable<Entry[]> {
    const { source, target, stop } = this.#run
    const there = targetPath(this.#run, this.#folder)
    for await (const { entries } of target.list(there, stop.signal)) {
      const only: Entry[] = []
      await concurrently(entries, concurrencyOf(this.#run), async (entry) => {
        const path = joinPath(this.#folder, entry.name)
        if (takenAt(this.#run, joinPath(there, entry.name), path) !== undefined) return
        if ((await source.stat(path)) === undefined) only.push(entry)
      })
      if (only.length > 0) yield only
    }
  }
}

/** One character a byte: two names have the same key only if they are the same bytes. */
const keyOf = (name: Buffer) => name.toString('latin1')
