import { concurrently } from '../../../broker/common/concurrently.ts'
import type { What } from '../buckets/objects.ts'
import type { Driver, LeftUpload, PartBody, Upload } from '../contract/driver.ts'
import { crcOf, crcText } from '../digests/crc32c.ts'
import { joinedCrc } from '../digests/joined-crc.ts'
import { CursorGuard } from '../http/cursor-guard.ts'
import { joinPath } from '../paths/path-text.ts'
import {
  isLeftBehind,
  partName,
  partPlace,
  type PlacedPart,
  readUpload as readToken,
  requireContiguous,
  type UploadState,
  uploadToken,
} from '../uploads/part-folders.ts'
import { allLiveThreads, isTemporaryName, temporaryPrefix } from '../paths/temporary-names.ts'
import type { Metadata } from './attributes.ts'
import { type Bucket, type GcsObject, maxJoined } from './bucket.ts'
import { failed } from './errors.ts'

/*
 * An upload is a folder beside the file that it is of, with an object for each part that is written and verified: the service
 * joins 32 of them at a time, without a byte that is copied, the last time under the name of the file. Unlike a resumable
 * upload it takes parts in any order, from anybody.
 */

const MiB = 1024 * 1024
/** Two rounds of joining. */
const maxParts = maxJoined ** 2

/** Size of the parts of a file: as configured, or as large as needed to stay within the number of parts. */
export const partBytes = (sizeBytes: number, configuredBytes: number): number =>
  Math.max(configuredBytes, Math.ceil(sizeBytes / maxParts / MiB) * MiB)

/** What a token stands for. */
interface GcsUpload extends UploadState {
  /** By the service's clock, in milliseconds. */
  readonly begunMs: number
}

export const tokenOf = ({ begunMs, ...state }: GcsUpload): string =>
  `${uploadToken(state)}.${Math.floor(begunMs)}`

/** Throws a StoreError for a token that no driver of this kind made. */
export function readUpload({ token }: Pick<Upload, 'token'>): GcsUpload {
  const [, its = '', begun = ''] = /^(.*)\.(\d{1,15})$/.exec(token) ?? []
  return { ...readToken({ token: its }, 'Cloud Storage'), begunMs: Number(begun) }
}

/** What says of a part that its content was compared with what was sent: its digest, as it was then. */
const verifiedName = 'gantry-verified'

/** A part that is written and verified. */
interface Part extends PlacedPart {
  readonly object: GcsObject
}

const prefixOf = ({ folder }: UploadState): string => `${folder.toString('utf8')}/`

export async function writePart(
  bucket: Bucket,
  upload: Upload,
  { index, offset }: Pick<Part, 'index' | 'offset'>,
  content: Buffer | PartBody,
  what: What,
): Promise<void> {
  const key = prefixOf(readUpload(upload)) + partName(index, offset)
  if (Buffer.isBuffer(content)) {
    // The service takes it only with the content of this digest.
    await bucket.putWith(key, content, { [verifiedName]: crcText(crcOf(content)) }, what)
    return
  }
  const made = await bucket.putPieces(key, content, {}, what)
  await bucket.giveMetadata(key, made, { [verifiedName]: made.crc32c }, what)
}

/** The parts of an upload that are verified, in their order. */
export async function partsOf(bucket: Bucket, state: UploadState, what: What): Promise<Part[]> {
  const prefix = prefixOf(state)
  const parts: Part[] = []
  let token: string | undefined
  const guard = new CursorGuard(failed, what)
  do {
    const page = await bucket.listPage({ prefix, maxKeys: pageKeys, token }, what)
    await concurrently(page.objects, lookedAtOnce, async (listed) => {
      const place = partPlace(listed.key.slice(prefix.length))
      if (place === undefined) return
      // No listing tells the digest of what is encrypted with a key of the customer's.
      const object = listed.crc32c === '' ? await bucket.properties(listed.key, what) : listed
      if (object !== undefined && object.metadata[verifiedName] === object.crc32c)
        parts.push({ ...place, sizeBytes: object.sizeBytes, object })
    })
    token = page.nextToken === '' ? undefined : guard.pass(page.nextToken)
  } while (token !== undefined)
  return parts.toSorted((a, b) => a.offset - b.offset)
}

