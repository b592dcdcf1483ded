import type { FileAttributes } from './entry.ts'
import type { TakeBytes } from './part-body.ts'

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
  /**
   * The same without keeping what comes, and with offsets from `offset` on. What came is of the version that was opened if
   * this ends without an error, and not before. Throws what `take` throws.
   */
  pour?(offset: number, length: number, take: TakeBytes): Promise<void>
  /**
   * Throws `changed` when what was read may not be all of the version that was opened: where the store cannot tell that of
   * what it answered, it is asked whether that version is still there.
   */
  verifyUnchanged(): Promise<void>
  close(): Promise<void>
}
