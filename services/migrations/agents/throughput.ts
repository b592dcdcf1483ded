import { add, type Counts, noCounts } from '../engine/counts.ts'

/** "Lately" is this long: a large file is counted at its end, so that a shorter time would jump. */
const windowMs = 10_000

/** What an agent has moved, and how fast lately. */
export class Throughput {
  readonly total = noCounts()
  #recent: { readonly atMs: number; readonly counts: Readonly<Counts> }[] = []

  add(counts: Readonly<Counts>, nowMs = Date.now()): void {
    add(this.total, counts)
    this.#recent.push({ atMs: nowMs, counts })
    this.#forget(nowMs)
  }

  /** Bytes and files a second. */
  lately(nowMs = Date.now()): { bytesPerSecond: number; filesPerSecond: number } {
    this.#forget(nowMs)
    const sum = this.#recent.reduce((into, { counts }) => add(into, counts), noCounts())
    const perSecond = (count: number) => Math.round((count * 1_000) / windowMs)
    return {
      bytesPerSecond: perSecond(sum.bytesMigrated),
      filesPerSecond: perSecond(sum.filesMigrated + sum.linksMigrated),
    }
  }

  #forget(nowMs: number): void {
    this.#recent = this.#recent.filter(({ atMs }) => nowMs - atMs < windowMs)
  }
}
