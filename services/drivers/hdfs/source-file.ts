import type { FileAttributes, SourceFile, TakeBytes } from '../contract/driver.ts'
import { inRanges } from '../http/ranges.ts'
import { type Taker, takerInto } from '../http/transport.ts'
import type { FileStatus } from './status.ts'
import { versionOf } from './status.ts'
import { failed } from './errors.ts'

/** What a file is read with. */
export interface FileReader {
  /** Hands over bytes from an offset, as many as are taken. Returns how many are there. */
  read(offset: number, taker: Taker): Promise<number>
  /** The file that stands at the path now. */
  status(): Promise<FileStatus | undefined>
  describe(operation: string): string
}

/**
 * One version of a file. HDFS keeps no versions and reads by path: each time after reading it is looked whether the file still
 * is the one that was opened.
 */
export class HdfsFile implements SourceFile {
  readonly nameCount = 1
  readonly attributes: FileAttributes
  readonly version: string
  readonly #status: FileStatus
  readonly #reader: FileReader
  readonly #requestBytes: number
  /** Nothing was read since the file was last seen to be the one that was opened. */
  #isSeen = false

  constructor(status: FileStatus, attributes: FileAttributes, requestBytes: number, reader: FileReader) {
    this.#status = status
    this.version = versionOf(status)
    this.attributes = attributes
    this.#requestBytes = requestBytes
    this.#reader = reader
  }

  get sizeBytes(): number {
    return this.#status.sizeBytes
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length)
    await this.pour(offset, length, takerInto(bytes).take)
    return bytes
  }

  async pour(offset: number, length: number, take: TakeBytes): Promise<void> {
    const end = offset + length
    if (end > this.sizeBytes) throw this.#changed('read', `it has ${this.sizeBytes} bytes, not ${end}`)
    this.#isSeen = false
    await inRanges(length, this.#requestBytes, take, (at, taker) => this.#readRange(offset + at, taker))
    await this.#look()
    this.#isSeen = true
  }

  async verifyUnchanged(): Promise<void> {
    if (!this.#isSeen) await this.#look()
  }

  async close(): Promise<void> {
    // A file that is being read holds nothing in the cluster.
  }

  async #readRange(offset: number, { length, take }: Taker): Promise<void> {
    let untaken: unknown
    const taking: TakeBytes = (bytes, at) => {
      try {
        take(bytes, at)
      } catch (error) {
        untaken = error
        throw error
      }
    }
    const got = await this.#reader.read(offset, { length, take: taking }).catch(async (error: unknown) => {
      // What became shorter or went meanwhile has its own errors; what could not be taken says nothing of the file.
      if (error !== untaken) await this.#look()
      throw error
    })
    if (got !== length) throw this.#changed('read', `got ${got} of ${length} bytes at ${offset}`)
  }

  async #look(): Promise<void> {
    const there = await this.#reader.status()
    if (there === undefined || versionOf(there) !== this.version)
      throw this.#changed('check', 'it is another version')
  }

  #changed(operation: string, said: string) {
    return failed('changed', this.#reader.describe(operation), said)
  }
}
