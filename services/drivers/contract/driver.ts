import { type FailureClass, failureClasses } from '../../../subjects/migrations/model/failure-classes.ts'

export type { FailureClass } from '../../../subjects/migrations/model/failure-classes.ts'

/**
 * The interface between the engine and a store. Required operations first, optional powers as features: the engine
 * branches on features, never on the kind. Every driver runs inside worker threads, one instance per thread and
 * filesystem; all instances of all processes must be able to work on the same upload.
 *
 * A path is bytes: segments joined by `/`, relative to the filesystem's root, no leading slash; empty is the root itself.
 * The engine never passes `.`, `..`, an empty segment or NUL. Every operation that fails throws a `StoreError`; one whose
 * signal is aborted throws the signal's reason.
 */
export type StorePath = Buffer

/** Numbers of the user and the group that something belongs to. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

/** What stands at a path. */
export interface Entry {
  /** Last segment of the path, as bytes. */
  readonly name: Buffer
  readonly type: 'file' | 'folder' | 'symlink' | 'other'
  /** 0 for anything but a file. */
  readonly sizeBytes: number
  /** Milliseconds since 1970 with fraction, below 0 before it, as exact as the store gives it; where it gives one. */
  readonly modifiedMs?: number
  /** POSIX permission bits, where the store has them. */
  readonly mode?: number
  readonly owner?: Owner
  /** Names that a file has in its store (hard links), where these are several. */
  readonly nameCount?: number
  /** MD5 of the content, base64, where the store keeps one. */
  readonly md5?: string
  /** When the store made it, whatever name it had then: milliseconds since 1970 by this host's clock, where the store knows. */
  readonly createdMs?: number
  /** When the store last took content for it, whatever `modifiedMs` says; where that is known and later than `createdMs`. */
  readonly writtenMs?: number
  /** When anything about it was changed last, its name too: what nobody can set. Where the store knows that. */
  readonly changedMs?: number
}

/** An extended attribute: the bytes of its name as Latin-1 text, and its value. */
export interface ExtendedAttribute {
  readonly name: string
  readonly value: Uint8Array
}

/** What of the metadata of a file or folder is carried to the target, as far as the target can hold it. */
export interface FileAttributes {
  /** As that of an entry. */
  readonly modifiedMs?: number
  readonly mode?: number
  /** Where the store has owners. */
  readonly owner?: Owner
  /** POSIX access control lists are among them. Only where they were asked for; `isComplete`: all could be read. */
  readonly extended?: { readonly all: readonly ExtendedAttribute[]; readonly isComplete: boolean }
}

/** What of its attributes something does not have at the target, though all the rest arrived. */
export type Loss = 'time' | 'mode' | 'owner' | 'attributes'
export type Losses = readonly Loss[]
export const nothingLost: Losses = []

/** How something of the source is read. */
export interface ReadOptions {
  /** Whether extended attributes are wanted, which costs system calls. */
  readonly extended?: boolean
  /** Whether a symbolic link is followed, as long as it leads to something inside of the root. */
  readonly follow?: boolean
}

/** A file opened for reading: one version of its content, however long the reading takes. */
export interface SourceFile {
  readonly sizeBytes: number
  readonly attributes: FileAttributes
  /** Names that this file has in its store (hard links); 1 where the store has no such thing. */
  readonly nameCount: number
  /** Equal for equal versions, in every process: parts read elsewhere are of the same content. */
  readonly version: string
  /**
   * Exactly `length` bytes from `offset` (a fresh buffer, or one that stays valid until the next read of this file).
   * Throws `changed` when the file has become shorter or another version.
   */
  read(offset: number, length: number): Promise<Buffer>
  /** Throws `changed` when the file is no longer the version that was opened. */
  verifyUnchanged(): Promise<void>
  close(): Promise<void>
}

