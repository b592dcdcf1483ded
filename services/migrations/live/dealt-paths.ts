import type { StorePath } from '../../drivers/contract/driver.ts'
import { decodeItem } from '../../engine/items/item-decode.ts'
import { looksOf } from '../../engine/items/looks.ts'
import { joinPath, textFromPath } from '../../engine/items/paths.ts'

interface Dealt {
  /** In the source. */
  readonly folder: StorePath
  isListed: boolean
  hasAll: boolean
  hasTree: boolean
  readonly names: Buffer[]
  readonly trees: Buffer[]
  /** Made of the names when somebody asks. */
  paths?: ReadonlySet<string>
  /** The same of the trees. */
  treePaths?: ReadonlySet<string>
}

/** The paths that some items deal with themselves, as failures have them. */
export class DealtPaths {
  /** By folder. */
  readonly #dealt = new Map<string, Dealt>()

  /** @param root path of the migration in its source */
  constructor(items: readonly Uint8Array[], root: StorePath) {
    for (const { folder: relative, names, trees, ...look } of items.flatMap((item) =>
      looksOf(decodeItem(item)),
    )) {
      const folder = joinPath(root, relative)
      const text = textFromPath(folder)
      const dealt = this.#dealt.get(text) ?? {
        folder,
        names: [],
        trees: [],
        isListed: false,
        hasAll: false,
        hasTree: false,
      }
      this.#dealt.set(text, dealt)
      dealt.isListed ||= look.isListed
      dealt.hasAll ||= look.hasAll
      dealt.hasTree ||= look.hasTree
      dealt.names.push(...names)
      dealt.trees.push(...trees)
    }
  }

  /** Folders that it lists, or deals with something in. */
  get folders(): Iterable<string> {
    return this.#dealt.keys()
  }

  /** Folders that it deals with all names in. */
  get whole(): string[] {
    return [...this.#dealt].filter(([, { hasAll }]) => hasAll).map(([folder]) => folder)
  }

  /** Folders that are dealt with as a whole, what is below them by other items. */
  get trees(): string[] {
    return [...this.#dealt].filter(([, { hasTree }]) => hasTree).map(([folder]) => folder)
  }

  /** @param isTree with all that is below it, as far as no other items were made for that */
  has(path: string, isTree: boolean): boolean {
    if (isTree && this.#dealt.get(path)?.isListed === true) return true
    const dealt = this.#dealt.get(folderOf(path))
    if (dealt === undefined) return false
    const { folder, names, trees, hasAll, hasTree } = dealt
    const pathsOf = (all: Buffer[]) => new Set(all.map((name) => textFromPath(joinPath(folder, name))))
    if (isTree) return hasTree || (dealt.treePaths ??= pathsOf(trees)).has(path)
    return hasAll || (dealt.paths ??= pathsOf(names)).has(path)
  }

  /** Whether it deals with a path, or with a folder that it is in: through any of them it may have come within reach. */
  isOnWayTo(path: string): boolean {
    for (let at = path; at !== '/'; at = folderOf(at)) if (this.has(at, false)) return true
    return false
  }
}

/** The folder that a path is in, both as text. */
export const folderOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf('/')))

/** Whether a path, or a folder that it is in, is among some. */
export function isWithin(paths: Pick<ReadonlySet<string>, 'has'>, path: string): boolean {
  if (paths.has(path) || paths.has('/')) return true
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
    if (paths.has(path.slice(0, at))) return true
  return false
}
