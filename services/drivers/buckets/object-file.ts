import type { FileAttributes, SourceFile, TakeBytes } from '../contract/driver.ts'
import type { Failures } from '../http/failures.ts'
import { type Taker, takerInto } from '../http/transport.ts'
import { inRanges } from '../http/ranges.ts'
import type { ObjectBucket, StoredObject } from './objects.ts'

export interface OpenedObject<O extends StoredObject = StoredObject> {
  readonly key: string
  readonly object: O
  /** The first bytes, which came with the answer to `open`; possibly all. */
  readonly head: Buffer
}

/** One version of an object, held by its tag: the service refuses to read when another content stands there. */
export class ObjectFile<O extends StoredObject = StoredObject> implements SourceFile {
  readonly nameCount = 1
  readonly attributes: FileAttributes
  readonly #bucket: Pick<ObjectBucket, 'properties' | 'readRange'>
  readonly #opened: OpenedObject<O>
  readonly #requestBytes: number
  readonly #describe: (operation: string) => string
  readonly #failed: Failures['failed']
  readonly #signal: AbortSignal | undefined

  /** @param signal ends what is asked of it */
  constructor(
    bucket: Pick<ObjectBucket, 'properties' | 'readRange'>,
    opened: OpenedObject<O>,
    requestBytes: number,
    describe: (operation: string) => string,
    failed: Failures['failed'],
    signal?: AbortSignal,
  ) {
    this.#bucket = bucket
    this.#opened = opened
    this.#requestBytes = requestBytes
    this.#describe = describe
    this.#failed = failed
    this.#signal = signal
    this.attributes = opened.object.attributes
  }

  get key(): string {
    return this.#opened.key
  }

  /** As it was when it was opened. */
  get object(): O {
    return this.#opened.object
  }

  get sizeBytes(): number {
    return this.#opened.object.sizeBytes
  }

  get version(): string {
    return this.#opened.object.version
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const { head } = this.#opened
    if (offset + length <= head.length) return head.subarray(offset, offset + length)
    const bytes = Buffer.allocUnsafe(length)
    await this.pour(offset, length, takerInto(bytes).take)
    return bytes
  }

  /** What comes is of the tag: the service answers 412, or nothing, when another version stands there. */
  async pour(offset: number, length: number, take: TakeBytes): Promise<void> {
    const end = offset + length
    if (end > this.sizeBytes) throw this.#changed('read', `it has ${this.sizeBytes} bytes, not ${end}`)
    await inRanges(length, this.#requestBytes, take, (at, taker) => this.#readRange(offset + at, taker))
  }

  async verifyUnchanged(): Promise<void> {
    const { key, head } = this.#opened
    // All of it came with one answer, and was one version.
    if (head.length === this.sizeBytes) return
    const there = await this.#bucket.properties(key, () => this.#describe('check'), this.#signal)
    if (there?.version !== this.version) throw this.#changed('check', 'it is another version')
  }

  async close(): Promise<void> {
    // An object that is being read holds nothing at the service.
  }

  async #readRange(offset: number, taker: Taker): Promise<void> {
    const { key, object } = this.#opened
    const what = () => this.#describe('read')
    const length = await this.#bucket.readRange(key, object.tag, offset, taker, what, this.#signal)
    if (length !== taker.length)
      throw this.#changed('read', `got ${length} of ${taker.length} bytes at ${offset}`)
  }

  #changed(operation: string, said: string) {
    return this.#failed('changed', this.#describe(operation), said)
  }
}
