import type { FilesystemKind, FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import type { Rule } from '../../../subjects/migrations/model/rules.ts'
import type { StoreBounds } from './bounds.ts'
import type { Driver } from './driver.ts'

/** What a filesystem is opened for: only a target may be given rights that its modes deny (`rights.ts`). */
export type Side = 'source' | 'target'

/** What the configuration of this host says of a store. Plain data. */
export interface Discovery<K extends FilesystemKind = FilesystemKind> {
  /** Of a source; none of them is a secret. */
  readonly options: Partial<FilesystemOptions<K>>
  /** What was found where, and what is to be given besides; for people. */
  readonly message: string
}

/** A kind of filesystem: all that is known of it beside its options and secrets, which are in `subjects/filesystems/kinds.ts`. */
export interface StoreKind<K extends FilesystemKind = FilesystemKind> {
  readonly kind: K
  /** What options are when they are not given, for people. */
  readonly defaults: Readonly<Record<string, string>>
  /** Exclusions of every new migration from such a source; each migration can do without them. */
  readonly exclusions: readonly Rule[]
  /** What such a store cannot hold, in words. Such paths become failures: nothing is left out without a word. */
  readonly restrictions: readonly { readonly id: string; readonly description: string }[]
  /**
   * See `openDriver`. What is large is loaded here, with the first such filesystem: most hosts and threads have none.
   * @param bounds where filesystems may be; without them nothing is looked at
   */
  open(options: FilesystemOptions<K>, side: Side, bounds: StoreBounds | undefined): Promise<Driver>
  /**
   * What the locations of tables begin with whose files are in it, as Hadoop and query engines write them: URIs of its
   * root, without a slash at the end. All are known, the first is written.
   */
  uris(options: FilesystemOptions<K>): readonly [string, ...string[]]
  /**
   * There for the kinds whose `discovery` in `subjects/filesystems/kinds.ts` says what is read. Throws GantryError NOT_ACCEPTED
   * with the reason and the fix where nothing is found.
   */
  discover?(): Promise<Discovery<K>>
  /** What its drivers share in a thread, if they do. */
  readonly inThreads?: InThreads
}

/** What all drivers of a kind in a thread have together. */
export interface InThreads {
  /** Memory that a thread shares with whoever starts it. */
  memory(): SharedArrayBuffer
  /** Called in the thread, before its first driver is opened. */
  start(memory: SharedArrayBuffer, options: ThreadOptions): void
  /** Called in the thread at the end of each job: what was changed only for the job is put back. */
  endJob(): void
  /** Called by whoever started the thread, when it has ended. */
  end(memory: SharedArrayBuffer): void
}

export interface ThreadOptions {
  /** Calls through paths before a thread loads system calls of its own, as that takes longer; undefined for as many as usual. */
  readonly nativeCallsAfter?: number | undefined
}
