import type { Entry, StoreError, StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { Account } from './account.ts'
import type { Beside } from '../tree/beside.ts'
import { type Brought, broughtFrom, goneMapped } from '../tree/brought.ts'
import type { Children } from '../items/children.ts'
import type { How, Place } from './compared.ts'
import { Copies } from './copies.ts'
import { add, type ItemResult } from '../run/counts.ts'
import { isFolder, isRealThere, makeFolder, makeParents, makeRealFolders } from '../tree/folders.ts'
import type { ChangedFolder } from '../items/items.ts'
import { isInTheWay, mayReplace } from '../tree/in-the-way.ts'
import { isExcluded, judgeFolder } from '../tree/judge.ts'
import { type Refused, withLinks } from '../tree/links.ts'
import {
  followsLinks,
  hasAttributes,
  hasChangedOthers,
  hasSameLink,
  isChangedSince,
  isOwn,
  isOwnThere,
  isSkipped,
  isWatched,
  mayHaveOthers,
  missingAt,
  missingFound,
  quietMs,
} from '../tree/live.ts'
import { isMapped, targetPath } from '../run/mappings.ts'
import { stated } from '../compare/stated.ts'
import { changedBy, dressSkipped, giveAttributes, matchFolder } from '../tree/match-folder.ts'
import { countLosses, linksOf } from '../run/metadata.ts'
import { isName, joinPath } from '../items/paths.ts'
import { Removals } from './removals.ts'
import { comingFrom, mayRemoveAll, mayRemoveOwn } from '../tree/remove-tree.ts'
import { atTarget, concurrencyOf, storePath, type Run } from '../run/run.ts'
import type { FoundName } from '../run/second-look.ts'
import { sizeOfSame } from '../tree/same-content.ts'
import type { Trees } from './trees.ts'
import { isTrash } from '../tree/trash.ts'

/** Applies differences between source and target, and keeps account of what came of it. */
export class Applying {
  readonly #run: Run
  readonly #children: Children
  readonly #trees: Trees
  readonly #account: Account
  readonly #copies: Copies
  readonly #removals: Removals
  /** Folders whose entries were compared, or whose counterparts something was made in. */
  readonly #compared = new Map<string, StorePath>()
  /** Folders of the target that are there, and no links. */
  readonly #real = new Set<string>()
  #refusal: string | undefined

  constructor(run: Run, attempt: number, children: Children, trees: Trees) {
    this.#run = run
    this.#children = children
    this.#trees = trees
    this.#account = new Account(run, attempt)
    this.#copies = new Copies(run, children, this.#account.counts, trees.isDeep)
    this.#removals = new Removals(run, this.#account)
  }

  /**
   * Undefined for one that a rule leaves out.
   * @param folder one that is at the source
   */
  async place(folder: StorePath, path: StorePath): Promise<Place | undefined> {
    const judge = judgeFolder(this.#run, path)
    if (judge.excludedBy !== undefined) return undefined
    let made: Promise<void> | undefined
    const make = () => (made ??= this.#makePlace(folder))
    // What is removed must not be removed through a link.
    if (this.#run.target.capabilities.symlinks && judge.isIncluded) await make()
    this.toMatch(folder)
    return { ...judge, folder, path, make }
  }

  /**
   * A folder that is not at the source any more, with what the target has of it; undefined for one that a rule leaves out, or
   * that the target does not have.
   */
  async emptied(folder: StorePath): Promise<Place | undefined> {
    const path = storePath(this.#run, folder)
    const judge = judgeFolder(this.#run, path)
    if (judge.excludedBy !== undefined || !(await isRealThere(this.#run, folder))) return undefined
    return { ...judge, folder, path, make: () => this.#makePlace(folder) }
  }

  /** The entries of a folder as the migration's choice for symbolic links makes them. */
  async resolved(place: Place, entries: readonly Entry[]): Promise<readonly Entry[]> {
    const found = { counts: this.#account.counts, refused: [] as Refused[] }
    const isLeftOut = (link: Entry) => isExcluded(place.judge(link))
    const resolved = await withLinks(this.#run, place.path, entries, found, isLeftOut)
    for (const { name, error, found: file } of found.refused)
      this.#account.failedForGood(joinPath(place.path, name), error, file)
    return resolved
  }

  /** Compares what is under a name that somebody was told of. */
  async told(place: Place, name: Buffer, isTree: boolean): Promise<void> {
    const run = this.#run
    await this.#account.trying(place.folder, name, isTree, async () => {
      const path = joinPath(place.path, name)
      const found = await run.source.stat(path, run.stop.signal)
      const isGone = found === undefined
      const isNoFolder = !isFolder(run, found)
      if (isNoFolder) this.#account.gone(path)
      // With a folder goes what path mappings have led elsewhere from it.
      const brought = isNoFolder ? await broughtFrom(run, path) : []
      for (const gone of brought.filter(({ at }) => !isGone || !at.origin.equals(path)))
        this.#removals.later({ place, name, type: found?.type, isTree, gone, may: mayRemoveOwn(run) })
      const [entry] = found === undefined ? [] : await this.resolved(place, [found])
      const there = await atTarget(run.target.stat(targetPath(run, path), run.stop.signal))
      // A link that is followed may lead to another folder by now, or to another file of the same size and time.
      const isNew = isTree || found?.type === 'symlink'
      if (isGone && there !== undefined && followsLinks(run)) this.#account.hasOtherNames = true
      if (entry !== undefined)
        return this.#judged(place, entry, there, { isTold: true, isTree: isNew, isReplaced: isNew })
      // That a folder has gone is told of all that was in it: what else has gone was no counterpart of an older folder.
      const mayGo = ({ type }: Entry) => (isGone && isTree) || type !== 'folder'
      const isToGo = there !== undefined && (mayGo(there) || isOwn(run, there))
      if (isToGo && !isExcluded(place.judge({ ...there, name }))) {
        const gone = { at: comingFrom(run, path), entry: there }
        this.#removals.later({ place, name, type: found?.type, isTree, gone, may: mayRemoveAll(run) })
      }
    })
  }

  /** Looks at a told name of a folder that a rule leaves out: what is written to there may have other names elsewhere. */
  async toldLeftOut(folder: StorePath, path: StorePath, name: Buffer, isTree: boolean): Promise<void> {
    await this.#account.trying(folder, name, isTree, async () => {
      const found = await this.#run.source.stat(joinPath(path, name), this.#run.stop.signal)
      if (found !== undefined && hasChangedOthers(this.#run, found, isTree))
        this.#account.hasOtherNames = true
    })
  }

  /** Compares an entry that a listing of the source has with what the target has beside it. */
  async found(place: Place, entry: Entry, there: Entry | undefined, how: Omit<How, 'isTold'>): Promise<void> {
    const run = this.#run
    await this.#account.trying(place.folder, entry.name, how.isTree, async () => {
      const path = joinPath(place.path, entry.name)
      // What goes elsewhere by a path mapping is not beside the others.
      const its = isMapped(run, path)
        ? await atTarget(run.target.stat(targetPath(run, path), run.stop.signal))
        : there
      await this.#judged(place, entry, its, { ...how, isTold: false })
    })
  }

  /** A folder gets its time and what else it lacks when all is done in it. @param folder relative to the migration's path */
  toMatch(folder: StorePath): void {
    this.#compared.set(folder.toString('latin1'), folder)
  }

  /** Removes entries that are only at the target, if the migration brought them there. */
  async areOnly(place: Place, entries: readonly Entry[]): Promise<void> {
    const run = this.#run
    const gone: (Brought & FoundName)[] = []
    await concurrently(entries, concurrencyOf(run), async (entry) => {
      const { name } = entry
      if (isExcluded(place.judge(entry))) return
      await this.#account.trying(place.folder, name, true, async () => {
        const at = { path: joinPath(targetPath(run, place.path), name), origin: joinPath(place.path, name) }
        const now = await run.source.stat(at.origin, run.stop.signal)
        if (now === undefined) gone.push({ at, entry, name, type: undefined })
        // Something was made since the source was listed; a link that is left out was there all the time.
        else if (now.type !== 'symlink' || linksOf(run.spec) === 'keep')
          this.#account.again(place.folder, name)
      })
    })
    if (gone.length === 0) return
    const toGo = await this.#removals.confirmed(place, gone)
    await concurrently(toGo, concurrencyOf(run), ({ name, ...brought }) =>
      this.#account.trying(place.folder, name, true, async () => {
        await this.#removals.remove(place, name, brought, mayRemoveOwn(run))
      }),
    )
  }

  /** Removes what path mappings have brought from folders that are gone, as no listing tells of it. */
  async removeMapped(place: Place): Promise<void> {
    for (const found of await goneMapped(this.#run, place.path)) {
      const { name } = found
      await this.#account.trying(place.folder, name, true, async () => {
        const brought = await broughtFrom(this.#run, joinPath(place.path, name))
        if ((await this.#removals.confirmed(place, [found])).length === 0) return
        for (const gone of brought) await this.#removals.remove(place, name, gone, mayRemoveOwn(this.#run))
      })
    }
  }

  /** An empty root is a volume that is not mounted, more likely than the wish to have nothing. */
  async refuseToEmpty({ path }: Place, beside: Beside | undefined): Promise<void> {
    const run = this.#run
    let isCopied = (await broughtFrom(run, path)).some(({ entry }) => isOwn(run, entry))
    for await (const batch of beside?.rest() ?? [])
      for (const entry of batch) {
        if (isCopied) break
        const at = joinPath(targetPath(run, path), entry.name)
        isCopied = !isTrash(at) && isName(entry.name) && (await isOwnThere(run, at, entry))
      }
    if (isCopied) this.#refusal = 'the source is empty: what was copied from it is not removed at the target'
  }

  /** A whole folder could not be compared. */
  failedFolder(group: ChangedFolder, error: StoreError): void {
    this.#account.failedFolder(group, error)
  }

  /** Copies, removes what is gone, and tells what came of it all. */
  async finish(): Promise<ItemResult> {
    const { counts } = this.#account
    const copied = await this.#copies.finish()
    if (copied !== undefined) add(counts, copied.counts)
    await this.#removals.finish()
    for (const folder of this.#compared.values())
      this.#account.matched(folder, await matchFolder(this.#run, storePath(this.#run, folder), counts))
    this.#children.items({
      regions: this.#account.retries,
      transfers: copied?.retry === undefined ? [] : [copied.retry],
    })
    await this.#children.sendFullBatch()
    counts.filesChanged += counts.filesMigrated + counts.linksMigrated
    counts.bytesChanged += counts.bytesMigrated
    counts.foldersChanged += counts.foldersMigrated
    return this.#account.result(copied, { busy: this.#copies.large, warning: this.#refusal })
  }

  async #judged(place: Place, entry: Entry, there: Entry | undefined, how: How): Promise<void> {
    const judgement = place.judge(entry)
    const isUnknown = judgement !== 'taken' || there === undefined
    if (isUnknown && (how.isTold || how.isReplaced) && hasChangedOthers(this.#run, entry, how.isTree))
      this.#account.hasOtherNames = true
    if (judgement === 'taken')
      return this.#apply(place, entry, there ?? (await this.#renamed(place, entry)), how)
    const isRefused = typeof judgement === 'object' && 'error' in judgement
    if (!isRefused && isInTheWay(entry, there))
      await this.#removeOld(place, entry, { ...there, name: entry.name }, how)
    // Only on the way to what is included: it is made for the first that it holds.
    if (judgement === 'walked') {
      if (how.isTree || there === undefined) this.#below(place, entry, how)
    } else if ('error' in judgement)
      this.#account.failedForGood(joinPath(place.path, entry.name), judgement.error)
    else if (how.isTold) this.#account.counts.eventsExcluded++
  }

  /**
   * What the target does not tell from an entry by its name, and the source has no more under that name: its case was changed,
   * and is changed at the target. Undefined where there is nothing of that kind.
   */
  async #renamed(place: Place, { name }: Entry): Promise<Entry | undefined> {
    const { source, target } = this.#run
    const path = joinPath(place.path, name)
    const to = targetPath(this.#run, path)
    if (target.alike === undefined || target.rename === undefined || isMapped(this.#run, path))
      return undefined
    const other = await atTarget(target.alike(to))
    if (other === undefined || place.judge(other) !== 'taken') return undefined
    if ((await source.stat(joinPath(place.path, other.name), this.#run.stop.signal)) !== undefined)
      return undefined
    await atTarget(target.rename(joinPath(parentOf(to), other.name), to))
    return { ...other, name }
  }

  /** What came under a name is gone, and what has the name now, of another type, is not to come. */
  async #removeOld(place: Place, { type }: Entry, there: Entry, { isTold, isTree }: How): Promise<void> {
    const gone = { at: comingFrom(this.#run, joinPath(place.path, there.name)), entry: there }
    if ((await this.#removals.confirmed(place, [{ name: there.name, type }])).length === 0) return
    const { isHeld } = await this.#removals.remove(place, there.name, gone, mayReplace(this.#run))
    if (isHeld && isTold) this.#account.waits(place.folder, there.name, isTree)
  }

  async #apply(place: Place, entry: Entry, there: Entry | undefined, how: How): Promise<void> {
    // What cannot come is a failure; what came under its name before is as gone at the source as a removed file.
    if (there?.type === 'file' && !this.#canHold(entry))
      await this.#removeOld(place, entry, { ...there, name: entry.name }, how)
    const isOther = isInTheWay(entry, there)
    const beside = isOther ? undefined : there
    if (isOther && !(await this.#removals.clear(place, entry, { ...there, name: entry.name }, how))) return
    if (entry.type === 'folder') await this.#applyFolder(place, entry, beside, how)
    else if (beside === undefined || (await this.#isToCopy(place, entry, beside, how))) {
      const waitMs = how.isTold ? quietMs(this.#run, entry) : 0
      if (waitMs > 0) return this.#account.leaveAlone(place.folder, entry.name, waitMs)
      await place.make()
      this.#copies.add(place.folder, entry)
    }
  }

  #canHold({ type }: Entry): boolean {
    return type !== 'other' && (type !== 'symlink' || this.#run.target.capabilities.symlinks)
  }

  async #applyFolder(place: Place, entry: Entry, there: Entry | undefined, how: How): Promise<void> {
    const { isTree, isTold } = how
    const run = this.#run
    const { counts } = this.#account
    const path = joinPath(place.path, entry.name)
    if (there === undefined) {
      await place.make()
      if (isMapped(run, path)) await makeParents(run, path)
      countLosses(counts, await makeFolder(run, path, entry.mode))
      counts.foldersScanned++
      counts.foldersMigrated++
      const now = isWatched(run) ? await run.source.stat(path, run.stop.signal) : entry
      if (now?.type !== entry.type || !hasAttributes(run, now, entry, true))
        this.#account.again(place.folder, entry.name)
    } else if (isTold || (await this.#hasOther(path, entry, there)))
      await giveAttributes(run, path, this.#account.counts)
    // What is new here may be full.
    if (isTree || there === undefined) this.#below(place, entry, how)
  }

  /** Whether the target's folder may have other attributes than that of the source. */
  async #hasOther(path: StorePath, entry: Entry, itsThere: Entry): Promise<boolean> {
    const run = this.#run
    const both = { source: entry, target: itsThere, at: path, there: targetPath(run, path) }
    const { source, target } = await stated(run, both)
    return !hasAttributes(run, source, target, false) || isChangedSince(run, source, target, false)
  }

  #below(place: Place, entry: Entry, { isReplaced }: How): void {
    this.#trees.add(joinPath(place.folder, entry.name), isReplaced ? 'content' : 'tree')
  }

  /** Whether the entry is to be copied over what the target has; its attributes alone are set here. */
  async #isToCopy(place: Place, its: Entry, itsThere: Entry, { isTold, isReplaced }: How): Promise<boolean> {
    const run = this.#run
    if (its.type !== itsThere.type || its.type === 'other') return true
    const path = joinPath(place.path, its.name)
    if (its.type === 'symlink') return !(await hasSameLink(run, path, isTold))
    const both = { source: its, target: itsThere, at: path, there: targetPath(run, path) }
    const { source: entry, target: there } = await stated(run, both)
    if (!isTold && isSkipped(run, entry, there)) {
      await dressSkipped(run, { path, source: entry, target: there }, this.#account.counts, 'givable')
      return false
    }
    const missing = isTold ? missingAt(run, entry, there, isTold) : missingFound(run, entry, there)
    if (isTold && missing !== 'nothing' && mayHaveOthers(run, entry)) this.#account.hasOtherNames = true
    if (missing === 'copy') return true
    if (missing === 'unknown' || isReplaced) {
      if ((await sizeOfSame(run, path)) === undefined) return true
    } else if (missing === 'nothing') return false
    try {
      await giveAttributes(run, path, this.#account.counts)
      return false
    } catch {
      run.stop.check()
      // A copy needs fewer rights than a change of what is there, and says what is wrong.
      return true
    }
  }

  /** Makes a folder that is being compared, those above it too. */
  async #makePlace(folder: StorePath): Promise<void> {
    const run = this.#run
    const made = await makeRealFolders(run, folder, this.#real)
    if (made === undefined) return
    for (const changed of changedBy(folder, made)) this.toMatch(changed)
    if (!isWatched(run)) return
    const now = await run.source.stat(storePath(run, made), run.stop.signal)
    if (now?.type !== 'folder') this.#account.again(parentOf(made), nameOf(made))
  }
}
