import { hash } from 'node:crypto'
import {
  type Continuation,
  type LeftUpload,
  type NewFile,
  readableDigest,
  StoreError,
  type StorePath,
  type Upload,
} from '../contract/driver.ts'
import type { What } from '../buckets/objects.ts'
import { digestOf } from '../digests/running-digest.ts'
import { type Bucket, maxParts } from './bucket.ts'
import { abandonedAfterMs } from '../paths/temporary-names.ts'
import { type ContentDigest, md5Of } from './digests.ts'
import type { ListedPart, ListedUpload } from './xml.ts'

const MiB = 1024 * 1024
/** "Amazon S3 multipart upload limits". */
const minPartBytes = 5 * MiB
const maxPartBytes = 5 * 1024 * MiB

/** The last two part numbers are not for content: see `labelOf` and `ownerOf`. */
const labelNumber = maxParts
const ownerNumber = maxParts - 1
const maxContentParts = maxParts - 2

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

/**
 * What says of an upload which migration began it, for whoever looks for what is left of it: all that can be read back of a
 * part is its length and its digest. The length says whether others go on with it, and the generation that they are of.
 */
function ownerOf(tag: string, length: number): Buffer {
  return Buffer.alloc(length, hash('sha256', `upload of ${tag}`, 'buffer'))
}

const ownerBytes = (continuation: Continuation | undefined): number =>
  minOwnerBytes + (continuation?.shared?.generation ?? 0)
const minOwnerBytes = 32
/** What is longer than any generation makes it is somebody else's, and too long to be made for a comparison. */
const maxOwnerBytes = minOwnerBytes + 1_000_000

/** Whether a part has this content. */
async function isOf(part: ListedPart, label: Buffer): Promise<boolean> {
  if (part.sizeBytes !== label.length) return false
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
  const create = async () => {
    const id = await bucket.createUpload(key, metadata, bucket.partDigest, what)
    const owner = ownerOf(file.tag, ownerBytes(continuation))
    await bucket.putPart(key, { id, number: ownerNumber }, owner, what)
    return id
  }
  if (continuation === undefined) return asUpload(await create())
  const label = labelOf(path, file, continuation, bytesOfPart, bucket.partDigest)
  const known = await labelled(bucket, key, label, what)
  if (known !== undefined) {
    const parts = (await bucket.parts(key, known, what))?.parts ?? []
    return { ...asUpload(known), written: wholeParts(parts, sizeBytes, bytesOfPart) }
  }
  const id = await create()
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
    const last = await partOf(bucket, { key, id }, labelNumber, what)
    if (last !== undefined && (await isOf(last, label))) return id
  }
  return undefined
}

/** The part of a number. MinIO goes on only after a part that is there: what is not found so is looked for among all. */
async function partOf(
  bucket: Bucket,
  { key, id }: Pick<ListedUpload, 'key' | 'id'>,
  number: number,
  what: What,
): Promise<ListedPart | undefined> {
  const its = (part: ListedPart) => part.number === number
  const after = await bucket.parts(key, id, what, number - 1)
  return after?.parts.find(its) ?? (await bucket.parts(key, id, what))?.parts.find(its)
}

/** See `Leftovers`. Services that list uploads by their whole keys only, as MinIO, remove what is left themselves. */
export async function sweepUploads(
  bucket: Bucket,
  folder: StorePath,
  tag: string,
  isOver: (upload: LeftUpload) => boolean,
  what: What,
): Promise<void> {
  const prefix = folder.length === 0 ? '' : `${folder.toString('utf8')}/`
  for await (const upload of bucket.uploadsIn(prefix, what)) {
    const owner = await partOf(bucket, upload, ownerNumber, what)
    if (owner === undefined || owner.sizeBytes > maxOwnerBytes || owner.sizeBytes < minOwnerBytes) continue
    if (!(await isOf(owner, ownerOf(tag, owner.sizeBytes)))) continue
    const generation = owner.sizeBytes - minOwnerBytes
    const path = Buffer.from(upload.key)
    const left = { ...(generation > 0 && { generation }), isOf: (one: StorePath) => path.equals(one) }
    if (!isOver(left)) continue
    // Nothing tells whether the single process that wrote it lives: it may be on another host.
    if (generation === 0 && !(await isAbandoned(bucket, upload, what))) continue
    await bucket.abortUpload(upload.key, upload.id, what)
  }
}

/** Whether nothing was written to an upload for so long that nobody does any longer. */
async function isAbandoned(
  bucket: Bucket,
  { key, id, initiated }: ListedUpload,
  what: What,
): Promise<boolean> {
  const isOld = (time: string) => Date.now() + bucket.aheadMs - Date.parse(time) > abandonedAfterMs
  if (!isOld(initiated)) return false
  const written = await bucket.parts(key, id, what)
  return written?.parts.every(({ lastModified }) => isOld(lastModified)) === true
}

/** Parts of the content: those whose size is right for their place. */
const isWhole = (part: ListedPart, sizeBytes: number, bytesOfPart: number): boolean =>
  part.number <= maxContentParts &&
  part.sizeBytes === Math.min(bytesOfPart, sizeBytes - (part.number - 1) * bytesOfPart)

export const wholeParts = (parts: readonly ListedPart[], sizeBytes: number, bytesOfPart: number): number[] =>
  parts.filter((part) => isWhole(part, sizeBytes, bytesOfPart)).map(({ number }) => number - 1)
