import type { StorePath } from '../../drivers/contract/driver.ts'
import type { Children } from '../items/children.ts'
import { type DescentBounds, usualBounds } from '../items/descent.ts'
import { type ChangedFolder, maxRegionFolders, type Reconcile } from '../items/items.ts'

/** What a folder counts for besides its entries: what was compared is told of, and read by the main thread. */
const entriesOfFolder = 20

/**
 * Folders that a comparison finds, each to be compared with all that is below it. They become items; a deep item compares
 * them itself, the last found first, and hands on what is beyond the bounds.
 */
export class Trees {
  readonly isDeep: boolean
  readonly #children: Pick<Children, 'tree'>
  readonly #bounds: DescentBounds
  readonly #found: ChangedFolder[] = []
  #entries = 0

  constructor(
    { isDeep = false }: Pick<Reconcile, 'isDeep'>,
    children: Pick<Children, 'tree'>,
    bounds = usualBounds,
  ) {
    this.isDeep = isDeep
    this.#children = children
    this.#bounds = bounds
  }

  add(folder: StorePath, scope: 'tree' | 'content'): void {
    if (this.isDeep && !this.#isSpent && this.#found.length < this.#bounds.waiting)
      this.#found.push({ folder, names: [], trees: [], scope })
    else this.#children.tree(folder, scope)
  }

  /** So many entries of a folder were compared. */
  count(entries: number): void {
    this.#entries += entries
  }

  /** What the item itself compares next; nothing when it is done, or the rest was handed on. */
  next(): ChangedFolder[] {
    if (this.#isSpent) {
      for (const { folder, scope } of this.#found.splice(0))
        this.#children.tree(folder, scope === 'content' ? scope : 'tree')
    }
    const next = this.#found.splice(-maxRegionFolders)
    this.count(entriesOfFolder * next.length)
    return next
  }

  get #isSpent(): boolean {
    return this.#entries >= this.#bounds.entries
  }
}