const pageKeys = 1_000

/** Parts that are asked for by name at once: an upload has up to a thousand. */
const lookedAtOnce = 16

/**
 * Joins the parts under a key. Throws `corrupt` when one is missing, or the whole is not what the parts are.
 */
export async function joinParts(
  bucket: Bucket,
  { sizeBytes }: Upload,
  state: UploadState,
  parts: readonly Part[],
  { key, metadata }: { readonly key: string; readonly metadata: Metadata },
  what: What,
): Promise<void> {
  requireContiguous(parts, sizeBytes, what, failed)
  let sources: readonly GcsObject[] = parts.map(({ object }) => object)
  const wanted = joinedCrc(
    'crc32c',
    sources.map(({ crc32c: digest, sizeBytes: bytes }) => ({ digest, sizeBytes: bytes })),
  )
  for (let round = 0; sources.length > maxJoined; round++) {
    const groups = Array.from({ length: Math.ceil(sources.length / maxJoined) }, (_, index) =>
      sources.slice(index * maxJoined, (index + 1) * maxJoined),
    )
    sources = await Promise.all(
      groups.map((group, index) =>
        bucket.join(`${prefixOf(state)}joined-${round}-${index}`, group, {}, what),
      ),
    )
  }
  const whole = await bucket.join(key, sources, metadata, what)
  if (whole.sizeBytes !== sizeBytes || whole.crc32c !== wanted)
    throw failed(
      'corrupt',
      what(),
      `the whole has ${whole.sizeBytes} bytes and CRC-32C ${whole.crc32c}, its parts ${sizeBytes} and ${wanted}`,
    )
}

/** Removes all that is in the folder of an upload. */
export async function discard(bucket: Bucket, state: Pick<UploadState, 'folder'>, what: What): Promise<void> {
  const prefix = `${state.folder.toString('utf8')}/`
  for (let pages = 0; ; pages++) {
    // Each page is of what is left.
    if (pages > maxDiscardedPages) throw failed('io', what(), 'what is removed is there again and again')
    const page = await bucket.listPage({ prefix, maxKeys: discardedAtOnce, delimiter: '' }, what)
    if (page.objects.length === 0) return
    await Promise.all(page.objects.map((object) => bucket.delete(object.key, object, what)))
  }
}

/** More than an upload has parts, each removed twice. */
const maxDiscardedPages = 100

/** As many requests as wait for a connection without harm. */
const discardedAtOnce = 100

/** See `Leftovers`. */
export async function sweep(
  bucket: Bucket,
  folder: Parameters<NonNullable<Driver['leftovers']>['sweep']>[0],
  { tag, liveThreads }: { readonly tag: string; readonly liveThreads: readonly number[] },
  isOver: (upload: LeftUpload) => boolean,
  what: What,
): Promise<void> {
  const live = allLiveThreads(liveThreads)
  const parent = folder.length === 0 ? '' : `${folder.toString('utf8')}/`
  let token: string | undefined
  const guard = new CursorGuard(failed, what)
  do {
    const of = { prefix: `${parent}${temporaryPrefix}`, maxKeys: pageKeys, token }
    const page = await bucket.listPage(of, what)
    for (const prefix of page.prefixes) {
      const name = Buffer.from(prefix.slice(parent.length, -1))
      if (!isTemporaryName(name, tag)) continue
      const { objects } = await bucket.listPage({ prefix, maxKeys: pageKeys, delimiter: '' }, what)
      const lastMs = Math.max(...objects.map(({ times }) => times.changedMs ?? 0))
      if (isLeftBehind(name, live, isOver, () => Date.now() - lastMs))
        await discard(bucket, { folder: joinPath(folder, name) }, what)
    }
    token = page.nextToken === '' ? undefined : guard.pass(page.nextToken)
  } while (token !== undefined)
}
