import { monotonicMs } from '../../../broker/common/monotonic.ts'

/**
 * What is compared besides the names: nothing, all entries of the folder, those and all that is below them, or that by
 * content, as another folder may stand there whose files have the same names, sizes and times. Each has the one before it.
 */
export const changeScopes = ['names', 'folder', 'tree', 'content'] as const
export type ChangeScope = (typeof changeScopes)[number]

/** The scope that has both. */
export const widerScope = (a: ChangeScope, b: ChangeScope): ChangeScope =>
  changeScopes.indexOf(a) > changeScopes.indexOf(b) ? a : b

/**
 * Names that are remembered over all folders, some 100 bytes each. Beyond them a folder is compared as a whole, which
 * finds all but one thing: whether an entry that the target had before the migration was deleted at the source.
 */
const maxNames = 200_000

/** A folder that changed, what is known of it, and since when. Paths and names as latin1, a character a byte: plain data. */
export interface DirtyFolder {
  readonly folder: string
  readonly names: readonly string[]
  readonly trees: readonly string[]
  readonly scope: ChangeScope
  /** When the oldest change was seen (`monotonicMs`). */
  readonly sinceMs: number
}

/** Something that has another path now. Both are below the folder whose changes count, as latin1; plain data. */
export interface Renamed {
  readonly from: string
  readonly to: string
}

/** Those within a folder, as it sees them; what came into it or left it is no renaming there. @param below empty for all */
export function renamedBelow(below: string, renamed: readonly Renamed[]): Renamed[] {
  const above = below === '' ? '' : `${below}/`
  const isIn = (path: string) => path.startsWith(above) && path.length > above.length
  return renamed
    .filter(({ from, to }) => isIn(from) && isIn(to))
    .map(({ from, to }) => ({ from: from.slice(above.length), to: to.slice(above.length) }))
}

/** The same at the target. */
export interface RenamedThere extends Renamed {
  readonly isFolder: boolean
}

/** What was told of folders once these were renamed at the target too: what is in them is where it belongs, most likely. */
export function afterRenaming(
  folders: readonly DirtyFolder[],
  renamed: readonly RenamedThere[],
): readonly DirtyFolder[] {
  if (renamed.length === 0) return folders
  const there = new Map(renamed.map(({ to, isFolder }) => [to, isFolder]))
  return folders.flatMap((folder) => {
    const pathOf = (name: string) => (folder.folder === '' ? name : `${folder.folder}/${name}`)
    const moved = folder.trees.filter((name) => there.has(pathOf(name)))
    const trees = folder.trees.filter((name) => !there.has(pathOf(name)))
    if (moved.length === 0) return [folder]
    const below = moved
      .map(pathOf)
      .filter((path) => there.get(path) === true)
      .map((path) => ({ ...everythingSince(folder.sinceMs), folder: path }))
    return [{ ...folder, names: [...folder.names, ...moved], trees }, ...below]
  })
}

/** All that there is may have changed, since a moment (`monotonicMs`). */
export const everythingSince = (sinceMs: number): DirtyFolder => ({
  folder: '',
  names: [],
  trees: [],
  scope: 'tree',
  sinceMs,
})

interface Dirty {
  /** Whether the name stands for all that is below it. */
  readonly names: Map<string, boolean>
  scope: ChangeScope
  sinceMs: number
}

export interface TakeBounds {
  readonly folders: number
  readonly names: number
}

const unbounded: TakeBounds = { folders: Number.POSITIVE_INFINITY, names: Number.POSITIVE_INFINITY }

/** Folders that changed, each once, with what is known to have changed in it. */
export class DirtyFolders {
  /** In the order of their first change. */
  readonly #folders = new Map<string, Dirty>()
  readonly #maxNames: number
  #names = 0

  constructor(limit = maxNames) {
    this.#maxNames = limit
  }

  /** Folders that wait. */
  get size(): number {
    return this.#folders.size
  }

  /** Changes that wait: names, and folders as a whole. */
  get changes(): number {
    return this.#folders.values().reduce((sum, { scope }) => sum + (scope === 'names' ? 0 : 1), this.#names)
  }

  /** When the oldest change was seen; undefined without any. */
  get oldestMs(): number | undefined {
    const oldest = this.#folders
      .values()
      .reduce((min, { sinceMs }) => Math.min(min, sinceMs), Number.POSITIVE_INFINITY)
    return this.size === 0 ? undefined : oldest
  }

  /** A name in a folder; `isTree` when all that is below it may be new. */
  addName(folder: string, name: string, isTree = false, sinceMs = monotonicMs()): void {
    const dirty = this.#of(folder, sinceMs)
    const known = dirty.names.get(name)
    if (known === undefined && this.#names >= this.#maxNames) {
      dirty.scope = widerScope(dirty.scope, isTree ? 'content' : 'folder')
      return
    }
    if (known === undefined) this.#names++
    if (known !== true) dirty.names.set(name, isTree)
  }

  /** A path below the folder of the feed. */
  addPath(path: string, isTree: boolean, sinceMs: number): void {
    const at = path.lastIndexOf('/')
    this.addName(path.slice(0, Math.max(at, 0)), path.slice(at + 1), isTree, sinceMs)
  }

  /** A folder as a whole, with or without all that is below it. */
  addFolder(folder: string, scope: ChangeScope, sinceMs = monotonicMs()): void {
    const dirty = this.#of(folder, sinceMs)
    dirty.scope = widerScope(dirty.scope, scope)
  }

  add({ folder, names, trees, scope, sinceMs }: DirtyFolder): void {
    if (scope !== 'names') this.addFolder(folder, scope, sinceMs)
    for (const name of names) this.addName(folder, name, false, sinceMs)
    for (const name of trees) this.addName(folder, name, true, sinceMs)
  }

  /** Takes out the oldest folders, up to a number of folders and names; not those that `mayTake` keeps back. */
  take(bounds: TakeBounds = unbounded, mayTake: (folder: string) => boolean = () => true): DirtyFolder[] {
    const taken: DirtyFolder[] = []
    let left = bounds.names
    for (const [folder, dirty] of this.#folders) {
      if (taken.length >= bounds.folders || left <= 0) break
      if (!mayTake(folder)) continue
      const isPart = dirty.names.size > left
      const names = isPart ? [...dirty.names.entries().take(left)] : [...dirty.names]
      if (isPart) for (const [name] of names) dirty.names.delete(name)
      else this.#folders.delete(folder)
      this.#names -= names.length
      left -= names.length
      taken.push({
        folder,
        names: names.filter(([, isTree]) => !isTree).map(([name]) => name),
        trees: names.filter(([, isTree]) => isTree).map(([name]) => name),
        scope: isPart ? 'names' : dirty.scope,
        sinceMs: dirty.sinceMs,
      })
    }
    return taken
  }

  #of(folder: string, sinceMs: number): Dirty {
    const known = this.#folders.get(folder)
    if (known !== undefined) {
      known.sinceMs = Math.min(known.sinceMs, sinceMs)
      return known
    }
    const made: Dirty = { names: new Map(), scope: 'names', sinceMs }
    this.#folders.set(folder, made)
    return made
  }
}
