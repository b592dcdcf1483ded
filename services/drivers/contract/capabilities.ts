/** What a store can do, as data. Powers that are more than a word are objects and methods of the driver. */
export interface Capabilities {
  /** Of what it is, for people, such as `container data of account lake`; not there for a folder of a host. */
  readonly storeName?: string
  /** What people should know of such a store when they check it, where there is something. */
  readonly notice?: string
  /**
   * Whether a folder is a thing of the store (`real`), or, without one, also what the names of other things begin with
   * (`implied`): that comes with the first and goes with the last of them.
   */
  readonly folders: 'real' | 'implied'
  /**
   * Whether a listing tells of an entry what `stat` tells. Where it does not, it has types, sizes, and when the store made
   * something (`createdMs`); times, modes, owners and digests are to be asked for by `stat`.
   */
  readonly listsAttributes: boolean
  /**
   * Whether listings go forward by the bytes of names, those of folders with a slash behind them, so that two large folders
   * can be read side by side. Who relies on it asks for what it does not find so: it saves requests, and decides nothing.
   */
  readonly listsInOrder?: boolean
  /**
   * Files are there while somebody still writes them, with a part of what they will have: only `open` tells, so an empty one
   * is opened as well.
   */
  readonly showsUnfinished?: boolean
  /** Symbolic links can be kept as links. */
  readonly symlinks: boolean
  /** Permission bits can be kept. */
  readonly modes: boolean
  /** A folder's time moves when something in it is made: its attributes are set once more when all is done. */
  readonly folderTimesMove: boolean
  /** `put` takes files up to this size; larger ones go through `beginUpload`. */
  readonly maxPutBytes: number
  readonly parts: PartLimits
  readonly clock: StoreClock
  /** Operations of this kind that one thread should have under way at once; 1 when they are synchronous inside. */
  readonly concurrency: number
}

/** How the parts of an upload are written. */
export interface PartLimits {
  /** `any`: at once and by anybody; `sequential`: one after the other from the first, by one process. */
  readonly order: 'any' | 'sequential'
  /**
   * Size of a part of an upload for a file of this size: the store's limits on count and size of parts decide, and where
   * they leave a choice it is no more than `atMostBytes`.
   */
  readonly sizeFor: (sizeBytes: number, atMostBytes?: number) => number
}

/** How exact the times of a store are, all in milliseconds. */
export interface StoreClock {
  /** Times that are given to it and differ by no more may be of one moment, where it keeps them less exactly than most. */
  readonly grainMs?: number
  /** Times before this one cannot be given to it. */
  readonly earliestMs?: number
  /** The times that it makes itself, as that of creation, are rounded down to this; where it gives them less exactly than it has them. */
  readonly ownGrainMs?: number
  /** Within so long of a write another may leave the same time. */
  readonly tickMs: number
}
