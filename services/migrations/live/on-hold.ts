import { maxDeletionSamples } from '../../../subjects/migrations/model/target-match.ts'
import type { HeldRemoval } from '../../engine/run/counts.ts'
import { folderOf, isWithin } from './dealt-paths.ts'
import { holdingMs } from '../../engine/run/removal-budget.ts'

/** When nothing more was held for so long, all that waits is known, most often. */
const quietMs = 250

/** So many are kept apart, some 200 bytes each: a person approves of what was counted, and is asked again for more. */
const maxHeld = 100_000

/** What waits for somebody's approval, as far as it is known. */
export interface Held extends Omit<HeldRemoval, 'path'> {
  /** Paths, those with the most in them first. */
  readonly samples: readonly string[]
}

/**
 * Decides about removals that a comparison of everything has counted before any of them is made: the next one makes those
 * that are allowed.
 */
export interface CountedFirst {
  begin(): void
  /** Whether that is how it goes; limits that somebody has set are used up as removals are made. */
  isOn(): boolean
  allows(count: number, signal: AbortSignal): Promise<boolean>
  /** What was allowed is made, or not to be made any more. */
  end(): void
}

/** A live migration stops, as somebody has to approve of what it would remove. */
export class RemovalsHeld extends Error {
  readonly held: Held

  constructor(held: Held) {
    super('the number of removals exceeds the limit without approval')
    this.held = held
  }
}

/** Removals that are held: the work goes on for a moment, so that it is known how much waits, and fails then. */
export class OnHold {
  readonly #fail: (error: RemovalsHeld) => void
  /** By path. */
  readonly #held = new Map<string, HeldRemoval>()
  /** Of those for which there was no room: counted more than once rather than not at all. */
  #rest = { files: 0, folders: 0, bytes: 0 }
  #sinceMs: number | undefined
  #endsMs: number | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(fail: (error: RemovalsHeld) => void) {
    this.#fail = fail
  }

  /** Since when the oldest change waits that they came of; undefined without any. */
  get sinceMs(): number | undefined {
    return this.#sinceMs
  }

  /**
   * @param sinceMs when the change was seen that they came of
   * @param isCounted somebody decides about them when all are known (`take`); else the work fails soon
   */
  add(removals: readonly HeldRemoval[], sinceMs: number, isCounted: boolean): void {
    for (const removal of removals)
      if (this.#held.size < maxHeld || this.#held.has(removal.path)) this.#held.set(removal.path, removal)
      else {
        this.#rest.files += removal.files
        this.#rest.folders += removal.folders
        this.#rest.bytes += removal.bytes
      }
    this.#sinceMs = Math.min(this.#sinceMs ?? sinceMs, sinceMs)
    if (isCounted) return
    this.#endsMs ??= performance.now() + holdingMs
    clearTimeout(this.#timer)
    const leftMs = Math.max(0, Math.min(quietMs, this.#endsMs - performance.now()))
    this.#timer = setTimeout(() => this.#fail(new RemovalsHeld(this.#sum())), leftMs)
  }

  /** What was counted, and since when the oldest of it waits; undefined when there is nothing. None of it is held any more. */
  take(): { readonly held: Held; readonly sinceMs: number } | undefined {
    if (this.#sinceMs === undefined) return undefined
    const taken = { held: this.#sum(), sinceMs: this.#sinceMs }
    this.#held.clear()
    this.#rest = { files: 0, folders: 0, bytes: 0 }
    this.#sinceMs = undefined
    return taken
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  /** A file may be held by itself, and with a folder above it that went after it. */
  #sum(): Held {
    const sum = { ...this.#rest }
    const apart: HeldRemoval[] = []
    for (const removal of this.#held.values()) {
      const { path, files, folders, bytes } = removal
      if (path !== '/' && isWithin(this.#held, folderOf(path))) continue
      apart.push(removal)
      sum.files += files
      sum.folders += folders
      sum.bytes += bytes
    }
    const largestFirst = apart.toSorted((one, other) => entriesIn(other) - entriesIn(one))
    return { ...sum, samples: largestFirst.slice(0, maxDeletionSamples).map(({ path }) => path) }
  }
}

export const entriesIn = ({ files, folders }: Pick<HeldRemoval, 'files' | 'folders'>): number =>
  files + folders
