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

/** What stands at a path. */
export interface Entry {
  /** Last segment of the path, as bytes. */
  readonly name: Buffer
  readonly type: 'file' | 'folder' | 'symlink' | 'other'
  /** 0 for anything but a file. */
  readonly sizeBytes: number
  /** Milliseconds since 1970 with fraction, as exact as the store gives it; 0 when it gives none. */
  readonly modifiedMs: number
  /** POSIX permission bits, where the store has them. */
  readonly mode?: number
  /** MD5 of the content, base64, where the store keeps one. */
  readonly md5?: string
  /** When the store made it, whatever name it had then: milliseconds since 1970, where the store knows. */
  readonly createdMs?: number
  /** When the store last took content for it, whatever `modifiedMs` says; where that is known and later than `createdMs`. */
  readonly writtenMs?: number
}

/** What of a file's metadata is carried to the target, as far as the target can hold it. */
export interface FileAttributes {
  readonly modifiedMs: number
  readonly mode?: number
}

/** A file opened for reading: one version of its content, however long the reading takes. */
export interface SourceFile {
  readonly sizeBytes: number
  readonly attributes: FileAttributes
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
}

export interface Features {
  /**
   * The files are reachable with synchronous file system calls under this absolute folder. Between two such stores the
   * engine copies without going through `open` and `put`.
   */
  readonly localRoot?: Buffer
  /** Symbolic links can be kept as links. */
  readonly symlinks: boolean
  /** Permission bits can be kept. */
  readonly modes: boolean
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

  /** Proves that the root is there and the credentials are taken. Throws `unreachable`, `refused` or `gone` (no such root). */
  probe(signal: AbortSignal): Promise<void>

  /**
   * The entries of a folder, in batches of at most 1,024; never the folder itself or markers that stand for it.
   * Throws `gone` when there is no such folder. The consumer may stop early. A name that no path can have (empty, `.`,
   * `..`; object stores allow them) comes as type `other`, so that it is reported and not used.
   */
  list(folder: StorePath, signal: AbortSignal): AsyncIterable<Entry[]>

  /** What stands at the path, without following a symbolic link; undefined when nothing does. */
  stat(path: StorePath): Promise<Entry | undefined>

  /** Throws `gone`, or `unsupported` when it is no file. */
  open(path: StorePath): Promise<SourceFile>

  /** Why the store cannot hold such an entry by its own rules (name, size, type), or undefined when it can. No I/O. */
  refuses(path: StorePath, entry: Pick<Entry, 'type' | 'sizeBytes'>): string | undefined

  /** Makes the folder; no error when it is there already. The parent is there. Throws `unsupported` where a file stands. */
  makeFolder(path: StorePath, attributes: { readonly mode?: number }): Promise<void>

  /**
   * Writes a whole file: it appears under its name complete and verified, or not at all. An existing file is
   * replaced, a folder is not: that throws `unsupported`. `bytes` may be reused by the caller afterwards.
   */
  put(path: StorePath, bytes: Buffer, attributes: FileAttributes): Promise<void>

  /**
   * Removes a file, a symbolic link, anything else that is no folder, or an empty folder; false when nothing is there.
   * Throws `unsupported` for the root and for a folder that is not empty, `changed` when something else took its place
   * meanwhile, where the store can tell.
   */
  remove(path: StorePath): Promise<boolean>

  /**
   * Gives what is there other attributes and leaves its content. Only what the store keeps, and no mode where none is
   * given; a folder's time is left. Throws `gone` when nothing is there, `unsupported` for a symbolic link.
   */
  setAttributes(path: StorePath, attributes: FileAttributes): Promise<void>

  /** Starts a file in parts. Nothing appears under the name before `commitUpload`. `tag` makes temporary names findable. */
  beginUpload(path: StorePath, sizeBytes: number, tag: string): Promise<Upload>
  /** Writes one part and verifies it; repeating it is harmless. `index` counts from 0 in steps of `partBytes`. */
  writePart(upload: Upload, index: number, offset: number, bytes: Buffer): Promise<void>
  /** All parts are written: the file appears under its name, complete, its size checked. Repeating it is harmless. */
  commitUpload(upload: Upload, partCount: number, attributes: FileAttributes): Promise<void>
  /** Forgets the upload and what it left behind; never throws for one that is unknown. */
  abortUpload(upload: Upload): Promise<void>

  /** Target text of a symbolic link. Only with `features.symlinks`. */
  readLink?(path: StorePath): Promise<Buffer>
  /** Makes or replaces a symbolic link, atomically. Only with `features.symlinks`. */
  makeLink?(path: StorePath, target: Buffer): Promise<void>

  /** Releases connections. */
  close(): Promise<void>
}

/**
 * Why an operation failed, as the engine needs to know it:
 * `gone` nothing there; `changed` another version than before; `permission` this object is not ours to touch;
 * `refused` the credentials are wrong; `unreachable` network or service down; `throttled` asked to slow down;
 * `name` the store cannot hold this name; `too-large`; `unsupported` this type of entry; `full` no space left;
 * `corrupt` what was written is not what the target has; `collision` another path of the source goes to this place of the
 * target; `io` anything else.
 */
export const failureClasses = {
  gone: { retryable: false },
  changed: { retryable: true },
  permission: { retryable: false },
  refused: { retryable: true },
  unreachable: { retryable: true },
  throttled: { retryable: true },
  name: { retryable: false },
  'too-large': { retryable: false },
  unsupported: { retryable: false },
  full: { retryable: true },
  corrupt: { retryable: true },
  collision: { retryable: false },
  io: { retryable: true },
} as const
export type FailureClass = keyof typeof failureClasses

export class StoreError extends Error {
  readonly failure: FailureClass
  /** Milliseconds that the store asked to wait before the next try. */
  readonly retryAfterMs: number | undefined

  constructor(
    failure: FailureClass,
    message: string,
    options: { cause?: unknown; retryAfterMs?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'StoreError'
    this.failure = failure
    this.retryAfterMs = options.retryAfterMs
  }

  get retryable(): boolean {
    return failureClasses[this.failure].retryable
  }
}
