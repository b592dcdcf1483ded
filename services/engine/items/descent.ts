import type { StorePath } from '../../drivers/contract/driver.ts'
import { joinPath } from './paths.ts'
import { FoundBelow, usualBounds } from './found-below.ts'
import { nameOf } from '../../drivers/paths/path-text.ts'
import type { FolderGroup, Region, Rest } from './items.ts'

/** A folder of an item. */
export interface RegionFolder {
  /** Relative to the migration's path. */
  readonly path: StorePath
  /** Undefined for the start of a scan. */
  readonly group: FolderGroup | undefined
  readonly mode: number | undefined
  /** Whether it was found by the item itself, on its way down. */
  readonly isFound: boolean
  /** Of the start of a scan: where its listing goes on. */
  readonly rest?: Rest
}

/** What an item says of the folders that it is about. */
type OwnFolders = Pick<Region, 'start' | 'rest' | 'groups' | 'isDeep'>

/** Makes an item of a folder, or a part of one. @param parent one object for all entries of a folder */
type HandOn = (parent: StorePath, name: Buffer, mode: number | undefined) => void

/** The folders that an item lists: its own, and where it is deep those that it finds in them, which come first. */
export class Descent {
  readonly #own: RegionFolder[]
  readonly #found: FoundBelow<RegionFolder>
  readonly #handOn: HandOn
  #group: FolderGroup | undefined

  constructor(item: OwnFolders, handOn: HandOn, bounds = usualBounds) {
    this.#own = [...foldersOf(item)].toReversed()
    this.#found = new FoundBelow(item.isDeep === true, bounds)
    this.#handOn = handOn
  }

  /**
   * Works on the folders, so many at a time, and hands on what is left. Throws the first failure, once what is under way has
   * ended.
   * @param work what it finds, and makes of that, it does in its turn: in the order of the folders, however long each takes
   */
  async each(
    limit: number,
    work: (folder: RegionFolder, turn: Promise<void>) => Promise<void>,
  ): Promise<void> {
    // With several at a time it may be empty for a moment.
    while (this.#own.length > 0 || !this.#found.isEmpty) await this.#some(limit, work)
  }

  /** So many entries were found. */
  count(entries: number): void {
    this.#found.count(entries)
  }

  /** A folder was found in another. @param parent one object for all entries of a folder */
  found(parent: StorePath, name: Buffer, mode: number | undefined): void {
    if (!this.#found.hasRoom) return this.#handOn(parent, name, mode)
    const group = this.#groupOf(parent, mode !== undefined)
    this.#found.add({ path: joinPath(parent, name), group, mode, isFound: true })
  }

  /** Hands on one that was found; false for the item's own. */
  pass({ path, group, mode, isFound }: RegionFolder): boolean {
    if (isFound && group !== undefined) this.#handOn(group.parent, nameOf(path), mode)
    return isFound
  }

  /** Whether it has found as many entries as it may: what is left is for other items. */
  get isSpent(): boolean {
    return this.#found.isSpent
  }

  async #some(
    limit: number,
    work: (folder: RegionFolder, turn: Promise<void>) => Promise<void>,
  ): Promise<void> {
    let failure: { readonly error: unknown } | undefined
    let last = Promise.resolve()
    const lane = async () => {
      for (let next = this.#next(); next !== undefined;) {
        const turn = last
        const own = Promise.withResolvers<void>()
        last = own.promise
        try {
          await work(next, turn)
        } catch (error) {
          failure ??= { error }
        }
        await turn
        // In its turn as well: which one is next depends on what was found.
        next = failure === undefined ? this.#next() : undefined
        own.resolve()
      }
    }
    await Promise.all(Array.from({ length: limit }, lane))
    if (failure !== undefined) throw failure.error
  }

  #next(): RegionFolder | undefined {
    const [found] = this.#found.take(1, (one) => this.pass(one))
    return found ?? this.#own.pop()
  }

  /** What those found in one folder have in common. A store may know the modes of some: those that others made. */
  #groupOf(parent: StorePath, hasMode: boolean): FolderGroup {
    const known = this.#group
    if (known?.parent === parent && (known.modes !== undefined) === hasMode) return known
    this.#group = { parent, names: [], ...(hasMode && { modes: [] }) }
    return this.#group
  }
}

/** The folders of an item. */
export function* foldersOf({ start, rest, groups }: OwnFolders): Generator<RegionFolder> {
  if (start !== undefined)
    yield { path: start, group: undefined, mode: undefined, isFound: false, ...(rest && { rest }) }
  for (const group of groups) {
    for (const [index, name] of group.names.entries()) {
      yield { path: joinPath(group.parent, name), group, mode: group.modes?.[index], isFound: false }
    }
  }
}

/** Some folders of a region, grouped as they are in it. */
export function groupsOf({ start, rest }: OwnFolders, folders: readonly RegionFolder[]): OwnFolders {
  const byGroup = Map.groupBy(folders, ({ group }) => group)
  const groups = [...byGroup].flatMap(([group, members]) =>
    group === undefined ? [] : [groupOf(group, members)],
  )
  const its = start !== undefined && byGroup.has(undefined) ? { start, ...(rest && { rest }) } : {}
  return { ...its, groups }
}

function groupOf({ parent, modes }: FolderGroup, members: readonly RegionFolder[]): FolderGroup {
  const names = members.map(({ path }) => nameOf(path))
  return { parent, names, ...(modes === undefined ? {} : { modes: members.map(({ mode }) => mode ?? 0) }) }
}
