import type { DirtyFolder, Renamed } from './dirty-folders.ts'

/** Who is told of changes. */
export interface FeedListener {
  /**
   * Folders changed, soon after they did.
   * @param done called once all of it is at the target, or among the failures. Until then the store must be able to tell it
   * again: this process may be killed. Not there where the feed cannot tell anything again.
   * @param renamed what of it was renamed, if that is known, what is above before what is below: both paths are in the folders
   * too
   */
  readonly changed: (folders: readonly DirtyFolder[], done?: () => void, renamed?: readonly Renamed[]) => void
  /**
   * What was changed since then may not be told yet, such as what waits unread, until the function that is returned is called.
   * @param sinceMs `monotonicMs`
   */
  readonly behind?: (sinceMs: number) => () => void
  /** Told once, when nothing is told any more, before `close`. */
  readonly ended: (error: Error) => void
  readonly positions: FeedPositions
}

/** What is kept of a stream for a reader has no more, in characters: every live migration may keep as much. */
export const maxPositionText = 64_000

/** Where readers are in streams of changes, kept durably. */
export interface FeedPositions {
  /** Who this reader is in what is kept. */
  readonly reader: string
  /** Whether all is made up for that it missed before: until then nothing is kept for it, as a kill would leave that missing. */
  readonly isComplete: boolean
  /**
   * Where this reader was when it was kept last, as opaque text; undefined where it never was, and where other readers of the
   * same stream were kept later without it: what those took this one was never told.
   * @param stream what is read, such as the address of a queue; at most 1,000 characters
   */
  recall(stream: string): Promise<string | undefined>
  /** All who are where it was kept last. */
  readersOf(stream: string): Promise<readonly string[]>
  /**
   * Resolves when it is stored, in place of what was kept of the stream.
   * @param at at most `maxPositionText`
   * @param readers who is there, in place of this one alone: those whom the same process tells the same
   */
  keep(stream: string, at: string, readers?: readonly string[]): Promise<void>
}

/** What tells cannot be reached: it is asked again for so long; then the work breaks off, says why, and is begun again. */
export const outageMs = 60_000

/** Where changes at the source are learnt from. */
export interface ChangeFeed {
  readonly detection: ChangeDetection
  /** What it is in words, or why it is none that tells at once; undefined where `detection` says all. */
  readonly reason?: string
  /** Whether it compares everything from time to time by itself, as it may miss something. */
  readonly compares?: boolean
  /**
   * All that was changed before has been told (`monotonicMs`), as far as can be known: stores promise no time in which they
   * tell. Not there where changes are told at once.
   */
  readonly toldUntilMs?: number | undefined
  /**
   * Begins; resolves when no later change is missed, with whether none was missed since its position was kept either. Rejects
   * with a WatchError, and with the signal's reason.
   */
  open(listener: FeedListener, signal: AbortSignal): Promise<boolean>
  close(): Promise<void>
}

/**
 * How changes are found: told by the host at once, by notifications of the store, by others who report them, by the
 * differences of snapshots, or by comparing source and target from time to time.
 */
export type ChangeDetection = 'watching' | 'notified' | 'reported' | 'snapshots' | 'comparing'

/** Why a folder is not watched (any longer). */
export class WatchError extends Error {
  /** Whether the system has no room for as many watches: to try again is of no use until somebody gives it more. */
  readonly isLimit: boolean

  constructor(message: string, isLimit: boolean, options?: ErrorOptions) {
    super(message, options)
    this.name = 'WatchError'
    this.isLimit = isLimit
  }
}
