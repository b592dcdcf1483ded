import type { Failures } from './failures.ts'

/**
 * Ends a listing whose cursors lead back to one of before: it would never end. Of all cursors it holds one, and notices a circle
 * after some three times as many pages as there are in it, and before it.
 */
export class CursorGuard {
  readonly #failed: Failures['failed']
  readonly #what: () => string
  #held: string | undefined
  /** Pages until the next cursor is held. */
  #left = 1
  #next = 2

  constructor(failed: Failures['failed'], what: () => string) {
    this.#failed = failed
    this.#what = what
  }

  /** Gives the cursor. Throws `io` where it leads back. */
  pass(cursor: string): string {
    if (cursor === this.#held)
      throw this.#failed('io', this.#what(), 'the listing leads back to where it was, and would never end')
    if (--this.#left > 0) return cursor
    this.#held = cursor
    this.#left = this.#next
    this.#next *= 2
    return cursor
  }
}