/** A file that is being written in parts; plain data, so that any process can write a part. */
export interface Upload {
  /** UTF-8 or base64 form of the path is the driver's business; the engine only hands this back. */
  readonly token: string
  readonly sizeBytes: number
  /** Indices of parts that need not be written: a killed process had written and verified them. */
  readonly written?: readonly number[]
}

/** Lets an upload go on where that of a killed process ended. */
export interface Continuation {
  /** Version of the source's file: parts of any other are not used. */
  readonly version: string
  /** Threads of this process that live, when there may be such an upload; without, none is looked for where that costs. */
  readonly liveThreads?: readonly number[] | undefined
  /**
   * Several processes, on any hosts, write its parts: whoever begins it, or begins it once more, gets the same upload, until
   * it is committed or aborted.
   */
  readonly shared?: {
    /** What was begun under another one nobody goes on with. */
    readonly generation: number
  }
}

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

export interface Features {
  /**
   * The files are reachable with synchronous file system calls under this absolute folder. Between two such stores the
   * engine copies without going through `open` and `put`.
   */
  readonly localRoot?: Buffer
  /** What the same paths are in, whoever has opened it: equal for equal stores. Not there with `localRoot`, which says it. */
  readonly storeName?: string
  /** Symbolic links can be kept as links. */
  readonly symlinks: boolean
  /** Permission bits can be kept. */
  readonly modes: boolean
  /** A folder's time moves when something in it is made: its attributes are set once more when all is done. */
  readonly folderTimesMove: boolean
  /** `put` takes files up to this size; larger ones go through `beginUpload`. */
  readonly maxPutBytes: number
  /**
   * Size of a part of an upload for a file of this size: the store's limits on count and size of parts decide, and where
   * they leave a choice it is no more than `atMostBytes`.
   */
  readonly partBytes: (sizeBytes: number, atMostBytes?: number) => number
  /** Times that differ by no more milliseconds may be of one moment, where the store keeps them less exactly than most. */
  readonly timeGrainMs?: number
  /** Operations of this kind that one thread should have under way at once; 1 when they are synchronous inside. */
  readonly concurrency: number
}

export interface Driver {
  readonly features: Features

  /**
   * Checks that the store still is where filesystems may be; whoever keeps a driver open asks before each use. Throws
   * GantryError INVALID_INPUT. Not there where the driver looks at each connection that it makes.
   */
  requirePlace?(): void

  /**
   * Checks a folder without symbolic links that `localRoot` leads to; whoever goes past the driver asks before it is used.
   * Throws StoreError `permission`.
   */
  requireRootAt?(real: Buffer): void

  /** Proves that the root is there and the credentials are taken. Throws `unreachable`, `refused` or `gone` (no such root). */
  probe(signal: AbortSignal): Promise<void>

  /**
   * Which store it is now: `was`, if that is the same one. Not there with `localRoot`, whose folders have identities of their
   * own. Throws as `probe` does.
   * @param was what it was; undefined to note it for the first time
   * @returns with `isOther` when it is another one than it was
   */
  identify?(
    was: StoreIdentity | undefined,
    signal?: AbortSignal,
  ): Promise<{ readonly identity: StoreIdentity; readonly isOther: boolean }>

  /**
   * The entries of a folder, in batches of at most 1,024; never the folder itself or markers that stand for it.
   * Throws `gone` when there is no such folder. The consumer may stop early. A name that no path can have (empty, `.`,
   * `..`; object stores allow them) comes as type `other`, so that it is reported and not used.
   */
  list(folder: StorePath, signal: AbortSignal): AsyncIterable<Entry[]>

  /** What stands at the path, without following a symbolic link; undefined when nothing does. */
  stat(path: StorePath): Promise<Entry | undefined>

  /** Throws `gone`, or `unsupported` when it is no file. */
  open(path: StorePath, options?: ReadOptions): Promise<SourceFile>

  /** All attributes of a file or folder; undefined when nothing is there. Throws `unsupported` for anything else. */
  attributesOf(path: StorePath, options?: ReadOptions): Promise<FileAttributes | undefined>

