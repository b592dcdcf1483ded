import type { StoreBounds } from '../../contract/bounds.ts'
import type { DirtyFolder } from '../../feeds/dirty-folders.ts'

/** To the thread that watches. `id` is the watched tree's. */
export type ToWatchThread =
  | {
      readonly type: 'watch'
      readonly id: number
      readonly root: Uint8Array
      readonly maxWatches: number
      readonly bounds: StoreBounds | undefined
    }
  /** What was told is taken over: more may be told. */
  | { readonly type: 'taken'; readonly id: number }
  | { readonly type: 'rescan'; readonly id: number }
  | { readonly type: 'close'; readonly id: number }

/** From it. */
export type FromWatchThread =
  | { readonly type: 'open'; readonly id: number; readonly watches: number }
  | { readonly type: 'dirty'; readonly id: number; readonly folders: readonly DirtyFolder[] }
  | { readonly type: 'end'; readonly id: number; readonly message: string; readonly isLimit: boolean }
