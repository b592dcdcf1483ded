import { add, type Counts, noCounts } from '../engine/counts.ts'
import { largeFileBytes } from '../engine/items.ts'

/** What an agent says that it has moved since it came; of large files the parts, whole or not. */
export interface Moved {
  readonly bytes: number
  readonly files: number
}

/** Counts what an agent moves, while it moves it. */
export class MovedSoFar {
  #bytes = 0
  #files = 0

  /** A part of a large file was moved. */
  part(bytes: number): void {
    this.#bytes += bytes
  }

  /** An item is done. One file that is large came in parts. */
  item({ filesMigrated, linksMigrated, bytesMigrated }: Readonly<Counts>): void {
    this.#files += filesMigrated + linksMigrated
    const isLarge = filesMigrated === 1 && bytesMigrated > largeFileBytes
    if (!isLarge) this.#bytes += bytesMigrated
  }

  get all(): Moved {
    return { bytes: this.#bytes, files: this.#files }
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
      Math.round(((last.moved[kind] - first.moved[kind]) * 1_000) / (last.atMs - first.atMs))
    return { bytesPerSecond: perSecond('bytes'), filesPerSecond: perSecond('files') }
  }
}
