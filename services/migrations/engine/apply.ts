import { StoreError, type Entry, type StorePath } from '../../drivers/driver.ts'
import { nameOf, parentOf } from '../../drivers/local-root.ts'
import type { Beside } from './beside.ts'
import { ChangedNames, reconcileItems } from './changed-folders.ts'
import type { Children } from './children.ts'
import { concurrently } from './concurrently.ts'
import { Copies } from './copies.ts'
import { add, type ItemResult } from './counts.ts'
import { makeFolder, makeRealFolders } from './folders.ts'
import type { ChangedFolder } from './items.ts'
import { hasMode, hasSameLink, isOwn, isSkipped, isWatched, missingAt, quietMs } from './live.ts'
import { Outcome, storeError } from './outcome.ts'
import { joinPath } from './paths.ts'
import { mayRemoveAll, mayRemoveOwn, removeTree } from './remove-tree.ts'
import { atTarget, concurrencyOf, storePath, type Run } from './run.ts'

/** A folder whose entries are compared. */
export interface Place {
  /** Relative to the migration's path. */
  readonly folder: StorePath
  /** In the stores. */
  readonly path: StorePath
  /** Makes it at the target, if it is not there; asks once. */
  readonly make: () => Promise<void>
}

/** How an entry came to be compared. */
interface How {
  /** Somebody was told of its name: what is in its way goes, whoever made it. */
  readonly isTold: boolean
  /** A folder is compared with all that is below it. */
  readonly isTree: boolean
}

/** Applies differences between source and target, and keeps account of what came of it. */
export class Applying {
  readonly #run: Run
  readonly #children: Children
  readonly #outcome: Outcome
  readonly #copies: Copies
  readonly #retry: ChangedFolder[] = []
  readonly #retryNames = new ChangedNames()
  /** To be looked at again as soon as may be. */
  readonly #again = new ChangedNames()
  /** Large files that somebody writes to, by how long they are left alone. */
  readonly #busy = new Map<number, ChangedNames>()
  /** Removed once all is copied: after a renaming, the content is then never away from the target. */
  readonly #removals: { place: Place; entry: Entry }[] = []
  /** Folders of the target that are there, and no links. */
  readonly #real = new Set<string>()
  #refusal: string | undefined

  constructor(run: Run, attempt: number, children: Children) {
    this.#run = run
    this.#children = children
    this.#outcome = new Outcome(attempt)
    this.#copies = new Copies(run, children, this.#outcome.counts)
  }

  /** @param folder one that is at the source */
  async place(folder: StorePath, path: StorePath): Promise<Place> {
    let made: Promise<void> | undefined
    const make = () => (made ??= this.#makePlace(folder))
    // What is removed must not be removed through a link.
    if (this.#run.target.features.symlinks) await make()
    return { folder, path, make }
  }

  /** Compares what is under a name that somebody was told of. */
  async told(place: Place, name: Buffer, isTree: boolean): Promise<void> {
    await this.#trying(place, name, isTree, async () => {
      const path = joinPath(place.path, name)
      const entry = await this.#run.source.stat(path)
      const there = await atTarget(this.#run.target.stat(path))
      if (entry !== undefined) await this.#apply(place, entry, there, { isTold: true, isTree })
      else if (there !== undefined) this.#removals.push({ place, entry: there })
    })
  }

  /** Compares an entry that a listing of the source has with what the target has beside it. */
  async found(place: Place, entry: Entry, there: Entry | undefined, isTree: boolean): Promise<void> {
    await this.#trying(place, entry.name, isTree, () =>
      this.#apply(place, entry, there, { isTold: false, isTree }),
    )
  }

