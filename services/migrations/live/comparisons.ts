import { monotonicMs } from '../../../broker/common/monotonic.ts'

/** What is known of a source by comparing everything with the target. All moments are those of `monotonicMs`. */
export class Comparisons {
  #dueMs: number | undefined
  /** Since when one was asked for, whoever was told of changes; undefined as long as it was not. */
  #askedMs: number | undefined
  #begunMs: number | undefined
  #knownMs: number
  #comparedMs: number | undefined
  #isGapOpen: boolean

  /** @param gapSinceMs since when nobody was told of changes; undefined where nobody has to be */
  constructor(gapSinceMs: number | undefined) {
    this.#dueMs = gapSinceMs
    this.#knownMs = gapSinceMs ?? monotonicMs()
    this.#isGapOpen = gapSinceMs !== undefined
  }

  /** Since when everything is to be compared; undefined when it is not. */
  get dueMs(): number | undefined {
    return this.#dueMs
  }

  /** Everything is being compared. */
  get isUnderWay(): boolean {
    return this.#begunMs !== undefined
  }

  /** One is due, and none is under way. */
  get isToBegin(): boolean {
    return this.#dueMs !== undefined && !this.isUnderWay
  }

  /** What was at the source at this moment is at the target, or was met by the scan; of what came later only news tells. */
  get knownMs(): number {
    return this.#knownMs
  }

  /** What was at the source at this moment the last comparison has brought; undefined without one. */
  get comparedMs(): number | undefined {
    return this.#comparedMs
  }

  /** Changes were missed before this began, and no comparison is over that found them. */
  get isGapOpen(): boolean {
    return this.#isGapOpen
  }

  /** Everything is to be compared. What is older than what waits is not done before it either. */
  ask(sinceMs: number): void {
    this.#askedMs = Math.min(this.#askedMs ?? sinceMs, sinceMs)
    this.#dueMs = Math.min(this.#dueMs ?? sinceMs, sinceMs)
  }

  /** Whoever tells of changes has missed none. */
  nothingMissed(): void {
    this.#dueMs = this.#askedMs
    this.#isGapOpen = false
    this.#knownMs = monotonicMs()
  }

  /** From now on there is no news; up to now there was. */
  newsEnded(): void {
    this.#knownMs = this.#dueMs ?? monotonicMs()
    this.ask(this.#knownMs)
  }

  /** Begins one; returns since when it was due. */
  begin(): number {
    const nowMs = monotonicMs()
    const sinceMs = this.#dueMs ?? nowMs
    this.#dueMs = undefined
    this.#askedMs = undefined
    this.#begunMs = nowMs
    return sinceMs
  }

  /** All that it found is at the target. */
  end(): void {
    this.#knownMs = Math.max(this.#knownMs, this.#begunMs ?? 0)
    this.#comparedMs = this.#begunMs
    this.#begunMs = undefined
    this.#isGapOpen = false
  }
}
