import type { BlobClient } from './client.ts'
import { failed } from './errors.ts'
import { type Taker, takerInto } from '../http/transport.ts'
import { inRanges, isRange, rangeOf } from '../http/ranges.ts'
import type { FileAttributes, SourceFile, TakeBytes } from '../contract/driver.ts'

export interface OpenedBlob {
  readonly blob: string
  readonly sizeBytes: number
  readonly attributes: FileAttributes
  readonly etag: string
  /** Of the content, base64, where whoever wrote it gave one and it was asked for. */
  readonly md5?: string
  /** The first bytes, which came with the answer to `open`; possibly all, or none. */
  readonly head: Buffer
}

/** One version of a blob, held by its ETag: the service answers 412 when another version stands there. */
export class BlobFile implements SourceFile {
  readonly nameCount = 1
  readonly opened: OpenedBlob
  readonly #client: BlobClient
  readonly #requestBytes: number
  readonly #describe: (operation: string) => string
  readonly #signal: AbortSignal | undefined

  /** @param signal ends what is asked of it */
  constructor(
    client: BlobClient,
    opened: OpenedBlob,
    requestBytes: number,
    describe: (operation: string) => string,
    signal?: AbortSignal,
  ) {
    this.#client = client
    this.opened = opened
    this.#requestBytes = requestBytes
    this.#describe = describe
    this.#signal = signal
  }

  get sizeBytes(): number {
    return this.opened.sizeBytes
  }

  get attributes(): FileAttributes {
    return this.opened.attributes
  }

  get version(): string {
    return this.opened.etag
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const { head } = this.opened
    if (offset + length <= head.length) return head.subarray(offset, offset + length)
    const bytes = Buffer.allocUnsafe(length)
    await this.pour(offset, length, takerInto(bytes).take)
    return bytes
  }

  async pour(offset: number, length: number, take: TakeBytes): Promise<void> {
    const end = offset + length
    if (end > this.sizeBytes) throw this.#changed('read', `it has ${this.sizeBytes} bytes, not ${end}`)
    await inRanges(length, this.#requestBytes, take, (at, taker) => this.#readRange(offset + at, taker))
  }

  async verifyUnchanged(): Promise<void> {
    const { blob, etag } = this.opened
    const what = () => this.#describe('check')
    const answer = await this.#client.request({
      method: 'HEAD',
      blob,
      ifMatch: etag,
      what,
      signal: this.#signal,
      accept: [404, 412],
    })
    if (answer.status !== 200) throw this.#changed('check', `answered ${answer.status}`)
  }

  async close(): Promise<void> {
    // A blob that is being read holds nothing at the service.
  }

  async #readRange(offset: number, taker: Taker): Promise<void> {
    const { blob, etag } = this.opened
    const range = rangeOf(offset, taker)
    const answer = await this.#client.request({
      method: 'GET',
      blob,
      ifMatch: etag,
      store: { 'x-ms-range': range },
      receiver: {
        ...taker,
        accepts: (its) => its.headers.etag === etag && isRange(its, offset, taker),
      },
      what: () => this.#describe(`read of ${range}`),
      signal: this.#signal,
      accept: [404, 412, 416],
    })
    if (answer.status >= 400) throw this.#changed('read', `answered ${answer.status}`)
    if (answer.status !== 206 || !answer.isReceived) {
      const said = `${range} answered ${answer.status} with ${answer.body.length} bytes`
      throw failed('corrupt', this.#describe('read'), said)
    }
  }

  #changed(operation: string, said: string) {
    return failed(
      'changed',
      this.#describe(operation),
      `${said}; it was changed or deleted since it was opened`,
    )
  }
}
