import type { BlobClient } from './client.ts'
import { failed } from './errors.ts'
import { type Receiver, receiverInto } from '../http/transport.ts'
import { inRanges, rangeOf } from '../http/ranges.ts'
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

  constructor(
    client: BlobClient,
    opened: OpenedBlob,
    requestBytes: number,
    describe: (operation: string) => string,
  ) {
    this.#client = client
    this.opened = opened
    this.#requestBytes = requestBytes
    this.#describe = describe
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
    const { head, sizeBytes } = this.opened
    const end = offset + length
    if (end > sizeBytes) throw this.#changed('read', `it has ${sizeBytes} bytes, not ${end}`)
    if (end <= head.length) return head.subarray(offset, end)
    const bytes = Buffer.allocUnsafe(length)
    await this.pour(offset, length, receiverInto(bytes).take)
    return bytes
  }

  async pour(offset: number, length: number, take: TakeBytes): Promise<void> {
    await inRanges(length, this.#requestBytes, take, (at, receiver) => this.#readRange(offset + at, receiver))
  }

  async verifyUnchanged(): Promise<void> {
    const { blob, etag } = this.opened
    const what = () => this.#describe('check')
    const answer = await this.#client.request({
      method: 'HEAD',
      blob,
      ifMatch: etag,
      what,
      accept: [404, 412],
    })
    if (answer.status !== 200) throw this.#changed('check', `answered ${answer.status}`)
  }

  async close(): Promise<void> {
    // A blob that is being read holds nothing at the service.
  }

  async #readRange(offset: number, receiver: Receiver): Promise<void> {
    const { blob, etag } = this.opened
    const range = rangeOf(offset, receiver)
    const answer = await this.#client.request({
      method: 'GET',
      blob,
      ifMatch: etag,
      store: { 'x-ms-range': range },
      receiver,
      what: () => this.#describe(`read of ${range}`),
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
