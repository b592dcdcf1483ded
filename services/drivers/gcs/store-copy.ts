import { bucketFile, compareCopy, type CopyTarget, ofSource } from '../buckets/copies.ts'
import { maxObjectBytes } from '../buckets/bucket-driver.ts'
import type { FileAttributes, Losses, SourceFile, StoreCopy, StorePath } from '../contract/driver.ts'
import { lossesOf } from '../contract/metadata-values.ts'
import { metadataOf } from './attributes.ts'
import type { Bucket } from './bucket.ts'
import { failed } from './errors.ts'

/** Copies between two buckets by rewriting, which takes as many requests as the service wants, whatever the size. */
export class GcsCopy implements StoreCopy {
  readonly maxFileBytes = maxObjectBytes
  readonly #from: Bucket
  readonly #to: CopyTarget<Bucket>

  constructor(from: Bucket, to: CopyTarget<Bucket>) {
    this.#from = from
    this.#to = to
  }

  async file(file: SourceFile, to: StorePath, attributes: FileAttributes): Promise<Losses | undefined> {
    const { bucket } = this.#to
    const { key: from, object } = bucketFile(file)
    const what = this.#to.what('copy', to)
    const key = await this.#to.writableKey(to, what)
    const copied = await this.#from.rewrite(from, object, bucket, key, metadataOf(attributes), what)
    if (copied === 'refused') return undefined
    if (typeof copied === 'string') throw ofSource(copied)
    await compareCopy(bucket, key, object, copied.digests ?? {}, what, failed)
    return lossesOf(attributes)
  }

  /** The service copies no ranges. */
  async part(): Promise<boolean> {
    return false
  }
}