  /** Why the store cannot hold such an entry by its own rules (name, size, type), or undefined when it can. No I/O. */
  refuses(path: StorePath, entry: Pick<Entry, 'type' | 'sizeBytes'>): string | undefined

  /**
   * Makes the folder; no error when it is there already. Where a folder's time moves, only the mode is given to it, and what
   * else belongs to it later by `setAttributes`. The parent is there. Throws `unsupported` where a file stands. */
  makeFolder(path: StorePath, attributes: FileAttributes): Promise<Losses>

  /**
   * Writes a whole file: it appears under its name complete and verified, or not at all. An existing file is
   * replaced, a folder is not: that throws `unsupported`. `bytes` may be reused by the caller afterwards.
   */
  put(path: StorePath, bytes: Buffer, attributes: FileAttributes): Promise<Losses>

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
   * is there, where the store tells the two apart.
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
   * Starts a file in parts, or goes on with one. Nothing appears under the name before `commitUpload`. `tag` makes
   * temporary names findable.
   */
  beginUpload(path: StorePath, sizeBytes: number, tag: string, continuation?: Continuation): Promise<Upload>
  /** Writes one part and verifies it; repeating it is harmless. `index` counts from 0 in steps of `partBytes`. */
  writePart(upload: Upload, index: number, offset: number, bytes: Buffer): Promise<void>
  /**
   * Indices of the parts that are written and verified, by whomever; undefined when it is known that the upload is over.
   * @param partBytes with which it was begun
   */
  writtenParts(upload: Upload, partBytes: number): Promise<readonly number[] | undefined>
  /** All parts are written: the file appears under its name, complete, its size checked. Repeating it is harmless. */
  commitUpload(upload: Upload, partCount: number, attributes: FileAttributes): Promise<Losses>
  /** Forgets the upload and what it left behind; never throws for one that is unknown. */
  abortUpload(upload: Upload): Promise<void>

  /** Target text of a symbolic link. Only with `features.symlinks`. */
  readLink?(path: StorePath): Promise<Buffer>
  /** Makes or replaces a symbolic link, atomically. Only with `features.symlinks`. */
  makeLink?(path: StorePath, target: Buffer, attributes?: FileAttributes): Promise<Losses>
  /**
   * What a symbolic link leads to in the end, under the link's own name. Only with `features.symlinks`. Throws `permission`
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

  /** Releases connections. */
  close(): Promise<void>
}

/** Which of the two stores of a migration. */
export type StoreSide = 'source' | 'target'

/** What went wrong, with the side that it went wrong on at its start, as all that is told of a path has it. */
export const saidOf = (side: StoreSide, message: string): string =>
  message.startsWith(`${side}: `) ? message : `${side}: ${message}`

/** `side`: the store that it is known to be of, which its message then begins with. */
export class StoreError extends Error {
  readonly failure: FailureClass
  /** Milliseconds that the store asked to wait before the next try. */
  readonly retryAfterMs: number | undefined
  readonly side: StoreSide | undefined
  /** For the log alone: callers are not to know it. */
  readonly detail: string | undefined
  /** Whether something was to be removed there. */
  readonly isRemoval: boolean

  constructor(
    failure: FailureClass,
    message: string,
    options: {
      cause?: unknown
      retryAfterMs?: number
      side?: StoreSide | undefined
      detail?: string | undefined
      isRemoval?: boolean
    } = {},
  ) {
    const said = options.side === undefined ? message : saidOf(options.side, message)
    super(said, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'StoreError'
    this.failure = failure
    this.retryAfterMs = options.retryAfterMs
    this.side = options.side
    this.detail = options.detail
    this.isRemoval = options.isRemoval ?? false
  }

  /** Whether it is known to be of the store that something is written to. */
  get isTargets(): boolean {
    return this.side === 'target'
  }

  get retryable(): boolean {
    return failureClasses[this.failure].retryable
  }
}
