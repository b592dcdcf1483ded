import type { ChangeFeed } from '../feeds/feed.ts'
import type { Capabilities } from './capabilities.ts'
import type { DigestKind, MadeDigests } from './digests.ts'
import type { DirectCopy, DirectOptions } from './direct-copy.ts'
import type {
  Continuation,
  Entry,
  FileAttributes,
  Losses,
  NewFile,
  ReadOptions,
  StorePath,
  Upload,
} from './entry.ts'
import type { Location } from './location.ts'
import type { Listing, Page } from './page.ts'
import type { PartBody } from './part-body.ts'
import type { Places } from './place.ts'
import type { SourceFile } from './source-file.ts'
import type { StoreCopy } from './store-copy.ts'

export type * from './capabilities.ts'
export * from './digests.ts'
export type * from './direct-copy.ts'
export * from './entry.ts'
export type * from './location.ts'
export * from './page.ts'
export * from './part-body.ts'
export type * from './place.ts'
export type * from './source-file.ts'
export type * from './store-copy.ts'
export * from './store-error.ts'

/*
 * The interface between the engine and a store. What every store can do are required operations; what only some can is said
 * by `capabilities`, or by an operation or object that is there or not: whoever uses a driver goes by these, never by the
 * kind of the store. Every driver runs inside worker threads, one instance per thread and filesystem; all instances of all
 * processes must be able to work on the same upload.
 *
 * Every operation that fails throws a `StoreError`; one whose signal is aborted throws the signal's reason. One that asks over HTTP
 * and has none ends in the same way with the job that it is done in (`http/job-signal.ts`).
 */

/** Folders below which no symbolic link is followed, and what is behind one. */
export interface Confinement {
  readonly below: readonly StorePath[]
  readonly links: 'gone' | 'refused'
}

/** A file that a store had when its identity was noted, and when the store had made it. Plain data. */
export interface StoreWitness {
  readonly file: string
  readonly created: string
}

/** Which store something is, beyond its name: another one of the same name has another identity. Plain data. */
export interface StoreIdentity {
  /** Equal for as long as the store is the same and nobody changes its properties. */
  readonly version: string
  /** When the store was made, or its properties were changed last. */
  readonly changed: string
  /** Some of its files: any of them proves that it is the same store with other properties. */
  readonly witnesses: StoreWitness[]
}

/** A folder that is held open. Throws StoreErrors. */
export interface FolderHold extends Disposable {
  /** Whether its path still leads to it. */
  isThere(): boolean
  /** What stands under a name in it, a link not followed; undefined when nothing does. */
  typeOf(name: Buffer): Entry['type'] | undefined
}

/** A store that tells of its changes. */
export interface Changes {
  /**
   * The changes below a folder, or why they are not told. Rejects with StoreErrors when there is no such folder. It does not
   * need the driver any longer.
   * @param maxWatches folders that may be watched, where each takes something of the host; undefined for as many as usual
   */
  feed(folder: StorePath, maxWatches?: number): Promise<ChangeFeed | { readonly refusal: string }>
  /**
   * What tells of changes, for people, once it is known that it can be read. Not there where the store itself tells. Throws
   * StoreErrors.
   */
  check?(signal: AbortSignal): Promise<string>
}

/** What killed writers left behind. */
export interface Leftovers {
  /**
   * Removes from a folder what dead writers left of a tag, but for uploads with which others may go on. Does nothing where
   * there is no such folder. Throws StoreErrors.
   * @param liveThreads threads of this process whose writers live
   * @param isOver whether nobody goes on with an upload
   */
  sweep(
    folder: StorePath,
    tag: string,
    liveThreads: readonly number[],
    isOver: (upload: LeftUpload) => boolean,
  ): void | Promise<void>
}

/** An upload that a writer left, and with which another could go on. */
export interface LeftUpload {
  /** See `Continuation.shared`; undefined for one that a single process wrote. */
  readonly generation?: number
  /** Whether it is of the file at this path. */
  isOf(path: StorePath): boolean
}

/** How a store's clock differs from this host's. Plain data. */
export interface ClockOffset {
  /** Milliseconds that it is ahead at least; below 0: behind. 0 where the two may be the same. */
  readonly aheadMs: number
  /** Most that stores of its kind let pass when they check who asks. */
  readonly allowedMs: number
}

export interface Driver {
  readonly capabilities: Capabilities

  /**
   * Checks that the store still is where filesystems may be; whoever keeps a driver open asks before each use. Throws
   * GantryError INVALID_INPUT. Not there where the driver looks at each connection that it makes.
   */
  requirePlace?(): void

  /** Proves that the root is there and the credentials are taken. Throws `unreachable`, `refused` or `gone` (no such root). */
  probe(signal: AbortSignal): Promise<void>

