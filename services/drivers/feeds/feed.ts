import type { DirtyFolder } from './dirty-folders.ts'

/** Who is told of changes. */
export interface FeedListener {
  /**
   * Folders changed, soon after they did.
   * @param done called once all of it is at the target, or among the failures. Until then the store must be able to tell it
   * again: this process may be killed. Not there where the feed cannot tell anything again.
   */
  readonly changed: (folders: readonly DirtyFolder[], done?: () => void) => void
  /** Told once, when nothing is told any more, before `close`. */
  readonly ended: (error: Error) => void
  readonly positions: FeedPositions
}

/** Where readers are in streams of changes, kept durably. */
export interface FeedPositions {
  /** Who reads: the same for who needs to be told the same. Part of the name of a stream that everybody reads for himself. */
  readonly reader: string
  /**
   * Where this reader was when it was kept last, as opaque text; undefined where it never was, and where another reader of the
   * same stream was kept later: what that one took this one was never told.
   * @param stream what is read, such as the address of a queue; at most 1,000 characters
   */
  recall(stream: string): Promise<string | undefined>
  /** Resolves when it is stored. @param at at most 4,000 characters */
  keep(stream: string, at: string): Promise<void>
}

/** Where changes at the source are learnt from. */
export interface ChangeFeed {
  readonly detection: ChangeDetection
  /** What it is in words, or why it is none that tells at once; undefined where `detection` says all. */
  readonly reason?: string
  /** Whether it compares everything from time to time by itself, as it may miss something. */
  readonly compares?: boolean
  /**
   * Begins; resolves when no later change is missed, with whether none was missed since its position was kept either. Rejects
   * with a WatchError, and with the signal's reason.
   */
  open(listener: FeedListener, signal: AbortSignal): Promise<boolean>
  close(): Promise<void>
}

/**
 * How changes are found: told by the host at once, by notifications of the store, by the differences of its snapshots, or by
 * comparing source and target from time to time.
 */
export type ChangeDetection = 'watching' | 'notified' | 'snapshots' | 'comparing'

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
