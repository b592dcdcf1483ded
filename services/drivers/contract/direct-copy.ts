import type { Entry, FileAttributes, Losses, StorePath, Upload } from './entry.ts'

/** How files go directly from a store to another. */
export interface DirectOptions {
  /** Makes temporary names findable, as of `beginUpload`. */
  readonly tag: string
  /** Whether symbolic links are followed at the source. */
  readonly follow: boolean
  /** Whether extended attributes are wanted. */
  readonly extended: boolean
  /** What of the attributes of the source is given to the target. */
  readonly carried: (attributes: FileAttributes) => FileAttributes
  /** Throws when the work is to end; asked between pieces of a file. */
  readonly checkStop: () => void
}

/**
 * Copies from a store to another whose driver knows a shorter way than `open` and `put`: no bytes go through the engine.
 * Everything is synchronous: a file pays for no promise. Throws StoreErrors with the side that they are of.
 */
export interface DirectCopy {
  /**
   * Opens a folder at both sides. Throws `gone` when it is no longer at the source.
   * @param told what was not kept of a file, and how many names a file has at the source
   */
  folder(
    from: StorePath,
    to: StorePath,
    told: { readonly losses: (losses: Losses) => void; readonly names: (count: number) => void },
  ): FolderCopy
  /** Opens a file and the upload that it is copied to. Throws `changed` when the file is of another version. */
  part(file: PartSource): PartCopy
  /** Whether a file has holes, which are kept only by who copies all of it. */
  hasHoles(path: StorePath): boolean
}

/** Copies files of one folder. */
export interface FolderCopy extends Disposable {
  /** Copies a file and returns its size. */
  file(name: Buffer): number
  /** Copies what need not be opened: an empty file, or a link. Returns a file's size, undefined for a link. */
  other(name: Buffer): number | undefined
  /** What stands under a name at the source, a link not followed; undefined when nothing does. */
  look(name: Buffer): Entry | undefined
}

export interface PartSource {
  readonly path: StorePath
  readonly upload: Upload
  readonly sizeBytes: number
  /** That the source's file must be of. */
  readonly version: string
}

export interface PartCopy extends Disposable {
  copy(offset: number, length: number): void
  /** All of the part is copied: it counts from now on, unless the source's file is of another version by now. */
  finish(index: number): void
}
