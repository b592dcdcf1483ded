import { LRUCache } from 'lru-cache'
import type { StorePath } from '../contract/driver.ts'
import type { LocalRoot, Pinned } from './root.ts'

/** More than any work uses at once; a batch of names is mostly of one folder. */
const maxOpen = 16

/**
 * Folders of a root that are open for what follows in the same turn of the event loop, so that a batch of names opens its
 * folder once. No longer: by the next turn another folder may have the path, and who is told of that must find it.
 */
export class OpenFolders {
  readonly #root: LocalRoot
  /** By path, as latin1. */
  readonly #open = new LRUCache<string, Pinned>({ max: maxOpen, dispose: (folder) => folder.close() })
  #nextTurn: NodeJS.Immediate | undefined

  constructor(root: LocalRoot) {
    this.#root = root
  }

  /** To be used at once: it is closed when many others are opened, and with the turn. Throws as `LocalRoot.open` does. */
  at(folder: StorePath): Pinned {
    const key = folder.toString('latin1')
    const known = this.#open.get(key)
    if (known !== undefined) return known
    const opened = this.#root.open(folder)
    this.#open.set(key, opened)
    this.#nextTurn ??= setImmediate(() => this.closeAll())
    return opened
  }

  /** To be called for what was removed: something else may take its place. */
  forget(path: StorePath): void {
    this.#open.delete(path.toString('latin1'))
  }

  /** To be called when a folder may have another place, with all that is in it. */
  closeAll(): void {
    clearImmediate(this.#nextTurn)
    this.#nextTurn = undefined
    this.#open.clear()
  }
}
