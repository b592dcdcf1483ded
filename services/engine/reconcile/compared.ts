import type { StorePath } from '../../drivers/contract/driver.ts'
import type { FolderJudge } from '../tree/judge.ts'

/** A folder whose entries are compared. */
export interface Place extends FolderJudge {
  /** Relative to the migration's path. */
  readonly folder: StorePath
  /** In the source. */
  readonly path: StorePath
  /** Makes it at the target, if it is not there; asks once. */
  readonly make: () => Promise<void>
}

/** How an entry came to be compared. */
export interface How {
  /** Somebody was told of its name: something about it has changed. */
  readonly isTold: boolean
  /** A folder is compared with all that is below it. */
  readonly isTree: boolean
  /** It may be another than the one that was copied, of the same name, size and time. */
  readonly isReplaced: boolean
}
