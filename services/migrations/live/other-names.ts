import { longMs, monotonicMs } from '../../../broker/common/monotonic.ts'

/** What is written within so long needs one comparison. */
const minPauseMs = 1_000
/** After one there is none for so many times as long as it worked. */
const pauseFactor = 10

/**
 * Files with several names (hard links): a write is told under the name that it came by, and only a comparison of
 * everything finds the others. One comes at once, and the next ones so far apart that they are a small part of all work.
 */
export class OtherNames {
  readonly #compare: (sinceMs: number) => void
  #sinceMs: number | undefined
  #begunMs: number | undefined
  #workedMs = 0
  #notBeforeMs = 0
  #timer: NodeJS.Timeout | undefined

  /** @param compare is to compare everything */
  constructor(compare: (sinceMs: number) => void) {
    this.#compare = compare
  }

  /** Since when a file may be stale under another name; undefined when none is. */
  get sinceMs(): number | undefined {
    return this.#sinceMs
  }

  /** When everything is compared for a file that has waited for long (`monotonicMs`); undefined without such a file. */
  get comparesMs(): number | undefined {
    const waitsLong = this.#sinceMs !== undefined && this.#sinceMs < monotonicMs() - longMs
    return waitsLong && this.#timer !== undefined ? this.#notBeforeMs : undefined
  }

  /** Such a file was written to. */
  written(sinceMs: number): void {
    this.#sinceMs ??= sinceMs
    this.#schedule()
  }

  /** Everything begins to be compared, for whatever reason. */
  comparing(): void {
    this.close()
    this.#sinceMs = undefined
    this.#begunMs = monotonicMs()
    this.#workedMs = 0
  }

  /** An item of the comparison that is under way was worked on for so long. */
  worked(ms: number): void {
    this.#workedMs += ms
  }

  /** Everything was compared. What of that was waiting, as for another try of a path, kept nobody from other work. */
  compared(): void {
    const now = monotonicMs()
    const tookMs = Math.min(now - (this.#begunMs ?? now), this.#workedMs)
    this.#notBeforeMs = now + Math.max(minPauseMs, pauseFactor * tookMs)
    this.#begunMs = undefined
    this.#schedule()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #schedule(): void {
    const sinceMs = this.#sinceMs
    if (sinceMs === undefined || this.#begunMs !== undefined || this.#timer !== undefined) return
    const waitMs = Math.max(0, this.#notBeforeMs - monotonicMs())
    this.#timer = setTimeout(() => this.#compare(sinceMs), waitMs)
  }
}
