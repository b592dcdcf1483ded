import { newRemovalBudget, RemovalBudgetView } from '../engine/run/removal-budget.ts'

/**
 * Removals of a live migration are counted over so long: what a day's work removes little by little does not add up to a
 * mass deletion, and one that takes a while still does.
 */
export const windowMs = 3_600_000

/** What may be removed within the window without anybody's approval. */
export interface GuardSettings {
  readonly maxDeletions?: number
  /** Of the files and folders that the target has. */
  readonly maxDeletionPercent?: number
}

interface Sample {
  readonly atMs: number
  readonly removed: number
}

/**
 * Keeps what the threads may still remove for one live migration, in the memory of this process. Times are those of a clock
 * that is never set, in milliseconds.
 */
export class RemovalGuard {
  readonly budget = newRemovalBudget()
  readonly #view = new RemovalBudgetView(this.budget)
  /** How much was removed until when, from the beginning of the window on. */
  #samples: Sample[]
  #settings: GuardSettings
  #entries: number | undefined
  #grant: { readonly atMs: number; readonly count: number } | undefined

  constructor(settings: GuardSettings, nowMs: number) {
    this.#settings = settings
    this.#samples = [{ atMs: nowMs, removed: 0 }]
    this.look(nowMs)
  }

  /** Removed within the window. */
  get removed(): number {
    return this.#view.removed - (this.#samples[0]?.removed ?? 0)
  }

  /** Files and folders of the target, when they were counted last: before that, no share holds. */
  get entries(): number | undefined {
    return this.#entries
  }

  set(settings: GuardSettings, entries: number | undefined, nowMs: number): void {
    this.#settings = settings
    this.#entries = entries
    this.look(nowMs)
  }

  /** Somebody approved of so many: the window begins now, and has room for them. */
  approve(count: number, nowMs: number): void {
    this.#grant = { atMs: nowMs, count }
    this.#samples = []
    this.look(nowMs)
  }

  /** What may still be removed with these settings; Infinity without a limit. */
  left(settings: GuardSettings, entries: number | undefined, nowMs: number): number {
    const limit = this.#limit(settings, entries, nowMs)
    return limit === undefined ? Infinity : Math.max(0, limit - this.removed)
  }

  /** Lets go of what was removed before the window; to be called from time to time. */
  look(nowMs: number): void {
    this.#samples.push({ atMs: nowMs, removed: this.#view.removed })
    const begin = this.#samples.findLastIndex(({ atMs }) => atMs <= nowMs - windowMs)
    if (begin > 0) this.#samples.splice(0, begin)
    const limit = this.#limit(this.#settings, this.#entries, nowMs)
    this.#view.allow(limit === undefined ? undefined : (this.#samples[0]?.removed ?? 0) + limit)
  }

  #limit(
    { maxDeletions, maxDeletionPercent }: GuardSettings,
    entries: number | undefined,
    nowMs: number,
  ): number | undefined {
    const share =
      maxDeletionPercent === undefined || entries === undefined
        ? undefined
        : Math.floor((entries * maxDeletionPercent) / 100)
    const limits = [maxDeletions, share].filter((limit) => limit !== undefined)
    if (limits.length === 0) return undefined
    const isGranted = this.#grant !== undefined && this.#grant.atMs > nowMs - windowMs
    return Math.max(Math.min(...limits), isGranted ? (this.#grant?.count ?? 0) : 0)
  }
}
