import { add, type Counts, noCounts } from '../../engine/run/counts.ts'
import type { Moved } from '../../engine/run/meter.ts'

/** Sums up what an agent has moved since it came: what is counted, and what is under way. */
export class MovedSoFar {
  #bytes = 0
  #files = 0

  add({ bytes, files }: Moved): void {
    this.#bytes += bytes
    this.#files += files
  }

  /** What is given up when much of it was there takes its bytes along. */
  get all(): Moved {
    return { bytes: Math.max(0, this.#bytes), files: Math.max(0, this.#files) }
  }
}

/** "Lately" is this long at least: two heartbeats of an agent. */
const windowMs = 10_000

/** What an agent has moved, and how fast lately. */
export class Throughput {
  /** Of items that are counted. */
  readonly total = noCounts()
  /** What it said, the oldest first: that of the window, and one before it. */
  #said: { readonly atMs: number; readonly moved: Moved }[] = []

  add(counts: Readonly<Counts>): void {
    add(this.total, counts)
  }

  says(moved: Moved, nowMs = Date.now()): void {
    this.#said.push({ atMs: nowMs, moved })
    const first = this.#said.findLastIndex(({ atMs }) => nowMs - atMs >= windowMs)
    this.#said.splice(0, Math.max(0, first))
  }

  /** Bytes and files a second, between the first and the last that it said lately. */
  get lately(): { bytesPerSecond: number; filesPerSecond: number } {
    const [first, last] = [this.#said[0], this.#said.at(-1)]
    if (first === undefined || last === undefined || first.atMs === last.atMs)
      return { bytesPerSecond: 0, filesPerSecond: 0 }
    const perSecond = (kind: keyof Moved) =>
      Math.max(0, Math.round(((last.moved[kind] - first.moved[kind]) * 1_000) / (last.atMs - first.atMs)))
    return { bytesPerSecond: perSecond('bytes'), filesPerSecond: perSecond('files') }
  }
}
