import type { StoreError, StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { ChangedNames, reconcileItems } from '../items/changed-folders.ts'
import type { Counts, HeldRemoval, ItemResult } from '../run/counts.ts'
import type { ChangedFolder } from '../items/items.ts'
import { isDenied } from '../tree/match-folder.ts'
import { type FoundFile, Outcome } from '../run/outcome.ts'
import { storeError } from '../../drivers/contract/store-error.ts'
import { joinPath, textFromPath } from '../items/paths.ts'
import { heldForMs } from '../run/removal-budget.ts'
import { requireStore, storePath, type Run } from '../run/run.ts'

/** What a comparison came to: counts, failures, and what is to be looked at again. */
export class Account {
  readonly #run: Run
  readonly #outcome: Outcome
  readonly #retry: ChangedFolder[] = []
  readonly #retryNames = new ChangedNames()
  /** To be looked at again as soon as may be. */
  readonly #again = new ChangedNames()
  readonly #gone: string[] = []
  /** Told names whose removal is held. */
  readonly #waiting = new ChangedNames()
  readonly #held: HeldRemoval[] = []
  /** Whether something changed that may be under other paths too: a file with several names, or what links lead to. */
  hasOtherNames = false
  /** Large files that somebody writes to, by how long they are left alone. */
  readonly #busy = new Map<number, ChangedNames>()

  constructor(run: Run, attempt: number) {
    this.#run = run
    this.#outcome = new Outcome(attempt)
  }

  get counts(): Counts {
    return this.#outcome.counts
  }

  /** @param path of the source where no folder is (any more) */
  gone(path: StorePath): void {
    this.#gone.push(textFromPath(path))
  }

  /** The budget does not allow to remove something at the target. */
  hold(removal: HeldRemoval): void {
    this.#held.push(removal)
  }

  /** Something of a told name is held: it stays in the queue, as a comparison would leave what is older than the migration. */
  waits(folder: StorePath, name: Buffer, isTree: boolean): void {
    this.#waiting.add(folder, name, isTree)
  }

  /** Something changed while it was worked on. @param folder relative to the migration's path */
  again(folder: StorePath, name: Buffer, isTree = true): void {
    this.#again.add(folder, name, isTree)
  }

  leaveAlone(folder: StorePath, name: Buffer, waitMs: number): void {
    const names = this.#busy.get(waitMs) ?? new ChangedNames()
    this.#busy.set(waitMs, names)
    names.add(folder, name)
  }

  /** @param path in the source */
  failedForGood(path: StorePath, error: StoreError, found?: FoundFile): void {
    this.#outcome.failedForGood(path, error, 'file', found)
  }

  /** A whole folder could not be compared. */
  failedFolder(group: ChangedFolder, error: StoreError): void {
    if (this.#outcome.failed(storePath(this.#run, group.folder), error, 'folder')) this.#retry.push(group)
  }

  /** Takes note of what became of the time of a folder that was written into. @param folder relative to the migration's path */
  matched(folder: StorePath, error: StoreError | undefined): void {
    if (error === undefined) return
    if (isDenied(this.#run, error) && folder.length > 0) this.again(parentOf(folder), nameOf(folder), false)
    else if (this.#outcome.unfinished(storePath(this.#run, folder), error))
      this.#retry.push({ folder, names: [], trees: [], scope: 'names' })
  }

  /** Works on a name of a folder; what goes wrong with it is its own. */
  async trying(folder: StorePath, name: Buffer, isTree: boolean, work: () => Promise<void>): Promise<void> {
    const { stop } = this.#run
    stop.check()
    try {
      await work()
    } catch (error) {
      stop.check()
      const known = storeError(error)
      // It went while it was looked at, which is told too; a comparison comes again.
      if (known.failure === 'gone') return await requireStore(this.#run)
      if (known.failure === 'changed') this.again(folder, name, isTree)
      else {
        const path = joinPath(storePath(this.#run, folder), name)
        if (this.#outcome.failed(path, known, isTree ? 'tree' : 'file'))
          this.#retryNames.add(folder, name, isTree)
      }
    }
  }

  /** Items of what is to be tried again. */
  get retries(): Uint8Array<ArrayBuffer>[] {
    const head = this.#outcome.next
    const waiting = { attempt: 1, notBeforeMs: Date.now() + heldForMs }
    return [
      ...(head === undefined ? [] : reconcileItems([...this.#retry, ...this.#retryNames.groups], head)),
      ...reconcileItems(this.#waiting.groups, waiting),
    ]
  }

  /** @param copied what came of what was copied at once; its counts are in those of the account */
  result(
    copied: ItemResult | undefined,
    { busy, warning }: { busy: Uint8Array[]; warning: string | undefined },
  ): ItemResult {
    const { counts, failures } = this.#outcome.result(undefined)
    const emptied =
      warning === undefined ? undefined : ({ reason: 'SOURCE_EMPTY', message: warning } as const)
    const deferral = this.#outcome.deferral ?? copied?.deferral ?? emptied
    return {
      counts,
      failures: [...failures, ...(copied?.failures ?? [])],
      ...(this.hasOtherNames ? { hasOtherNames: true } : {}),
      ...(this.#gone.length === 0 ? {} : { gone: this.#gone }),
      ...(this.#held.length === 0 ? {} : { held: this.#held }),
      ...(copied?.vanished === undefined ? {} : { vanished: copied.vanished }),
      ...(deferral === undefined ? {} : { deferral }),
      again: [
        ...this.#again.items(),
        ...Array.from(this.#busy, ([waitMs, names]) => names.items(Date.now() + waitMs)).flat(),
        ...(copied?.again ?? []),
      ],
      busy,
    }
  }
}
