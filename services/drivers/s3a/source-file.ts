import type { FileAttributes, SourceFile } from '../contract/driver.ts'
import { attributesOf } from './attributes.ts'
import type { Bucket, ObjectProperties } from './bucket.ts'
import { failed } from './errors.ts'

export interface OpenedObject extends ObjectProperties {
  readonly key: string
  /** The first bytes, which came with the answer to `open`; possibly all. */
  readonly head: Buffer
}

/** One version of an object, held by its entity tag: the service answers 412 when another version stands there. */
export class ObjectFile implements SourceFile {
  readonly nameCount = 1
  readonly attributes: FileAttributes
  readonly #bucket: Bucket
  readonly #opened: OpenedObject
  readonly #requestBytes: number
  readonly #describe: (operation: string) => string

  constructor(
    bucket: Bucket,
    opened: OpenedObject,
    requestBytes: number,
    describe: (operation: string) => string,
  ) {
    this.#bucket = bucket
    this.#opened = opened
    this.#requestBytes = requestBytes
    this.#describe = describe
    this.attributes = attributesOf(opened.headers)
  }

  get sizeBytes(): number {
    return this.#opened.sizeBytes
  }

  get version(): string {
    return this.#opened.version
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const { head, sizeBytes } = this.#opened
    const end = offset + length
    if (end > sizeBytes) throw this.#changed('read', `it has ${sizeBytes} bytes, not ${end}`)
    if (end <= head.length) return head.subarray(offset, end)
    const bytes = Buffer.allocUnsafe(length)
    for (let at = 0; at < length; at += this.#requestBytes)
      await this.#readRange(offset + at, bytes.subarray(at, Math.min(at + this.#requestBytes, length)))
    return bytes
  }

  async verifyUnchanged(): Promise<void> {
    const { key, version, head, sizeBytes } = this.#opened
    // All of it came with one answer, and was one version.
    if (head.length === sizeBytes) return
    const there = await this.#bucket.properties(key, () => this.#describe('check'))
    if (there?.version !== version) throw this.#changed('check', 'it is another version')
  }

  async close(): Promise<void> {
    // An object that is being read holds nothing at the service.
  }

  async #readRange(offset: number, into: Buffer): Promise<void> {
    const { key, etag } = this.#opened
    const length = await this.#bucket.readRange(key, etag, offset, into, () => this.#describe('read'))
    if (length !== into.length)
      throw this.#changed('read', `got ${length} of ${into.length} bytes at ${offset}`)
  }

  #changed(operation: string, said: string) {
    return failed('changed', this.#describe(operation), said)
  }
}
