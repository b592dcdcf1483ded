import type { DirtyFolder } from '../../drivers/feeds/dirty-folders.ts'

interface Telling {
  /** When the youngest change of it was seen (`monotonicMs`). */
  readonly untilMs: number
  /** Whether everything is to be compared for it. */
  readonly isEverything: boolean
  readonly done: () => void
}

/**
 * What a feed told that is not at the target yet. Something is there when nothing waits that is as old: each change keeps the
 * time of its first telling, whatever it is put together with, put off or tried again. So no telling needs a list of its own.
 */
export class Told {
  readonly #waiting = new Set<Telling>()

  get size(): number {
    return this.#waiting.size
  }

  add(folders: readonly DirtyFolder[], done: () => void): void {
    const untilMs = Math.max(...folders.map(({ sinceMs }) => sinceMs), Number.NEGATIVE_INFINITY)
    const isEverything = folders.some(({ folder, scope }) => folder === '' && scope === 'tree')
    this.#waiting.add({ untilMs, isEverything, done })
  }

  /**
   * Says of all that is older than what still waits that it is done.
   * @param toldMs since when the oldest waits of what was told; undefined without any
   * @param comparingMs since when a comparison of everything is due or under way, the same
   */
  done(toldMs: number | undefined, comparingMs: number | undefined): void {
    for (const telling of this.#waiting) {
      if (toldMs !== undefined && toldMs <= telling.untilMs) continue
      if (telling.isEverything && comparingMs !== undefined && comparingMs <= telling.untilMs) continue
      this.#waiting.delete(telling)
      telling.done()
    }
  }
}
