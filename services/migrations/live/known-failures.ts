import type { StorePath } from '../../drivers/contract/driver.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import type { Failure, ItemResult } from '../../engine/run/counts.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { ChangedNames, reconcileItems } from '../../engine/items/changed-folders.ts'
import { relativePath } from '../../engine/items/paths.ts'
import { type FailureLedger, noteFailure, pathOfFailure } from '../failures/failures.ts'
import { everything } from './comparison.ts'
import { DealtPaths, folderOf, isWithin } from './dealt-paths.ts'
import { changedFolder } from './dirty-folders.ts'
import { ItemInFlight, type Touched } from './item-in-flight.ts'

/** Paths that are kept in memory, some 300 bytes each. */
const maxKnown = 10_000
/** Entries that are read at once. */
const pageLength = 500
/** Entries that are taken out at once: one after the other, thousands of them would take seconds. */
const forgottenAtOnce = 64

interface Known {
  readonly text: string
  /** What is below it was not looked at either. */
  isTree: boolean
  /** When it failed last, as the number of failures until then. */
  failedAt: number
  /** Of its entry in the ledger, once it is there. */
  sequence: number | undefined
}

/**
 * The failures of a live migration, which looks at a path again and again: each path is in the list once, over restarts
 * too. It leaves the list when it is gone at the source, when an item that dealt with it is done and it did not fail, and
 * when everything was compared and it did not fail. Of more failures than are kept in memory, the others may be listed again, and stay.
 */
export class KnownFailures {
  readonly #ledger: FailureLedger
  readonly #workId: string
  readonly #root: StorePath
  /** By path. */
  readonly #known = new Map<string, Known>()
  /** Their paths by that of the folder that they are in, so that an item is compared with few of them. */
  readonly #inFolder = new Map<string, Set<string>>()
  /** How many have failed. */
  #failures = 0
  readonly #inFlight = new Set<ItemInFlight>()
  /** Paths by the sequence of their entry. */
  readonly #paths = new Map<number, string>()
  /** Paths that failed since everything is being compared; undefined when that is not so, or they were too many. */
  #failed: Set<string> | undefined

  private constructor(ledger: FailureLedger, workId: string, root: StorePath) {
    this.#ledger = ledger
    this.#workId = workId
    this.#root = root
  }

