import { concurrently } from '../engine/concurrently.ts'
import type { Failure } from '../engine/counts.ts'
import { type FailureLedger, noteFailure } from '../failures.ts'

/** Paths that are kept in memory, some 300 bytes each. */
const maxKnown = 10_000
/** Entries that are read at once. */
const pageLength = 500
/** Entries that are taken out at once: one after the other, thousands of them would take seconds. */
const forgottenAtOnce = 64

interface Known {
  readonly text: string
  /** Of its entry in the ledger, once it is there. */
  sequence: number | undefined
}

/**
 * The failures of a live migration, which looks at a path again and again: each path is in the list once, over restarts
 * too. It leaves the list when it is gone at the source, and when everything was compared and it did not fail. Of more
 * failures than are kept in memory, the others may be listed again, and stay.
 */
export class KnownFailures {
  readonly #ledger: FailureLedger
  readonly #workId: string
  /** By path. */
  readonly #known = new Map<string, Known>()
  /** Paths by the sequence of their entry. */
  readonly #paths = new Map<number, string>()
  /** Paths that failed since everything is being compared; undefined when that is not so, or they were too many. */
  #failed: Set<string> | undefined

  private constructor(ledger: FailureLedger, workId: string) {
    this.#ledger = ledger
    this.#workId = workId
  }

  /** Knows what the list has. */
  static async open(ledger: FailureLedger, workId: string): Promise<KnownFailures> {
    const failures = new KnownFailures(ledger, workId)
    let page: Awaited<ReturnType<FailureLedger['page']>> = []
    do {
      const after = page.at(-1)?.sequence ?? 0
      page = await ledger.page(workId, { after, limit: pageLength })
      for (const { sequence, entry } of page) failures.#keep(entry.path, { text: textOf(entry), sequence })
    } while (page.length === pageLength && failures.#known.size < maxKnown)
    return failures
  }

  /**
   * Notes what is not in the list; what is there for another reason is replaced. Resolves when it is stored.
   * @param noted `retried`: the entry that was tried again, which its caller forgets
   */
  async note(
    noted: {
      readonly item: string
      readonly failures: readonly Failure[]
      readonly retried?: number | undefined
    },
    signal: AbortSignal,
  ): Promise<void> {
    const { item, failures, retried } = noted
    const note = async (failure: Failure) => {
      const { path } = failure
      this.#hasFailed(path)
      const before = this.#known.get(path)
      const isRetried = before?.sequence !== undefined && before.sequence === retried
      const now: Known = { text: textOf(failure), sequence: undefined }
      if (before?.text === now.text && !isRetried) return
      this.#keep(path, now)
      try {
        now.sequence = await noteFailure(this.#ledger, this.#workId, { item, failure }, signal)
        this.#paths.set(now.sequence, path)
      } finally {
        if (now.sequence === undefined && this.#known.get(path) === now) this.#known.delete(path)
      }
      if (before?.sequence !== undefined && !isRetried) await this.forget(before.sequence)
    }
    await Promise.all(failures.map(note))
  }

  /** Takes an entry out of the list. */
  async forget(sequence: number): Promise<void> {
    const path = this.#paths.get(sequence)
    this.#paths.delete(sequence)
    if (path !== undefined && this.#known.get(path)?.sequence === sequence) this.#known.delete(path)
    await this.#ledger.forget(sequence)
  }

  /** Takes out what is at these paths of the source, or below them: they are gone. */
  async gone(paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return
    const all = new Set(paths)
    await this.#remove((path) => isWithin(all, path))
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
    this.#known.delete(path)
    const [oldest] = this.#known
    if (this.#known.size >= maxKnown && oldest !== undefined) {
      const [itsPath, { sequence }] = oldest
      this.#known.delete(itsPath)
      if (sequence !== undefined) this.#paths.delete(sequence)
    }
    this.#known.set(path, known)
    if (known.sequence !== undefined) this.#paths.set(known.sequence, path)
  }

  async #remove(isMeant: (path: string) => boolean): Promise<void> {
    const meant = [...this.#known].filter(([path]) => isMeant(path))
    const sequences = meant.flatMap(([, { sequence }]) => sequence ?? [])
    await concurrently(sequences, forgottenAtOnce, (sequence) => this.forget(sequence))
  }
}

const textOf = ({ failure, message }: Failure): string => `${failure} ${message}`

/** Whether a path, or a folder that it is in, is among some. */
function isWithin(paths: ReadonlySet<string>, path: string): boolean {
  if (paths.has(path) || paths.has('/')) return true
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
    if (paths.has(path.slice(0, at))) return true
  return false
}
