import type { FileAttributes, Losses, StorePath, Upload } from './entry.ts'
import type { SourceFile } from './source-file.ts'

/**
 * Copies from a store to another one of the same service, which has both: no content goes through the engine. Where the
 * service does not copy something, whatever the reason, its content is sent as from any store. Throws StoreErrors; those of
 * the source say that they are: `gone`, and `changed` for another version than the one that was opened.
 */
export interface StoreCopy {
  /** Largest file that is copied with one call; what is larger is copied in parts. */
  readonly maxFileBytes: number
  /** Copies a whole file, as `put` writes it, and compares the two. Undefined where the service does not copy it. */
  file(file: SourceFile, to: StorePath, attributes: FileAttributes): Promise<Losses | undefined>
  /** Copies a part of a file, as `writePart` writes it. False where the service does not copy it. */
  part(file: SourceFile, to: UploadedRange): Promise<boolean>
}

/** A part of an upload, as a range of the file that it is of. */
export interface UploadedRange {
  readonly upload: Upload
  readonly index: number
  readonly offset: number
  readonly length: number
}
