import type { DirtyFolder } from './dirty-folders.ts'

/** Where changes at the source are learnt from. */
export interface ChangeFeed {
  readonly detection: ChangeDetection
  /**
   * Begins; resolves when no later change is missed. Rejects with a WatchError, and with the signal's reason.
   * @param onChange told of folders that changed, soon after they did
   * @param onEnd told once when nothing is told any more, before `close`
   */
  open(
    onChange: (folders: readonly DirtyFolder[]) => void,
    onEnd: (error: Error) => void,
    signal: AbortSignal,
  ): Promise<void>
  close(): Promise<void>
}

/** How changes are found: told by the system at once, or by comparing source and target from time to time. */
export type ChangeDetection = 'watching' | 'comparing'

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
