import type { StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import type { Item } from './items.ts'
import { foldersOf } from './descent.ts'

/** What an item deals with in a folder. */
interface Look {
  /** Relative to the migration's path. */
  readonly folder: StorePath
  readonly names: readonly Buffer[]
  /** Of the names those that are dealt with together with all that is below them, by other items. */
  readonly trees: readonly Buffer[]
  /** The folder is listed, and what is below it dealt with by other items. */
  readonly isListed: boolean
  /** Whatever is in it is dealt with. */
  readonly hasAll: boolean
  /** So is whatever is below that, by other items: what these are not made for is not there. */
  readonly hasTree: boolean
}

/** What an item deals with itself; for what its listings find it makes others. */
export function looksOf(item: Item): Look[] {
  switch (item.kind) {
    case 'region':
      return Array.from(foldersOf(item), ({ path }) => ({
        folder: path,
        names: [],
        trees: [],
        isListed: true,
        hasAll: false,
        hasTree: false,
      }))
    case 'transfer':
      return item.groups.map(({ folder, files, others }) => look(folder, [...files, ...others]))
    case 'large':
      return [look(parentOf(item.path), [nameOf(item.path)])]
    case 'reconcile':
      return item.groups.map(({ folder, names, trees, scope }) => {
        const isWhole = scope !== 'names'
        const hasTree = scope === 'tree' || scope === 'content'
        return { ...look(folder, [...names, ...trees]), trees, isListed: hasTree, hasAll: isWhole, hasTree }
      })
    // A part is no file yet, and a folder that is finished was made before.
    case 'parts':
    case 'folders':
      return []
  }
}

const look = (folder: StorePath, names: readonly Buffer[]): Look => ({
  folder,
  names,
  trees: [],
  isListed: false,
  hasAll: false,
  hasTree: false,
})
