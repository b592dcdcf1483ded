import type { StorePath } from '../../drivers/contract/driver.ts'
import type { Children } from '../items/children.ts'
import { FoundBelow, usualBounds } from '../items/found-below.ts'
import { type ChangedFolder, maxRegionFolders, type Reconcile } from '../items/items.ts'

/** What a folder counts for besides its entries: what was compared is told of, and read by the main thread. */
const entriesOfFolder = 20

/** Folders that a comparison finds, each to be compared with all that is below it, by the item itself or by others. */
export class Trees {
  readonly #children: Pick<Children, 'tree'>
  readonly #found: FoundBelow<ChangedFolder>

  constructor(
    { isDeep = false }: Pick<Reconcile, 'isDeep'>,
    children: Pick<Children, 'tree'>,
    bounds = usualBounds,
  ) {
    this.#children = children
    this.#found = new FoundBelow(isDeep, bounds)
  }

  get isDeep(): boolean {
    return this.#found.isDeep
  }

  add(folder: StorePath, scope: 'tree' | 'content'): void {
    if (this.#found.hasRoom) this.#found.add({ folder, names: [], trees: [], scope })
    else this.#children.tree(folder, scope)
  }

  /** So many entries of a folder were compared. */
  count(entries: number): void {
    this.#found.count(entries)
  }

  /** What the item itself compares next; nothing when it is done, or the rest was handed on. */
  next(): ChangedFolder[] {
    const next = this.#found.take(maxRegionFolders, ({ folder, scope }) =>
      this.#children.tree(folder, scope === 'content' ? scope : 'tree'),
    )
    this.count(entriesOfFolder * next.length)
    return next
  }
}
