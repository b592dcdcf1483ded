import type { Entry } from '../../drivers/contract/driver.ts'
import type { Account } from './account.ts'
import type { Brought } from '../tree/brought.ts'
import type { How, Place } from './compared.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { inTheWay, mayReplace } from '../tree/in-the-way.ts'
import { isWatched } from '../tree/live.ts'
import { joinPath, textFromPath } from '../items/paths.ts'
import {
  asRemoval,
  comingFrom,
  type Left,
  type MayRemove,
  type Removal,
  removalAt,
  removeTree,
} from '../tree/remove-tree.ts'
import { concurrencyOf, type Run } from '../run/run.ts'
import { confirmed, type FoundName } from '../run/second-look.ts'
import { isTrash } from '../tree/trash.ts'

/** What the target has of a name that somebody was told of, and that is gone at the source. */
export interface ToldRemoval extends FoundName {
  readonly place: Place
  readonly isTree: boolean
  readonly gone: Brought
  readonly may: MayRemove
}

/**
 * Removes at the target of a live migration what is gone at the source: as much as its budget allows, and into its trash
 * where it has one. The trash itself never goes.
 */
export class Removals {
  readonly #run: Run
  readonly #account: Account
  readonly #told: ToldRemoval[] = []
  readonly #how: ReturnType<typeof removalAt>

  constructor(run: Run, account: Account) {
    this.#run = run
    this.#account = account
    this.#how = removalAt(run)
  }

  /** To be removed once all is copied: after a renaming, the content is then never away from the target. */
  later(removal: ToldRemoval): void {
    this.#told.push(removal)
  }

  async finish(): Promise<void> {
    const byPlace = Map.groupBy(this.#told, ({ place }) => place)
    const toGo: ToldRemoval[] = []
    for (const [place, told] of byPlace) toGo.push(...(await this.confirmed(place, told)))
    await concurrently(toGo, concurrencyOf(this.#run), ({ place, name, isTree, gone, may }) =>
      this.#account.trying(place.folder, name, true, async () => {
        const { isHeld } = await this.remove(place, name, gone, may)
        if (isHeld) this.#account.waits(place.folder, name, isTree)
      }),
    )
  }

  /** Those that are still what they were found to be (`confirmed`); the others are looked at again. */
  async confirmed<N extends FoundName>(place: Place, found: readonly N[]): Promise<readonly N[]> {
    const still = await confirmed(this.#run, place.path, found)
    if (still.length < found.length) {
      const known = new Set(still)
      for (const one of found) if (!known.has(one)) this.#account.again(place.folder, one.name)
    }
    return still
  }

  /**
   * Removes what came from a folder, the source being what it was when that was found (`confirmed`). What is held and was not told is found by the next comparison.
   * @param name of what is gone from the folder, with all that mappings have brought from it
   */
  async remove(place: Place, name: Buffer, gone: Brought, may: MayRemove): Promise<{ isHeld: boolean }> {
    const run = this.#run
    const { isHeld } = await asRemoval(this.#removeTree(gone, may))
    if (isWatched(run)) {
      // Made again before it was removed, and copied again meanwhile: that copy is gone now.
      const now = await run.source.stat(gone.at.origin, run.stop.signal)
      if (now !== undefined && (now.type === 'folder' || gone.entry.type !== 'folder'))
        this.#account.again(place.folder, name)
    }
    return { isHeld }
  }

  /** Removes a folder where something else belongs, or the other way round; false when it stays, for now or for good. */
  async clear(place: Place, { type }: Entry, there: Entry, { isTold, isTree }: How): Promise<boolean> {
    const run = this.#run
    const path = joinPath(place.path, there.name)
    if ((await this.confirmed(place, [{ name: there.name, type }])).length === 0) return false
    const { left, isHeld } = await this.#removeTree(
      { at: comingFrom(run, path), entry: there },
      mayReplace(run),
    )
    if (left === 'nothing') return true
    if (!isHeld) this.#account.failedForGood(path, inTheWay(there))
    else if (isTold) this.#account.waits(place.folder, there.name, isTree)
    return false
  }

  async #removeTree({ at, entry }: Brought, may: MayRemove): Promise<{ left: Left; isHeld: boolean }> {
    const { counts } = this.#account
    const held = { files: 0, folders: 0, bytes: 0 }
    const isHeld = () => held.files + held.folders > 0
    const removal: Removal = {
      ...this.#how,
      mayRemove: (its, one) => (isTrash(its.path) ? false : may(its, one)),
      removed: ({ type }) => counts[type === 'folder' ? 'foldersRemoved' : 'filesRemoved']++,
      held: ({ type, sizeBytes }) => {
        if (type === 'folder') held.folders++
        else {
          held.files++
          held.bytes += sizeBytes
        }
      },
    }
    try {
      const left = await removeTree(this.#run, removal, at, entry)
      return { left, isHeld: isHeld() }
    } finally {
      if (isHeld()) this.#account.hold({ path: textFromPath(at.origin), ...held })
    }
  }
}
