import { closeSync, fstatSync, type BigIntStats } from 'node:fs'
import { StoreError, type FileAttributes, type SourceFile } from './driver.ts'
import { locally } from './local-errors.ts'
import { changed, openForReading, readFully } from './local-file.ts'

/**
 * The change time moves with every write, mode or link count, and cannot be set; the device's number is left out, because
 * it differs between hosts that have mounted the same store.
 */
export const versionOf = (stat: BigIntStats) => `${stat.ino}-${stat.size}-${stat.mtimeNs}-${stat.ctimeNs}`

const nsInMs = 1_000_000n

/** An open file of the host; all of its work is synchronous. */
export class LocalSourceFile implements SourceFile {
  readonly sizeBytes: number
  readonly attributes: FileAttributes
  readonly version: string
  readonly #fd: number
  #buffer = Buffer.alloc(0)

  /** Throws `unsupported` when there is no file here, and system errors. */
  constructor(absolutePath: Buffer) {
    this.#fd = openForReading(absolutePath)
    try {
      const stat = fstatSync(this.#fd, { bigint: true })
      if (!stat.isFile()) throw new StoreError('unsupported', 'this is no file')
      this.sizeBytes = Number(stat.size)
      const modifiedMs = Number(stat.mtimeNs / nsInMs) + Number(stat.mtimeNs % nsInMs) / Number(nsInMs)
      this.attributes = { modifiedMs, mode: Number(stat.mode) & 0o7777 }
      this.version = versionOf(stat)
    } catch (error) {
      closeSync(this.#fd)
      throw error
    }
  }

  async read(offset: number, length: number): Promise<Buffer> {
    return locally(() => {
      // Between the reads of a large file the buffer is kept: new memory for every part costs page faults.
      if (this.#buffer.length < length) this.#buffer = Buffer.allocUnsafe(length)
      const bytes = this.#buffer.subarray(0, length)
      if (readFully(this.#fd, bytes, length, offset) !== length) throw changed()
      this.#check()
      return bytes
    })
  }

  async verifyUnchanged(): Promise<void> {
    locally(() => this.#check())
  }

  async close(): Promise<void> {
    closeSync(this.#fd)
  }

  #check(): void {
    if (versionOf(fstatSync(this.#fd, { bigint: true })) !== this.version) throw changed()
  }
}