  /**
   * What people should know of how the store keeps files, such as versions or replicas; undefined where it is nothing. Not
   * there where a store says nothing of it. Throws StoreErrors, also where this may not be asked.
   */
  describe?(signal: AbortSignal): Promise<string | undefined>

  /**
   * Bytes that can still be written below a folder, which need not be there yet. Not there where a store does not tell, or
   * has no end. Throws StoreErrors.
   */
  freeBytes?(folder: StorePath): Promise<number>

  /**
   * As the answers so far told; undefined as long as none did. No I/O. Not there where the store has this host's clock, or
   * does not ask for the time.
   */
  clockOffset?(): ClockOffset | undefined

  /**
   * Which store it is now: `was`, if that is the same one. Not there with `places`, which have identities of their own.
   * Throws as `probe` does.
   * @param was what it was; undefined to note it for the first time
   * @returns with `isOther` when it is another one than it was
   */
  identify?(
    was: StoreIdentity | undefined,
    signal?: AbortSignal,
  ): Promise<{ readonly identity: StoreIdentity; readonly isOther: boolean }>

  /**
   * The entries of a folder, each once; never the folder itself or markers that stand for it. Throws `gone` when there is no
   * such folder, but where it goes on after a cursor only if the store can tell. The consumer may stop early. A name that no
   * path can have (empty, `.`, `..`; object stores allow them) comes as type `other`, so that it is reported and not used.
   */
  list(folder: StorePath, signal: AbortSignal, listing?: Listing): AsyncIterable<Page>

  /** What stands at the path, without following a symbolic link; undefined when nothing does. */
  stat(path: StorePath, signal?: AbortSignal): Promise<Entry | undefined>

  /**
   * What stands at the path under a name that the store does not tell from the path's own, as by case: undefined when nothing
   * does, or what has just that name. Only of stores that may not tell names apart; `stat` finds nothing at such a path.
   */
  alike?(path: StorePath): Promise<Entry | undefined>

  /**
   * Throws `gone`, `unsupported` when it is no file, or `changed`, with the time to wait, while somebody writes it, where the
   * store tells.
   */
  open(path: StorePath, options?: ReadOptions): Promise<SourceFile>

  /**
   * Says which files of a folder are opened soon with their content, so that they can be asked for together. A hint: what was
   * not announced can be opened, and what was need not be. No I/O. Not there where each file takes one request anyway.
   */
  announce?(folder: StorePath, names: readonly Buffer[]): void

  /** All attributes of a file or folder; undefined when nothing is there. Throws `unsupported` for anything else. */
  attributesOf(path: StorePath, options?: ReadOptions): Promise<FileAttributes | undefined>

  /**
   * Digests of a file that the store makes when it is asked for them, which costs less than reading it. Undefined where it makes
   * none of these kinds. Throws `changed` when the file became another one meanwhile.
   */
  digestsOf?(
    path: StorePath,
    kinds: readonly DigestKind[],
    signal: AbortSignal,
  ): Promise<MadeDigests | undefined>

  /** Why the store cannot hold such an entry by its own rules (name, size, type), or undefined when it can. No I/O. */
  refuses(path: StorePath, entry: Pick<Entry, 'type' | 'sizeBytes'>): string | undefined

  /**
   * Makes the folder; no error when it is there already. Where a folder's time moves, only the mode is given to it, and what
   * else belongs to it later by `setAttributes`. The parent is there. Throws `unsupported` where a file stands. */
  makeFolder(path: StorePath, attributes: FileAttributes): Promise<Losses>

  /**
   * Writes a whole file: it appears under its name complete and verified, or not at all. An existing file is
   * replaced, a folder is not: that throws `unsupported`. `bytes` may be reused by the caller afterwards.
   * @param tag makes temporary names findable, as of `beginUpload`
   */
  put(path: StorePath, bytes: Buffer, attributes: FileAttributes, tag?: string): Promise<Losses>

  /**
   * The same where nothing stands at the path: throws `changed` when something does, be it of a first try whose answer was
   * lost, and `unsupported` when the store turns out not to make sure of it. Only of stores that do.
   */
  putNew?(path: StorePath, bytes: Buffer, attributes: FileAttributes): Promise<Losses>

  /**
   * Removes a file, a symbolic link, anything else that is no folder, or an empty folder; false when nothing is there.
   * Throws `unsupported` for the root and for a folder that is not empty, `changed` when something else took its place
   * meanwhile, where the store can tell.
   */
  remove(path: StorePath): Promise<boolean>

  /**
   * Version of the file or symbolic link that stands at the path, which is not followed: that of `SourceFile`, and every
   * change from now on makes another. Undefined when nothing does, or a folder.
   */
  version(path: StorePath): Promise<string | undefined>

