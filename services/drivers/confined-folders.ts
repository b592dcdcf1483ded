import type { StorePath } from './driver.ts'
import type { LocalRoot } from './local-root.ts'

/** Looks at the places of folders hold for no longer than this: the engine asks several times for each name of a batch. */
const holdMs = 50

/** Folders that are known to lie inside a root, for a moment. */
export class ConfinedFolders {
  readonly #root: LocalRoot
  /** As latin1. */
  readonly #known = new Set<string>()
  #untilMs = 0

  constructor(root: LocalRoot) {
    this.#root = root
  }

  /** Throws as `LocalRoot.confine` does. */
  require(folder: StorePath): void {
    const key = folder.toString('latin1')
    const now = performance.now()
    if (now > this.#untilMs) {
      this.#known.clear()
      this.#untilMs = now + holdMs
    }
    if (this.#known.has(key)) return
    this.#root.confine(folder)
    this.#known.add(key)
  }

  /** To be called for what was removed: a link may take its place. */
  forget(path: StorePath): void {
    this.#known.delete(path.toString('latin1'))
  }

  /** To be called when a folder may have another place, with all that is in it. */
  forgetAll(): void {
    this.#known.clear()
  }
}
