import { newRemovalBudget, RemovalBudgetView } from '../../engine/run/removal-budget.ts'

/**
 * Removals of a live migration are counted over so long: what a day's work removes little by little does not add up to a
 * mass deletion, and one that takes a while still does.
 */
export const windowMs = 3_600_000

/**
 * What a comparison with a source of another host removes without asking, where the migration has no limit of its own: such
 * a source may be emptied, or answer with less than it has, and is still the same store. So few a person can look through;
 * more than half of a target goes by mistake, most often.
 */
export const unasked = { entries: 20, percent: 50 } as const

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
  /** What `removed` may come to where removals are counted before they are made. */
  #counted: number | undefined

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

  /** The target was counted; the settings may have changed meanwhile. */
  counted(entries: number, nowMs: number): void {
    this.#entries = entries
    this.look(nowMs)
  }

  /** Somebody approved of so many: the window begins now, and has room for them. */
  approve(count: number, nowMs: number): void {
    this.#grant = { atMs: nowMs, count }
    this.#samples = []
    this.look(nowMs)
  }

  /** Without limits in the settings, nothing is removed until it was counted and allowed. */
  countFirst(nowMs: number): void {
    this.#counted ??= this.#view.removed
    this.look(nowMs)
  }

  get countsFirst(): boolean {
    const { maxDeletions, maxDeletionPercent } = this.#settings
    return this.#counted !== undefined && (maxDeletions ?? maxDeletionPercent) === undefined
  }

  /** So many more may be removed, as they were counted; of those that were allowed before, none. */
  allow(count: number, nowMs: number): void {
    this.#counted = this.#view.removed + count
    this.look(nowMs)
  }

  /** What somebody approved of that was counted before. */
  approved(nowMs: number): number {
    const { atMs, count } = this.#grant ?? { atMs: -Infinity, count: 0 }
    return atMs > nowMs - windowMs ? count : 0
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
    const total = limit === undefined ? undefined : (this.#samples[0]?.removed ?? 0) + limit
    this.#view.allow(this.countsFirst ? this.#counted : total)
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
    return Math.max(Math.min(...limits), this.approved(nowMs))
  }
}
