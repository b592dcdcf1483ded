import { bucketFile, compareCopy, type CopyTarget, ofSource } from '../buckets/copies.ts'
import type { ObjectFile } from '../buckets/object-file.ts'
import type {
  FileAttributes,
  Losses,
  SourceFile,
  StoreCopy,
  StorePath,
  UploadedRange,
} from '../contract/driver.ts'
import { lossesOf } from './attributes.ts'
import type { Bucket, CopySource, S3Object } from './bucket.ts'
import { failed } from './errors.ts'
import { readUpload } from './upload.ts'

/**
 * A service copies 5 GiB with one request. It may not answer before it is done, and no connection is waited for longer than
 * a minute without a byte: so much a slow disk copies in that time.
 */
const maxCopiedBytes = 1024 * 1024 * 1024

/** Copies between two buckets by CopyObject and UploadPartCopy. */
export class S3Copy implements StoreCopy {
  readonly maxFileBytes = maxCopiedBytes
  readonly #from: Bucket
  readonly #to: CopyTarget<Bucket>
  /** Services that copy no part of any object are asked once. */
  #copiesParts = true

  constructor(from: Bucket, to: CopyTarget<Bucket>) {
    this.#from = from
    this.#to = to
  }

  async file(file: SourceFile, to: StorePath, attributes: FileAttributes): Promise<Losses | undefined> {
    const { bucket } = this.#to
    const [from, object] = this.#sourceOf(file)
    const what = this.#to.what('copy', to)
    const key = await this.#to.writableKey(to, what)
    const copied = await bucket.copyObject(key, from, object, attributes, what)
    if (copied === 'refused') return undefined
    if (typeof copied === 'string') throw ofSource(copied)
    await compareCopy(bucket, key, object, copied, what, failed)
    return lossesOf(attributes)
  }

  async part(file: SourceFile, { upload, index, offset, length }: UploadedRange): Promise<boolean> {
    if (!this.#copiesParts) return false
    const [from] = this.#sourceOf(file)
    const { path, key, id } = readUpload(upload)
    const what = this.#to.what(`copy part ${index}`, path)
    const part = { id, number: index + 1 }
    const refused = await this.#to.bucket.copyPart(key, part, { ...from, offset, length }, what)
    if (refused === undefined) return true
    if (refused !== 'refused') throw ofSource(refused)
    this.#copiesParts = false
    return false
  }

  #sourceOf(file: SourceFile): [CopySource, S3Object] {
    const { key, object } = bucketFile(file) as ObjectFile<S3Object>
    return [this.#from.copySource(key, object.tag), object]
  }
}