  /** Removes an entry that is only at the target, if the migration brought it there. */
  async isOnly(place: Place, entry: Entry): Promise<void> {
    await this.#trying(place, entry.name, true, async () => {
      // Something may have been made since the source was listed.
      const now = await this.#run.source.stat(joinPath(place.path, entry.name))
      if (now === undefined) await this.#remove(place, entry, false)
      else this.#again.add(place.folder, entry.name, true)
    })
  }

  /** An empty root is a volume that is not mounted, more likely than the wish to have nothing. */
  async refuseToEmpty(beside: Beside): Promise<void> {
    for await (const batch of beside.rest()) {
      if (batch.some((entry) => isOwn(this.#run, entry)))
        this.#refusal = 'the source is empty: what was copied from it is not removed at the target'
    }
  }

  /** A whole folder could not be compared. */
  failedFolder(group: ChangedFolder, error: StoreError): void {
    if (this.#outcome.failed(joinPath(this.#run.spec.root, group.folder), error)) this.#retry.push(group)
  }

  /** Copies, removes what is gone, and tells what came of it all. */
  async finish(): Promise<ItemResult> {
    const { counts } = this.#outcome
    const copied = await this.#copies.finish()
    if (copied !== undefined) add(counts, copied.counts)
    await concurrently(this.#removals, concurrencyOf(this.#run), ({ place, entry }) =>
      this.#trying(place, entry.name, true, () => this.#remove(place, entry, true)),
    )
    const head = this.#outcome.next
    this.#children.items({
      regions: head === undefined ? [] : reconcileItems([...this.#retry, ...this.#retryNames.groups], head),
      transfers: copied?.retry === undefined ? [] : [copied.retry],
    })
    await this.#children.finish()
    counts.filesChanged += counts.filesMigrated + counts.linksMigrated
    counts.bytesChanged += counts.bytesMigrated
    counts.foldersChanged += counts.foldersMigrated
    const { failures } = this.#outcome.result(undefined)
    const putOff = this.#outcome.putOff ?? copied?.putOff ?? this.#refusal
    return {
      counts,
      failures: [...failures, ...(copied?.failures ?? [])],
      ...(putOff === undefined ? {} : { putOff }),
      again: [
        ...this.#again.items(),
        ...Array.from(this.#busy, ([waitMs, names]) => names.items(Date.now() + waitMs)).flat(),
        ...(copied?.again ?? []),
      ],
      busy: this.#copies.large,
    }
  }

  async #apply(place: Place, entry: Entry, there: Entry | undefined, how: How): Promise<void> {
    const isInTheWay = there !== undefined && (entry.type === 'folder') !== (there.type === 'folder')
    if (isInTheWay && !(await this.#clear(place, there, how))) return
    const beside = isInTheWay ? undefined : there
    if (entry.type === 'folder') await this.#applyFolder(place, entry, beside, how)
    else if (beside === undefined || (await this.#isToCopy(place, entry, beside, how))) {
      const waitMs = how.isTold ? quietMs(this.#run, entry) : 0
      if (waitMs > 0) return this.#leaveAlone(place, entry, waitMs)
      await place.make()
      this.#copies.add(place.folder, entry)
    }
  }

  async #applyFolder(place: Place, entry: Entry, there: Entry | undefined, { isTree }: How): Promise<void> {
    const run = this.#run
    const path = joinPath(place.path, entry.name)
    if (there === undefined) {
      await place.make()
      await makeFolder(run, path, entry.mode)
      const { counts } = this.#outcome
      counts.foldersScanned++
      counts.foldersMigrated++
      const now = isWatched(run) ? await run.source.stat(path) : entry
      if (now?.type !== 'folder' || !hasMode(run, now, entry)) this.#again.add(place.folder, entry.name, true)
    } else if (!hasMode(run, entry, there)) await atTarget(run.target.setAttributes(path, entry))
    // What is new here may be full.
    if (isTree || there === undefined) this.#children.tree(joinPath(place.folder, entry.name))
  }

  /** Whether the entry is to be copied over what the target has; its attributes alone are set here. */
  async #isToCopy(place: Place, entry: Entry, there: Entry, { isTold }: How): Promise<boolean> {
    const run = this.#run
    if (entry.type !== there.type || entry.type === 'other') return true
    const path = joinPath(place.path, entry.name)
    if (entry.type === 'symlink') return !(await hasSameLink(run, path))
    if (!isTold && isSkipped(run, entry, there)) return false
    const missing = missingAt(run, entry, there)
    if (missing !== 'mode') return missing === 'copy'
    try {
      await run.target.setAttributes(path, entry)
      return false
    } catch {
      // A copy needs fewer rights than a change of what is there, and says what is wrong.
      return true
    }
  }

  /** Removes a folder where something else belongs, or the other way round; false when it must stay. */
  async #clear(place: Place, there: Entry, { isTold }: How): Promise<boolean> {
    const path = joinPath(place.path, there.name)
    const may = isTold ? mayRemoveAll : mayRemoveOwn(this.#run)
    if (await removeTree(this.#run, path, there, may, this.#outcome.counts)) return true
    const what = there.type === 'folder' ? 'a folder' : 'something else'
    const reason = `target: ${what} that was there before the migration is where this should go`
    this.#outcome.failed(path, new StoreError('unsupported', reason))
    return false
  }

  async #remove(place: Place, entry: Entry, isTold: boolean): Promise<void> {
    const run = this.#run
    const path = joinPath(place.path, entry.name)
    const may = isTold ? mayRemoveAll : mayRemoveOwn(run)
    await removeTree(run, path, entry, may, this.#outcome.counts)
    if (!isWatched(run)) return
    // Made again before it was removed, and copied again meanwhile: that copy is gone now.
    if ((await run.source.stat(path)) !== undefined) this.#again.add(place.folder, entry.name, true)
  }

  /** Makes a folder that is being compared, those above it too. */
  async #makePlace(folder: StorePath): Promise<void> {
    const made = await makeRealFolders(this.#run, folder, this.#real)
    if (made === undefined || !isWatched(this.#run)) return
    const now = await this.#run.source.stat(storePath(this.#run, made))
    if (now?.type !== 'folder') this.#again.add(parentOf(made), nameOf(made), true)
  }

  #leaveAlone({ folder }: Place, { name }: Entry, waitMs: number): void {
    const names = this.#busy.get(waitMs) ?? new ChangedNames()
    this.#busy.set(waitMs, names)
    names.add(folder, name)
  }

  /** What goes wrong with one name is its own. */
  async #trying(place: Place, name: Buffer, isTree: boolean, work: () => Promise<void>): Promise<void> {
    this.#run.stop.check()
    try {
      await work()
    } catch (error) {
      this.#run.stop.check()
      const known = storeError(error)
      // It went while it was looked at, which is told too; a comparison comes again.
      if (known.failure === 'gone') return
      if (known.failure === 'changed') this.#again.add(place.folder, name, isTree)
      else if (this.#outcome.failed(joinPath(place.path, name), known))
        this.#retryNames.add(place.folder, name, isTree)
    }
  }
}
