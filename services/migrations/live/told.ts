import type { DirtyFolder } from '../../drivers/feeds/dirty-folders.ts'

interface Telling {
  /** When the youngest change of it was seen (`monotonicMs`). */
  readonly untilMs: number
  readonly done: () => void
}

/** Tellings by the time of their youngest change. Most come in that order. */
class Waiting {
  readonly #tellings: Telling[] = []
  /** Those before it are done. */
  #first = 0

  get size(): number {
    return this.#tellings.length - this.#first
  }

  add(telling: Telling): void {
    let index = this.#tellings.length
    while (index > this.#first && this.#tellings[index - 1]!.untilMs > telling.untilMs) index--
    this.#tellings.splice(index, 0, telling)
  }

  /** Says of those before a moment that they are done. */
  done(beforeMs: number): void {
    while (this.size > 0 && this.#tellings[this.#first]!.untilMs < beforeMs)
      this.#tellings[this.#first++]!.done()
    if (this.#first * 2 < this.#tellings.length) return
    this.#tellings.splice(0, this.#first)
    this.#first = 0
  }
}

/**
 * What a feed told that is not at the target yet. Something is there when nothing waits that is as old: each change keeps the
 * time of its first telling, whatever it is put together with, put off or tried again. So no telling needs a list of its own.
 */
export class Told {
  readonly #some = new Waiting()
  /** Those for which everything is to be compared. */
  readonly #all = new Waiting()

  get size(): number {
    return this.#some.size + this.#all.size
  }

  add(folders: readonly DirtyFolder[], done: () => void): void {
    const untilMs = Math.max(...folders.map(({ sinceMs }) => sinceMs), Number.NEGATIVE_INFINITY)
    const isEverything = folders.some(({ folder, scope }) => folder === '' && scope === 'tree')
    const waiting = isEverything ? this.#all : this.#some
    waiting.add({ untilMs, done })
  }

  /**
   * Says of all that is older than what still waits that it is done.
   * @param toldMs since when the oldest waits of what was told; undefined without any
   * @param comparingMs since when a comparison of everything is due or under way, the same
   */
  done(toldMs = Number.POSITIVE_INFINITY, comparingMs = Number.POSITIVE_INFINITY): void {
    this.#some.done(toldMs)
    this.#all.done(Math.min(toldMs, comparingMs))
  }
}
