import type { HeldRemovals } from '../engine/counts.ts'
import { holdingMs } from '../engine/removal-budget.ts'

/** When nothing more was held for so long, all that waits is known, most often. */
const quietMs = 250

/** A live migration stops, as somebody has to approve of what it would remove. */
export class RemovalsHeld extends Error {
  readonly held: HeldRemovals

  constructor(held: HeldRemovals) {
    super('there are more removals than may be made without approval')
    this.held = held
  }
}

/** Removals that are held: the work goes on for a moment, so that it is known how much waits, and fails then. */
export class OnHold {
  readonly #fail: (error: RemovalsHeld) => void
  #held: HeldRemovals | undefined
  #sinceMs: number | undefined
  #firstMs = 0
  #timer: NodeJS.Timeout | undefined

  /** @param fail called once */
  constructor(fail: (error: RemovalsHeld) => void) {
    this.#fail = fail
  }

  /** Since when the oldest change waits that they came of; undefined without any. */
  get sinceMs(): number | undefined {
    return this.#sinceMs
  }

  /** @param sinceMs when the change was seen that it came of */
  add({ files, folders, bytes, example }: HeldRemovals, sinceMs: number): void {
    if (this.#held === undefined) this.#firstMs = performance.now()
    const known = (this.#held ??= { files: 0, folders: 0, bytes: 0, example })
    this.#held = {
      files: known.files + files,
      folders: known.folders + folders,
      bytes: known.bytes + bytes,
      example: known.example,
    }
    this.#sinceMs = Math.min(this.#sinceMs ?? sinceMs, sinceMs)
    const leftMs = this.#firstMs + holdingMs - performance.now()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#end(), Math.max(0, Math.min(quietMs, leftMs)))
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #end(): void {
    if (this.#held !== undefined) this.#fail(new RemovalsHeld(this.#held))
  }
}
