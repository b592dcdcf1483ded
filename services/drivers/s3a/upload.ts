import { hash } from 'node:crypto'
import {
  type Continuation,
  type NewFile,
  readableDigest,
  StoreError,
  type StorePath,
  type Upload,
} from '../contract/driver.ts'
import type { What } from '../buckets/objects.ts'
import { digestOf } from '../digests/running-digest.ts'
import type { Bucket } from './bucket.ts'
import { type ContentDigest, md5Of } from './digests.ts'
import type { ListedPart } from './xml.ts'

const MiB = 1024 * 1024
/** "Amazon S3 multipart upload limits". */
const maxParts = 10_000
const minPartBytes = 5 * MiB
const maxPartBytes = 5 * 1024 * MiB

/** The last part number is not for content: see `labelOf`. */
const labelNumber = maxParts
const maxContentParts = maxParts - 1

/** Size of the parts of a file: as configured, or as large as needed to stay within the number of parts. */
export function partBytes(sizeBytes: number, configuredBytes: number): number {
  const neededBytes = Math.ceil(sizeBytes / maxContentParts)
  const bytes = Math.max(configuredBytes, minPartBytes)
  return neededBytes <= bytes ? bytes : Math.min(Math.ceil(neededBytes / MiB) * MiB, maxPartBytes)
}

/** What a token stands for. */
export interface UploadState {
  readonly path: StorePath
  readonly key: string
  readonly id: string
  /** By the service's clock, in milliseconds, or earlier. */
  readonly begunMs: number
}

const tokenOf = ({ path, id, begunMs }: Omit<UploadState, 'key'>): string =>
  [path.toString('base64url'), Buffer.from(id).toString('base64url'), Math.floor(begunMs)].join('.')

/** Throws a StoreError for a token that no driver of this kind made. */
export function readUpload({ token }: Upload): UploadState {
  const [, path, id, begun] = /^([\w-]+)\.([\w-]+)\.(\d{1,15})$/.exec(token) ?? []
  if (path === undefined || id === undefined)
    throw new StoreError('io', `${token.slice(0, 100)} is not the token of an upload to S3`)
  const bytes = Buffer.from(path, 'base64url')
  return {
    path: bytes,
    key: bytes.toString('utf8'),
    id: Buffer.from(id, 'base64url').toString(),
    begunMs: Number(begun),
  }
}

/**
 * What says of an upload whose it is, for whoever goes on with it after a kill. The service keeps no such thing beside an
 * upload, but each part that is written to it, also one that is not named when it is completed and then dropped: so the
 * last part number has a few bytes that only the very same upload has.
 */
function labelOf(
  path: StorePath,
  { sizeBytes, tag }: Pick<NewFile, 'sizeBytes' | 'tag'>,
  { version, shared }: Continuation,
  bytesOfPart: number,
  digest: ContentDigest,
): Buffer {
  const generation = shared?.generation ?? ''
  const text = [path.toString('base64url'), sizeBytes, tag, bytesOfPart, digest, generation, version].join(
    '\n',
  )
  return hash('sha256', text, 'buffer')
}

async function isLabel(part: ListedPart, label: Buffer): Promise<boolean> {
  if (part.number !== labelNumber || part.sizeBytes !== label.length) return false
  // Where objects are encrypted by a key, the entity tag of a part is no digest of it.
  const known = readableDigest(part.digests) ?? { kind: 'md5', value: md5Of(part.etag) }
  return known.value === (await digestOf(known.kind, [label]))
}

export interface Begun {
  readonly path: StorePath
  readonly file: NewFile
  readonly metadata: Readonly<Record<string, string>>
  readonly partBytes: number
  readonly continuation: Continuation | undefined
}

/** Begins an upload, or finds the one with which it goes on. */
export async function beginUpload(
  bucket: Bucket,
  key: string,
  { path, file, metadata, partBytes: bytesOfPart, continuation }: Begun,
  what: What,
): Promise<Upload> {
  const { sizeBytes } = file
  // An hour back: clocks differ, and what is older than the upload was made by somebody else.
  const begunMs = Math.max(0, Date.now() + bucket.aheadMs - beforeMs)
  const asUpload = (id: string): Upload => ({ token: tokenOf({ path, id, begunMs }), sizeBytes })
  if (continuation === undefined)
    return asUpload(await bucket.createUpload(key, metadata, bucket.partDigest, what))
  const label = labelOf(path, file, continuation, bytesOfPart, bucket.partDigest)
  const known = await labelled(bucket, key, label, what)
  if (known !== undefined) {
    const parts = (await bucket.parts(key, known, what))?.parts ?? []
    return { ...asUpload(known), written: wholeParts(parts, sizeBytes, bytesOfPart) }
  }
  const id = await bucket.createUpload(key, metadata, bucket.partDigest, what)
  await bucket.putPart(key, { id, number: labelNumber }, label, what)
  // Somebody else may have begun the very same meanwhile: whoever comes first by the service's clock goes on.
  const first = (await labelled(bucket, key, label, what)) ?? id
  if (first !== id) await bucket.abortUpload(key, id, what)
  return { ...asUpload(first), written: [] }
}

const beforeMs = 60 * 60_000

/** The upload with this label, the oldest of several. */
async function labelled(bucket: Bucket, key: string, label: Buffer, what: What): Promise<string | undefined> {
  const byAge = (await bucket.uploads(key, what)).toSorted(
    (a, b) => Date.parse(a.initiated) - Date.parse(b.initiated) || (a.id < b.id ? -1 : 1),
  )
  for (const { id } of byAge) {
    const last = await lastPart(bucket, key, id, what)
    if (last !== undefined && (await isLabel(last, label))) return id
  }
  return undefined
}

/** The part of the last number. MinIO goes on only after a part that is there: what is not found so is looked for among all. */
async function lastPart(
  bucket: Bucket,
  key: string,
  id: string,
  what: What,
): Promise<ListedPart | undefined> {
  const [last] = (await bucket.parts(key, id, what, labelNumber - 1))?.parts ?? []
  return last ?? (await bucket.parts(key, id, what))?.parts.find(({ number }) => number === labelNumber)
}

/** Parts of the content: those whose size is right for their place. */
const isWhole = (part: ListedPart, sizeBytes: number, bytesOfPart: number): boolean =>
  part.number !== labelNumber &&
  part.sizeBytes === Math.min(bytesOfPart, sizeBytes - (part.number - 1) * bytesOfPart)

export const wholeParts = (parts: readonly ListedPart[], sizeBytes: number, bytesOfPart: number): number[] =>
  parts.filter((part) => isWhole(part, sizeBytes, bytesOfPart)).map(({ number }) => number - 1)
