import type { FileAttributes, Upload } from '../../drivers/contract/driver.ts'

/** A large file that is being copied in parts; plain data, so that any thread can copy any part. */
export interface LargeCopy {
  /** In the source. */
  readonly path: Uint8Array
  readonly upload: Upload
  readonly sizeBytes: number
  readonly partBytes: number
  /** Version of the source's file that all parts must be of. */
  readonly version: string
  readonly attributes: FileAttributes
  readonly nameCount: number
  /** Whether the parts are copied by `DirectCopy`: synchronously, one at a time in a thread. */
  readonly isDirect: boolean
  /** Whether its parts are written one after the other. */
  readonly isSequential: boolean
  /** Whether several processes may write its parts. */
  readonly isShared: boolean
}

/** What of it is needed to copy parts. */
export type PartsOf = Omit<LargeCopy, 'attributes' | 'nameCount'>

/** Bytes of a part. */
export const bytesOf = ({ sizeBytes, partBytes }: PartsOf, index: number): number =>
  Math.min(partBytes, sizeBytes - index * partBytes)

/** Bytes of the parts that were there from the beginning. */
export const writtenBytes = (copy: LargeCopy): number =>
  (copy.upload.written ?? []).reduce((sum, index) => sum + bytesOf(copy, index), 0)

/** Indices of the parts that are still to be copied. */
export function partsLeft({ sizeBytes, partBytes, upload }: PartsOf): number[] {
  const written = new Set(upload.written)
  const all = Array.from({ length: Math.ceil(sizeBytes / partBytes) }, (_, index) => index)
  return all.filter((index) => !written.has(index))
}
