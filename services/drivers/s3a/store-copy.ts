import { ObjectFile } from '../buckets/object-file.ts'
import type { What } from '../buckets/objects.ts'
import {
  commonDigest,
  digestNames,
  type Digests,
  type FileAttributes,
  type Losses,
  type SourceFile,
  type StoreCopy,
  StoreError,
  type StorePath,
  type UploadedRange,
} from '../contract/driver.ts'
import { lossesOf } from './attributes.ts'
import type { Bucket, CopyOutcome, CopySource, S3Object } from './bucket.ts'
import { failed } from './errors.ts'
import { readUpload } from './upload.ts'

/**
 * A service copies 5 GiB with one request. It may not answer before it is done, and no connection is waited for longer than
 * a minute without a byte: so much a slow disk copies in that time.
 */
const maxCopiedBytes = 1024 * 1024 * 1024

/** A bucket as copies are made from it. */
export class S3Place {
  readonly bucket: Bucket
  /** Equal for buckets of the same service that are opened with the same credentials. */
  readonly access: string

  constructor(bucket: Bucket, access: string) {
    this.bucket = bucket
    this.access = access
  }
}

/** Where files are copied to. */
export interface CopyTarget {
  readonly bucket: Bucket
  what(operation: string, path: StorePath): What
  /** Throws where nothing can be written under the path. */
  writableKey(path: StorePath, what: What): Promise<string>
}

/** Copies between two buckets by CopyObject and UploadPartCopy. */
export class S3Copy implements StoreCopy {
  readonly maxFileBytes = maxCopiedBytes
  readonly #from: Bucket
  readonly #to: CopyTarget
  /** Services that copy no part of any object are asked once. */
  #copiesParts = true

  constructor(from: Bucket, to: CopyTarget) {
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
    await this.#compare(key, object, copied, what)
    return lossesOf(attributes)
  }

  /** By the digests that both have, asked for where the answer does not tell any; else by size. Throws `corrupt`. */
  async #compare(key: string, object: S3Object, copied: Digests, what: What): Promise<void> {
    let common = commonDigest(object.digests, copied)
    if (common === undefined) {
      const there = await this.#to.bucket.properties(key, what)
      if (there?.sizeBytes !== object.sizeBytes)
        throw failed('corrupt', what(), `it has ${there?.sizeBytes ?? 'no'} bytes, not ${object.sizeBytes}`)
      common = commonDigest(object.digests, there.digests)
    }
    if (common === undefined) return
    const [its, copys] = common.values
    if (its !== copys)
      throw failed('corrupt', what(), `the copy has ${digestNames[common.kind]} ${copys}, not ${its}`)
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
    if (!(file instanceof ObjectFile)) throw new Error('a file of another kind of store')
    // Only a driver of this kind has the bucket that this was made with.
    const { key, object } = file as ObjectFile<S3Object>
    return [this.#from.copySource(key, object.tag), object]
  }
}

const ofSource = (outcome: Exclude<CopyOutcome, 'refused'>): StoreError =>
  new StoreError(
    outcome,
    outcome === 'gone' ? 'the file is no longer there' : 'the file changed while it was copied',
    { side: 'source' },
  )
