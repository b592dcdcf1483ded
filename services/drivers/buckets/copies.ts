import { hash } from 'node:crypto'
import {
  commonDigest,
  digestNames,
  type Digests,
  type SourceFile,
  StoreError,
  type StorePath,
} from '../contract/driver.ts'
import type { Failures } from '../http/failures.ts'
import { ObjectFile } from './object-file.ts'
import type { ObjectBucket, StoredObject, What } from './objects.ts'

/** What came of a copy at the service: `refused`, whatever the reason, means that nothing was copied. */
export type CopyOutcome = 'gone' | 'changed' | 'refused'

/** A bucket as copies are made from it. */
export class BucketPlace<B extends ObjectBucket = ObjectBucket> {
  readonly bucket: B
  /** Equal for buckets of the same service that are opened with the same credentials. */
  readonly access: string

  constructor(bucket: B, access: string) {
    this.bucket = bucket
    this.access = access
  }
}

/** Where files are copied to. */
export interface CopyTarget<B extends ObjectBucket> {
  readonly bucket: B
  what(operation: string, path: StorePath): What
  /** Throws where nothing can be written under the path. */
  writableKey(path: StorePath, what: What): Promise<string>
}

/**
 * What access goes by: the service, and all options and properties but those that say which bucket it is, and how its objects
 * are read and written. Nothing can be read back from it.
 * @param ofObjects names of such properties
 */
export function accessBy(
  service: string,
  options: Readonly<Record<string, unknown>>,
  properties: Readonly<Record<string, string>> = {},
  ofObjects: RegExp,
): string {
  const others = Object.entries(properties).filter(([name]) => !ofObjects.test(name))
  const sorted = [...Object.entries(options), ...others].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return hash('sha256', JSON.stringify([service, ...sorted]))
}

/** A file of a bucket: of the one that it was opened with, which only a driver of that kind has. */
export function bucketFile(file: SourceFile): ObjectFile {
  if (!(file instanceof ObjectFile)) throw new Error('a file of another kind of store')
  return file as ObjectFile
}

/**
 * Compares a copy with its source, by the digests that both have, asked for where the answer does not tell any; else by size.
 * Throws `corrupt`.
 */
export async function compareCopy(
  bucket: Pick<ObjectBucket, 'properties'>,
  key: string,
  object: StoredObject,
  copied: Digests,
  what: What,
  failed: Failures['failed'],
): Promise<void> {
  let common = commonDigest(object.digests, copied)
  if (common === undefined) {
    const there = await bucket.properties(key, what)
    if (there?.sizeBytes !== object.sizeBytes)
      throw failed('corrupt', what(), `it has ${there?.sizeBytes ?? 'no'} bytes, not ${object.sizeBytes}`)
    common = commonDigest(object.digests, there.digests)
  }
  if (common === undefined) return
  const [its, copys] = common.values
  if (its !== copys)
    throw failed('corrupt', what(), `the copy has ${digestNames[common.kind]} ${copys}, not ${its}`)
}

export const ofSource = (outcome: Exclude<CopyOutcome, 'refused'>): StoreError =>
  new StoreError(
    outcome,
    outcome === 'gone' ? 'the file is no longer there' : 'the file changed while it was copied',
    { side: 'source' },
  )