  /** Knows what the list has. @param root path of the migration in its source */
  static async open(ledger: FailureLedger, workId: string, root: StorePath): Promise<KnownFailures> {
    const failures = new KnownFailures(ledger, workId, root)
    let page: Awaited<ReturnType<FailureLedger['page']>> = []
    do {
      const after = page.at(-1)?.sequence ?? 0
      page = await ledger.page(workId, { after, limit: pageLength })
      for (const { sequence, entry } of page) failures.#keep(entry.path, failures.#knownOf(entry, sequence))
    } while (page.length === pageLength && failures.#known.size < maxKnown)
    return failures
  }

  /**
   * Notes what is not in the list; what is there for another reason is replaced. Resolves when it is stored, with what
   * was not in the list.
   * @param noted `retried`: the entry that was tried again, and is replaced if it failed
   */
  async note(
    noted: {
      readonly item: string
      readonly failures: readonly Failure[]
      readonly retried?: number | undefined
    },
    signal: AbortSignal,
  ): Promise<Failure[]> {
    const { item, failures, retried } = noted
    const listed = failures.filter(({ path }) => !this.#known.has(path))
    const note = async (failure: Failure) => {
      const { path } = failure
      this.#hasFailed(path)
      const now = this.#knownOf(failure)
      const before = this.#known.get(path)
      if (before !== undefined) {
        before.failedAt = now.failedAt
        before.isTree ||= now.isTree
        now.isTree = before.isTree
      }
      const isRetried = before?.sequence !== undefined && before.sequence === retried
      if (before?.text === now.text && !isRetried) return
      this.#keep(path, now)
      try {
        now.sequence = await noteFailure(this.#ledger, this.#workId, { item, failure }, signal)
        this.#paths.set(now.sequence, path)
      } finally {
        if (now.sequence === undefined && this.#known.get(path) === now) this.#drop(path)
      }
      // An item has one entry for a path, whatever fails of it, and when it comes again.
      if (before?.sequence !== undefined && before.sequence !== now.sequence)
        await this.forget(before.sequence)
    }
    await Promise.all(failures.map(note))
    return listed
  }

  /** Takes an entry out of the list. */
  async forget(sequence: number): Promise<void> {
    const path = this.#paths.get(sequence)
    this.#paths.delete(sequence)
    if (path !== undefined && this.#known.get(path)?.sequence === sequence) this.#drop(path)
    await this.#ledger.forget(sequence)
  }

  /** An item that tried an entry again is done: unless the path is known, nobody else would take the entry out. */
  async retried(sequence: number): Promise<void> {
    if (!this.#paths.has(sequence)) await this.#ledger.forget(sequence)
  }

  /** An item is being worked on, until what comes back is disposed of. */
  begin(item: Uint8Array): ItemInFlight {
    return new ItemInFlight(item, this.#failures, this.#inFlight, (items) => this.#touched(items))
  }

  /**
   * What came of an item: notes what failed, and takes out what is gone or mended. Who saw a path last is known only where
   * one item was begun after the other had been done: what failed while another dealt with it is looked at once more.
   * Resolves when it is stored.
   * @returns items that look again
   */
  async settle(
    noted: Parameters<KnownFailures['note']>[0],
    result: Pick<ItemResult, 'gone' | 'vanished' | 'retry' | 'again' | 'deferral' | 'compared'>,
    work: ItemInFlight,
    signal: AbortSignal,
  ): Promise<Uint8Array[]> {
    const { gone = [], vanished = [], retry, again = [], deferral, compared = [] } = result
    work.handOn([...(retry === undefined ? [] : [retry]), ...again])
    work.done(gone, compared)
    const failed = new Set(noted.failures.map(({ path }) => path))
    const unlisted = noted.failures.filter(({ isFolder }) => isFolder === true).map(({ path }) => path)
    const notSeen = new Set([...vanished, ...unlisted])
    // Of an empty source nothing was compared.
    const seen = deferral?.reason === 'SOURCE_EMPTY' ? nothing : this.#touched(work.items)
    const arrived = [...seen.paths].filter((path) => !isWithin(notSeen, path))
    const over = new Set([...this.#below(gone), ...arrived])
    const isOwn = (path: string) => failed.has(path) || work.handedOn.has(path) || vanished.includes(path)
    const { mended = [], late = [] } = Object.groupBy(
      [...over].filter((path) => !isOwn(path)),
      (path) => (this.#isOlder(path, work) ? 'mended' : 'late'),
    )
    await this.#forgetAll(mended)
    const listed = await this.note(noted, signal)
    const overtaken = work.overtaken(
      listed.map(({ path }) => path),
      this.#root,
    )
    const lost = this.#lost(seen, work).filter((path) => !isWithin(failed, path))
    return this.#lookAgain([...new Set([...late, ...overtaken, ...lost])])
  }

  /** Everything begins to be compared. */
  compare(): void {
    this.#failed = new Set()
  }

  /** The comparison does not tell what has arrived. */
  keepAll(): void {
    this.#failed = undefined
  }

  /** Everything was compared: what did not fail is at the target, or gone at the source. */
  async compared(): Promise<void> {
    const failed = this.#failed
    this.#failed = undefined
    // Below a folder that failed nobody has looked.
    if (failed !== undefined) await this.#remove((path) => !isWithin(failed, path))
  }

  #hasFailed(path: string): void {
    this.#failed?.add(path)
    if (this.#failed !== undefined && this.#failed.size > maxKnown) this.#failed = undefined
  }

  #keep(path: string, known: Known): void {
    this.#drop(path)
    const [oldest] = this.#known
    if (this.#known.size >= maxKnown && oldest !== undefined) {
      const [itsPath, { sequence }] = oldest
      this.#drop(itsPath)
      if (sequence !== undefined) this.#paths.delete(sequence)
    }
    this.#known.set(path, known)
    const folder = folderOf(path)
    const beside = this.#inFolder.get(folder)
    if (beside === undefined) this.#inFolder.set(folder, new Set([path]))
    else beside.add(path)
    if (known.sequence !== undefined) this.#paths.set(known.sequence, path)
  }

  #drop(path: string): void {
    this.#known.delete(path)
    const folder = folderOf(path)
    const beside = this.#inFolder.get(folder)
    if (beside?.delete(path) === true && beside.size === 0) this.#inFolder.delete(folder)
  }

  #knownOf(failure: Failure, sequence?: number): Known {
    const isTree = failure.isFolder === true || failure.isTree === true
    return { text: textOf(failure), isTree, failedAt: ++this.#failures, sequence }
  }

  #touched(items: readonly Uint8Array[]): Touched {
    if (this.#known.size === 0) return nothing
    const dealt = new DealtPaths(items, this.#root)
    const paths = new Set<string>()
    for (const folder of dealt.folders) {
      for (const path of [folder, ...(this.#inFolder.get(folder) ?? [])]) {
        const known = this.#known.get(path)
        if (known !== undefined && dealt.has(path, known.isTree)) paths.add(path)
      }
    }
    return { paths, trees: new Set(dealt.trees) }
  }

  /**
   * Known failures that an item left as they are, and that may be over: of names that it was told of, or below these, as a
   * folder may be open by now; and below folders that it compared as a whole, in such as it has found no work in: those
   * are gone. When everything is compared, these go by themselves.
   */
  #lost(seen: Touched, { items, handedOn, handedTrees }: ItemInFlight): string[] {
    if (seen === nothing) return []
    const { paths, trees } = seen
    const dealt = new DealtPaths(items, this.#root)
    const own = dealt.whole.filter((folder) => this.#known.get(folder)?.isTree === true)
    const beside = Array.from(dealt.folders, (folder) => [...(this.#inFolder.get(folder) ?? [])]).flat()
    const below = [...this.#inFolder].flatMap(([folder, its]) => (dealt.isOnWayTo(folder) ? [...its] : []))
    const told = [...own, ...beside.filter((path) => dealt.has(path, false)), ...below]
    const gone = this.#failed === undefined ? this.#below([...trees]) : []
    const isLeft = (path: string) => !paths.has(path) && !trees.has(path) && !handedOn.has(path)
    return [...told, ...gone].filter((path) => isLeft(path) && !isWithin(handedTrees, path))
  }

  /** Known failures of these paths, and below them. */
  #below(paths: readonly string[]): string[] {
    if (paths.length === 0 || this.#known.size === 0) return []
    const all = new Set(paths)
    const own = paths.filter((path) => this.#known.has(path))
    // Fewer folders have failures than there are failures.
    const inThem = [...this.#inFolder].flatMap(([folder, its]) => (isWithin(all, folder) ? [...its] : []))
    return [...new Set([...own, ...inThem])]
  }

  /** Whether a failure is in the list since before an item was begun. */
  #isOlder(path: string, { begunAt }: ItemInFlight): boolean {
    const known = this.#known.get(path)
    return known !== undefined && known.failedAt <= begunAt && known.sequence !== undefined
  }

  /** Names that no path can have nobody can be asked for. */
  #lookAgain(paths: readonly string[]): Uint8Array[] {
    const names = new ChangedNames()
    let isRoot = false
    for (const text of paths) {
      const path = pathOfFailure(text)
      if (path === undefined) continue
      const relative = relativePath(this.#root, path)
      if (relative.length === 0) isRoot = true
      else names.add(parentOf(relative), nameOf(relative), true)
    }
    const root = isRoot ? [changedFolder(everything())] : []
    return reconcileItems([...names.groups, ...root], { attempt: 1, notBeforeMs: 0 })
  }

  async #remove(isMeant: (path: string) => boolean): Promise<void> {
    await this.#forgetAll([...this.#known.keys()].filter(isMeant))
  }

  async #forgetAll(paths: readonly string[]): Promise<void> {
    const sequences = paths.flatMap((path) => this.#known.get(path)?.sequence ?? [])
    await concurrently(sequences, forgottenAtOnce, (sequence) => this.forget(sequence))
  }
}

const nothing: Touched = { paths: new Set(), trees: new Set() }

const textOf = ({ failure, message, isFolder }: Failure): string =>
  `${failure} ${message}${isFolder === true ? '/' : ''}`