  /**
   * Removes a file or a symbolic link if it still is of this `version`. Throws `changed` when it is not; false when nothing
   * is there, where the store tells the two apart and has not lost the answer to a first try.
   */
  removeVersion(path: StorePath, version: string): Promise<boolean>

  /**
   * Resolves when a loss of power can take away neither a file or link nor its name. Not there where all that the store
   * has answered for is safe. Throws `gone`.
   */
  persist?(path: StorePath): Promise<void>

  /**
   * Resolves when a loss of power can take away nothing that was written on this host below any of the folders, by whomever,
   * before this was called. It may take minutes. Not there where all that the store has answered for is safe. Throws `gone`
   * without the root.
   */
  flush?(folders: readonly StorePath[], signal: AbortSignal): Promise<void>

  /**
   * Gives what is there other attributes and leaves its content. Only what the store keeps, and what is not given is left.
   * Throws `gone` when nothing is there, `unsupported` for a symbolic link.
   */
  setAttributes(path: StorePath, attributes: FileAttributes): Promise<Losses>

  /**
   * Starts a file in parts, or goes on with one. Nothing appears under the name before `commitUpload`.
   * `Continuation.shared` only where parts may be written in any order.
   */
  beginUpload(path: StorePath, file: NewFile, continuation?: Continuation): Promise<Upload>
  /**
   * Writes one part and verifies it; repeating it is harmless. `index` counts from 0 in steps of the size of a part
   * (`capabilities.parts`, which also says in which order). Of a part that is larger than what `put` takes, no more than a
   * piece (`bodyPieceBytes`) is in memory at once.
   */
  writePart(upload: Upload, index: number, offset: number, body: PartBody): Promise<void>
  /**
   * Indices of the parts that are written and verified, by whomever; undefined when it is known that the upload is over.
   * @param partBytes with which it was begun
   */
  writtenParts(upload: Upload, partBytes: number): Promise<readonly number[] | undefined>
  /** All parts are written: the file appears under its name, complete, its size checked. Repeating it is harmless. */
  commitUpload(upload: Upload, partCount: number, attributes: FileAttributes): Promise<Losses>
  /** Forgets the upload and what it left behind; never throws for one that is unknown. */
  abortUpload(upload: Upload): Promise<void>

  /** Target text of a symbolic link. Only with `capabilities.symlinks`. */
  readLink?(path: StorePath): Promise<Buffer>
  /** Makes or replaces a symbolic link, atomically. Only with `capabilities.symlinks`. */
  makeLink?(path: StorePath, target: Buffer, attributes?: FileAttributes): Promise<Losses>
  /**
   * What a symbolic link leads to in the end, under the link's own name. Only with `capabilities.symlinks`. Throws `permission`
   * when that is outside of the root, `unsupported` when it is nothing, a folder that the link is in, or too far away.
   */
  followLink?(path: StorePath): Promise<Entry>

  /**
   * Gives what stands at a path another one in the same store, a folder with all that is in it. The new path's parent is
   * there, and nothing stands at the path itself. Not there where a store would have to copy. Throws `gone`.
   */
  rename?(path: StorePath, to: StorePath): Promise<void>

  /**
   * The same store for one job: no symbolic link below these folders is followed to another, also where it leads to one
   * inside of the root. What is behind one is not there (`gone`), as for a source whose links are kept: the link took the
   * place of a folder; or it is `refused` with `permission`. It holds nothing of its own that is to be closed.
   */
  confinedTo?(confinement: Confinement): Driver

  /** Where a path is, whatever leads to it; it need not be there. Only with the calls that a host answers by itself. */
  locate(path: StorePath): Location

  /** Of a store that something else can take the place of without a word. */
  readonly places?: Places

  /** Of a store that only those reach who have the same folder: its absolute path as text. */
  readonly hostFolder?: string

  /** Of a store that tells of its changes. */
  readonly changes?: Changes

  /** Of a store in which writers that are killed leave something behind, under names that nobody else uses. */
  readonly leftovers?: Leftovers

  /** What targets need of this store that know a shorter way from it than `open`; opaque to everybody else. */
  readonly direct?: object | undefined

  /**
   * A shorter way from another store to this one; undefined where there is none between the two.
   * @param source as it was opened for the same job
   */
  copyFrom?(source: Driver, options: DirectOptions): DirectCopy | undefined

  /** Copies at the service of both stores; undefined where it has no access to the other one, as far as the driver can tell. */
  copyWithin?(source: Driver): StoreCopy | undefined

  /**
   * Holds a folder open, so that what is seen in it is of one folder, whatever is put or mounted in its place. Throws `gone`
   * when there is none.
   */
  hold?(folder: StorePath): FolderHold

  /**
   * Resolves when nothing that this object gave up can appear any more, or after a minute. Not there where that moves no time
   * of a folder.
   */
  settled?(signal: AbortSignal): Promise<void>

  /** Releases connections. */
  close(): Promise<void>
}
