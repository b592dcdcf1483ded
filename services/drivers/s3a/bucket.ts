import type { Receiver, StoreHeaders, Taker } from '../http/transport.ts'
import { CursorGuard } from '../http/cursor-guard.ts'
import { cleaningUp } from '../http/job-signal.ts'
import type { CopyOutcome } from '../buckets/copies.ts'
import { hasAnyBelow } from '../buckets/has-any.ts'
import type { Keeping, ListedPrefix, ObjectBucket, StoredObject, What } from '../buckets/objects.ts'
import { digestNames, type Digests, type FileAttributes, type PartBody } from '../contract/driver.ts'
import { isJoinable, joinedCrc } from '../digests/joined-crc.ts'
import { attributesOf, hasOwnTime, metadataOf, withoutOwn } from './attributes.ts'
import type { S3Client, S3Request } from './client.ts'
import {
  algorithmOf,
  type ContentDigest,
  type ContentDigests,
  digestsIn,
  digestsOf,
  headerOf,
} from './digests.ts'
import { answerError, failed } from './errors.ts'
import { encodeKey } from './signing.ts'
import { checkedParts } from './parts.ts'
import type { Provider } from './providers.ts'
import { isRange, rangeOf, received, sizeOfHead } from '../http/ranges.ts'
import {
  fullObject,
  type ListedPart,
  type ListedUpload,
  type ListPage,
  type PartsPage,
  readFields,
  readListPage,
  readParts,
  readUploads,
  writeParts,
} from './xml.ts'

/** An object as its headers tell it; its tag is the entity tag. */
export interface S3Object extends StoredObject {
  readonly headers: StoreHeaders
}

/** Largest object that one copy at the service can make. */
const maxCopyBytes = 5 * 1024 * 1024 * 1024
/** What larger ones are copied in. */
const copyPartBytes = 1024 * 1024 * 1024

/** Headers that say how objects are written and read in this bucket. */
export interface BucketHeaders {
  /** Of whatever makes an object: encryption, storage class, ACL. */
  readonly making: Readonly<Record<string, string>>
  /** Of whatever makes an object that was not there: tags. One that gets other attributes keeps its own. */
  readonly tagging: Readonly<Record<string, string>>
  /** Of whatever sends or asks for content: the key of SSE-C. */
  readonly content: Readonly<Record<string, string>>
  /** The same of the object that is copied. */
  readonly copied: Readonly<Record<string, string>>
}

/** An object that is copied, in this or another bucket of the service. */
export interface CopySource {
  readonly bucketName: string
  readonly key: string
  readonly etag: string
  /** See `BucketHeaders`, those of its bucket. */
  readonly copied: Readonly<Record<string, string>>
}

/** The parts of an upload. */
export type UploadParts = Pick<PartsPage, 'parts' | 'isOfWhole'>

/** Parts in an answer at most. */
const partsPage = 1_000
/** "Amazon S3 multipart upload limits". */
export const maxParts = 10_000

/** The calls to one bucket that the driver is made of. All throw StoreErrors; the bucket missing is `gone`. */
export class Bucket implements ObjectBucket<S3Object> {
  readonly #client: S3Client
  readonly #headers: BucketHeaders
  readonly #digests: ContentDigests
  readonly #provider: Pick<Provider, 'createsIfNoneMatch' | 'deletesIfMatch' | 'keys'>
  readonly putNew?: NonNullable<ObjectBucket['putNew']>

  constructor(
    client: S3Client,
    headers: BucketHeaders,
    digests: ContentDigests,
    provider: Pick<Provider, 'createsIfNoneMatch' | 'deletesIfMatch' | 'keys'>,
  ) {
    this.#client = client
    this.#headers = headers
    this.#digests = digests
    this.#provider = provider
    if (provider.createsIfNoneMatch)
      this.putNew = async (key, body, attributes, what) => {
        const answer = await this.#put(key, body, attributes, what, {
          headers: { 'if-none-match': '*' },
          accept: [412, 501],
        })
        if (answer.status === 501)
          throw failed('unsupported', what(), 'the service knows no conditions for writes')
        return answer.status !== 412
      }
  }

  /** Of the parts of an upload. */
  get partDigest(): ContentDigest {
    return this.#digests.parts
  }

  get aheadMs(): number {
    return this.#client.aheadMs
  }

  /** Resolves when the bucket is there and the key is taken: by a listing, which any use of it needs. */
  async check(what: What, options: Pick<S3Request, 'signal' | 'retries' | 'isProbe'> = {}): Promise<void> {
    const query = { 'list-type': '2', 'max-keys': '1' }
    await this.#client.request({ method: 'GET', query, what, ...options })
  }

  async keeping(what: What, signal: AbortSignal): Promise<Keeping> {
    const { body } = await this.#client.request({ method: 'GET', query: { versioning: '' }, what, signal })
    return { versions: readFields(body)['Status'] === 'Enabled' }
  }

  /** What stands under the very key, undefined when nothing does. */
  async properties(key: string, what: What, signal?: AbortSignal): Promise<S3Object | undefined> {
    const headers = { ...this.#headers.content, 'x-amz-checksum-mode': 'ENABLED' }
    const { status, headers: its } = await this.#client.request({
      method: 'HEAD',
      key,
      headers,
      what,
      signal,
      accept: [404],
    })
    // Nothing says whether it is the bucket that is missing: HEAD has no body.
    if (status === 404) return undefined
    return objectOf(its, Number(its['content-length'] ?? 0), this.aheadMs)
  }

  /** Like `properties`, with the first bytes of the content, at most `bytes`. */
  async readHead(
    key: string,
    bytes: number,
    what: What,
    signal?: AbortSignal,
  ): Promise<{ readonly object: S3Object; readonly head: Buffer } | undefined> {
    const headers = { ...this.#headers.content, range: `bytes=0-${bytes - 1}` }
    const accept = [404, 416]
    const answer = await this.#client.request({ method: 'GET', key, headers, what, signal, accept })
    if (answer.status === 404) return undefined
    // No range of an empty object can be read.
    if (answer.status === 416) {
      const there = await this.properties(key, what, signal)
      return there && { object: there, head: Buffer.alloc(0) }
    }
    const sizeBytes = sizeOfHead(answer, bytes)
    if (sizeBytes === undefined) throw failed('changed', what(), 'answered with another range')
    return { object: objectOf(answer.headers, sizeBytes, this.aheadMs), head: answer.body }
  }

  async readRange(
    key: string,
    etag: string,
    offset: number,
    taker: Taker,
    what: What,
    signal?: AbortSignal,
  ): Promise<number> {
    const range = rangeOf(offset, taker)
    const receiver: Receiver = {
      ...taker,
      accepts: (answer) => answer.headers.etag === etag && isRange(answer, offset, taker),
    }
    const headers = { ...this.#headers.content, range, 'if-match': etag }
    const accept = [404, 412, 416]
    const answer = await this.#client.request({ method: 'GET', key, headers, receiver, what, signal, accept })
    if (answer.status !== 206 && answer.status !== 200)
      throw failed('changed', what(), `answered ${answer.status}`)
    return received(answer, receiver)
  }

  /** One page of what stands below a prefix, up to the next slash of each key. */
  async listPage(
    { prefix, maxKeys, token, startAfter, delimiter = '/' }: ListedPrefix,
    what: What,
    signal?: AbortSignal,
  ): Promise<ListPage> {
    const query = {
      'list-type': '2',
      'encoding-type': 'url',
      'max-keys': String(maxKeys),
      ...(prefix !== '' && { prefix }),
      ...(delimiter !== '' && { delimiter }),
      ...(token !== undefined && { 'continuation-token': token }),
      ...(startAfter !== undefined && { 'start-after': startAfter }),
    }
    const { body } = await this.#client.request({ method: 'GET', query, what, signal })
    const page = parsed(body, (xml) => readListPage(xml, this.#provider.keys?.objects ?? 'form'), what)
    if (page.goesOn && page.nextToken === '') throw failed('io', what(), goesNowhere)
    return page
  }

  /** Whether anything stands below a prefix, the marker of the folder among it. */
  hasAny(prefix: string, what: What, signal?: AbortSignal): Promise<boolean> {
    return hasAnyBelow(this, prefix, what, failed, signal)
  }

  /** Writes a whole object, its content checked by the service. */
  async put(key: string, body: Buffer, attributes: FileAttributes, what: What): Promise<void> {
    await this.#put(key, body, attributes, what)
  }

  #put(
    key: string,
    body: Buffer,
    attributes: FileAttributes,
    what: What,
    condition: Pick<S3Request, 'headers' | 'accept'> = {},
  ) {
    const headers = {
      'content-type': 'application/octet-stream',
      ...this.#headers.making,
      ...this.#headers.tagging,
      ...this.#headers.content,
      ...metadataOf(attributes),
      ...condition.headers,
    }
    const digest = this.#digests.whole
    return this.#client.request({ method: 'PUT', key, body, digest, what, ...condition, headers })
  }

  /**
   * Deletes the object of this entity tag. Where the service does not make sure of that, whatever is there: the caller has just
   * looked, and it is looked again before each repetition, for which seconds may be waited. Throws `changed`.
   */
  async delete(key: string, { tag }: S3Object, what: What): Promise<void> {
    const asked = { method: 'DELETE', key, what, accept: [404, 412] } as const
    if (!this.#provider.deletesIfMatch) {
      const beforeRetry = async () => {
        const there = await this.properties(key, what)
        if (there !== undefined && there.tag !== tag) throw failed('changed', what(), 'it is another version')
      }
      await this.#client.request({ ...asked, beforeRetry })
      return
    }
    const answer = await this.#client.request({ ...asked, headers: { 'if-match': tag } })
    if (answer.status !== 412) return
    // An earlier try of ours may have deleted it.
    if (answer.isRepeated && (await this.properties(key, what)) === undefined) return
    throw answerError(what(), answer)
  }

  /** Nothing to do where they are right. */
  async giveAttributes(key: string, there: S3Object, attributes: FileAttributes, what: What): Promise<void> {
    const metadata = metadataOf(attributes)
    if (Object.entries(metadata).every(([name, value]) => there.headers[name] === value)) return
    if (there.sizeBytes <= maxCopyBytes) return this.#replaceMetadata(key, there, metadata, what)
    // Without a digest: some services want one of a copied part then, which nobody can give.
    const kept = { ...keptHeaders(there.headers), ...this.#headers.making, ...metadata }
    const id = await this.createUpload(key, kept, undefined, what)
    try {
      await this.#copyOnto(key, id, there, what)
    } catch (error) {
      await cleaningUp(() => this.abortUpload(key, id, what)).catch(() => undefined)
      throw error
    }
  }

  /** Copies an object onto itself, by an upload that is begun. */
  async #copyOnto(key: string, id: string, there: S3Object, what: What): Promise<void> {
    const { sizeBytes, tag: etag } = there
    const count = Math.ceil(sizeBytes / copyPartBytes)
    for (let index = 0; index < count; index++) {
      const offset = index * copyPartBytes
      const length = Math.min(copyPartBytes, sizeBytes - offset)
      const from = { ...this.copySource(key, etag), offset, length }
      const refused = await this.copyPart(key, { id, number: index + 1 }, from, what)
      if (refused !== undefined)
        throw failed(refused === 'refused' ? 'io' : refused, what(), 'it cannot be copied')
    }
    const written = await this.parts(key, id, what)
    const parts = checkedParts({ token: '', sizeBytes }, count, written?.parts ?? [], what)
    await this.completeUpload(key, id, { isOfWhole: written?.isOfWhole === true, parts }, what)
  }

  /** By a copy at the service. Throws `gone`, `changed`. */
  async #replaceMetadata(
    key: string,
    there: S3Object,
    metadata: Readonly<Record<string, string>>,
    what: What,
  ): Promise<void> {
    const headers = {
      ...keptHeaders(there.headers),
      ...this.#headers.making,
      ...this.#headers.content,
      ...copyHeaders(this.copySource(key, there.tag)),
      ...metadata,
      'x-amz-metadata-directive': 'REPLACE',
    }
    await this.#client.request({ method: 'PUT', key, headers, what })
  }

  /** Begins an upload in parts. @param digest that comes with each of them */
  async createUpload(
    key: string,
    metadata: Readonly<Record<string, string>>,
    digest: ContentDigest | undefined,
    what: What,
  ): Promise<string> {
    const headers = {
      'content-type': 'application/octet-stream',
      ...this.#headers.making,
      ...this.#headers.tagging,
      ...this.#headers.content,
      ...metadata,
      ...digestHeaders(digest),
    }
    const query = { uploads: '' }
    const { body } = await this.#client.request({ method: 'POST', key, query, headers, what })
    const id = parsed(body, readFields, what)['UploadId']
    if (id === undefined || id === '') throw failed('io', what(), 'the service gave no id of an upload')
    return id
  }

  /** Writes a part, its content checked by the service. */
  async putPart(
    key: string,
    { id, number }: { readonly id: string; readonly number: number },
    body: Buffer | PartBody,
    what: What,
  ): Promise<void> {
    const query = { partNumber: String(number), uploadId: id }
    const headers = this.#headers.content
    const digest = this.#digests.parts
    await this.#client.request({ method: 'PUT', key, query, body, headers, digest, what })
  }

  /** An object of this bucket. */
  copySource(key: string, etag: string): CopySource {
    return { bucketName: this.#client.bucketName, key, etag, copied: this.#headers.copied }
  }

  /**
   * Copies an object at the service, and gives it other metadata, but what a browser and others are told of its content.
   * @returns its digests, as far as the service says them
   */
  async copyObject(
    key: string,
    from: CopySource,
    { headers }: Pick<S3Object, 'headers'>,
    attributes: FileAttributes,
    what: What,
  ): Promise<Digests | CopyOutcome> {
    const { 'x-amz-storage-class': _storageClass, ...kept } = keptHeaders(headers)
    const answer = await this.#client.request({
      method: 'PUT',
      key,
      headers: {
        ...withoutOwn(kept),
        ...this.#headers.making,
        ...this.#headers.tagging,
        ...this.#headers.content,
        ...copyHeaders(from),
        ...metadataOf(attributes),
        'x-amz-metadata-directive': 'REPLACE',
        'x-amz-tagging-directive': 'REPLACE',
      },
      what,
      accept: refusals,
    })
    const refused = outcomeOf(answer)
    if (refused !== undefined) return refused
    const fields = parsed(answer.body, readFields, what)
    return { ...digestsOf({ ...answer.headers, etag: fields['ETag'] }), ...digestsIn(fields) }
  }

  /** Copies a range of an object into a part. Undefined when that is done. */
  async copyPart(
    key: string,
    { id, number }: { readonly id: string; readonly number: number },
    from: CopySource & { readonly offset: number; readonly length: number },
    what: What,
  ): Promise<CopyOutcome | undefined> {
    const query = { partNumber: String(number), uploadId: id }
    const headers = {
      ...this.#headers.content,
      ...copyHeaders(from),
      'x-amz-copy-source-range': `bytes=${from.offset}-${from.offset + from.length - 1}`,
    }
    return outcomeOf(
      await this.#client.request({ method: 'PUT', key, query, headers, what, accept: refusals }),
    )
  }

  /** The parts of an upload in their order, from a number on; undefined when there is no such upload. */
  async parts(key: string, id: string, what: What, after = 0): Promise<UploadParts | undefined> {
    const all: ListedPart[] = []
    let marker: string | undefined = after === 0 ? undefined : String(after)
    let isOfWhole = false
    const guard = new CursorGuard(failed, what)
    do {
      const query = {
        uploadId: id,
        'max-parts': String(partsPage),
        ...(marker !== undefined && { 'part-number-marker': marker }),
      }
      const headers = this.#headers.content
      const asked = { method: 'GET', key, query, headers, what, accept: [404] } as const
      const { status, body } = await this.#client.request(asked)
      if (status === 404) return undefined
      const page = parsed(body, readParts, what)
      // One after the other: an answer may have more of them than a call takes.
      for (const part of page.parts) all.push(part)
      if (all.length > maxParts)
        throw failed('io', what(), 'the service tells of more parts than an upload has')
      isOfWhole = page.isOfWhole
      marker = page.nextMarker && guard.pass(page.nextMarker)
      if (page.parts.length === 0) marker = undefined
    } while (marker !== undefined)
    return { parts: all, isOfWhole }
  }

  /** False when there is no such upload. Throws `corrupt` when the object has another content than its parts. */
  async completeUpload(key: string, id: string, written: UploadParts, what: What): Promise<boolean> {
    const whole = wholeDigest(this.#digests.parts, written)
    const answer = await this.#client.request({
      method: 'POST',
      key,
      query: { uploadId: id },
      body: writeParts(written.parts),
      headers: {
        'content-type': 'application/xml',
        ...this.#headers.content,
        ...(whole && { [headerOf(whole.kind)]: whole.digest, 'x-amz-checksum-type': fullObject }),
      },
      what,
      accept: [404],
    })
    if (answer.status === 404) return false
    if (whole === undefined) return true
    const { kind, digest } = whole
    const { [kind]: its = digest } = digestsIn(parsed(answer.body, readFields, what))
    if (its === digest) return true
    throw failed('corrupt', what(), `the object has ${digestNames[kind]} ${its}, its parts have ${digest}`)
  }

  async abortUpload(key: string, id: string, what: What): Promise<void> {
    await this.#client.request({ method: 'DELETE', key, query: { uploadId: id }, what, accept: [404] })
  }

  /** Uploads to a key that are neither complete nor aborted. */
  async uploads(key: string, what: What): Promise<ListedUpload[]> {
    const all: ListedUpload[] = []
    for await (const uploads of this.#uploadPages({ prefix: key }, what)) {
      all.push(...uploads.filter((upload) => upload.key === key))
      // Others whose keys begin with this one come after it.
      if (uploads.at(-1)?.key !== key) break
    }
    return all
  }

  /** The same to all keys below a prefix, up to the next slash. */
  async *uploadsIn(prefix: string, what: What): AsyncGenerator<ListedUpload> {
    for await (const uploads of this.#uploadPages({ ...(prefix !== '' && { prefix }), delimiter: '/' }, what))
      yield* uploads
  }

  async *#uploadPages(
    of: Readonly<Record<string, string>>,
    what: What,
  ): AsyncGenerator<readonly ListedUpload[]> {
    let next: { readonly key: string; readonly id: string } | undefined
    const guard = new CursorGuard(failed, what)
    do {
      const query = {
        ...of,
        uploads: '',
        'encoding-type': 'url',
        ...(next && { 'key-marker': next.key, 'upload-id-marker': next.id }),
      }
      const { body } = await this.#client.request({ method: 'GET', query, what })
      const page = parsed(body, (xml) => readUploads(xml, this.#provider.keys?.uploads ?? 'form'), what)
      yield page.uploads
      next = page.next
      if (next !== undefined) guard.pass(JSON.stringify([next.key, next.id]))
    } while (next !== undefined)
  }
}

const copyHeaders = ({ bucketName, key, etag, copied }: CopySource): Record<string, string> => ({
  ...copied,
  'x-amz-copy-source': `${bucketName}/${encodeKey(key)}`,
  'x-amz-copy-source-if-match': etag,
})

/** How services say that they copy something not, or not so. */
const refusals = [400, 403, 404, 405, 412, 501]

function outcomeOf({ status }: { readonly status: number }): CopyOutcome | undefined {
  if (status < 300) return undefined
  if (status === 404) return 'gone'
  return status === 412 ? 'changed' : 'refused'
}

/** What of an object's headers a copy of it that gets other metadata is given again. */
function keptHeaders(headers: StoreHeaders): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of [
    'content-type',
    'content-encoding',
    'content-language',
    'content-disposition',
    'cache-control',
    'expires',
  ]) {
    const value = headers[name]
    if (typeof value === 'string' && value !== '') kept[name] = value
  }
  for (const [name, value] of Object.entries(headers))
    if (name.startsWith('x-amz-meta-') && typeof value === 'string') kept[name] = value
  const storageClass = headers['x-amz-storage-class']
  if (typeof storageClass === 'string') kept['x-amz-storage-class'] = storageClass
  return kept
}

function objectOf(headers: StoreHeaders, sizeBytes: number, aheadMs: number): S3Object {
  const { etag = '' } = headers
  const id = headers['x-amz-version-id']
  const lastModified = headers['last-modified'] ?? ''
  return {
    sizeBytes,
    headers,
    tag: etag,
    // The entity tag alone may be that of an earlier one of the same content.
    version: [etag, lastModified, ...(typeof id === 'string' ? [id] : [])].join(' '),
    attributes: attributesOf(headers),
    hasOwnTime: hasOwnTime(headers),
    times: timesOf(lastModified, aheadMs),
    digests: digestsOf(headers),
  }
}

/** What would be taken for the end of a listing is not: what comes after it would never be seen. */
const goesNowhere =
  'the service says that its listing goes on, and not where: it must know ListObjectsV2 (list-type=2)'

/** The service tells times in seconds in most answers. */
const secondMs = 1_000

/** When the object was made and changed last, by this host's clock: the service makes it anew with each change. */
export function timesOf(lastModified: string, aheadMs: number): StoredObject['times'] {
  const ms = Math.floor(Date.parse(lastModified) / secondMs) * secondMs - aheadMs
  return Number.isNaN(ms) ? {} : { createdMs: ms, changedMs: ms }
}

/** What an upload says of the digest that its parts will come with: where it can be, it is to become one of the whole. */
const digestHeaders = (kind: ContentDigest | undefined): Record<string, string> =>
  kind === undefined || kind === 'md5'
    ? {}
    : {
        'x-amz-checksum-algorithm': algorithmOf(kind),
        ...(isJoinable(kind) && { 'x-amz-checksum-type': fullObject }),
      }

/** The digest that an object of these parts has; undefined where the service will not make one of the whole content. */
function wholeDigest(kind: ContentDigest, { parts, isOfWhole }: UploadParts) {
  if (!isOfWhole || kind === 'md5' || !isJoinable(kind)) return undefined
  const digested = parts.map(({ digests, sizeBytes }) => ({ digest: digests[kind] ?? '', sizeBytes }))
  const digest = joinedCrc(kind, digested)
  return digest === undefined ? undefined : { kind, digest }
}

function parsed<T>(body: Buffer, read: (xml: Buffer) => T, what: What): T {
  try {
    return read(body)
  } catch (error) {
    throw failed('io', what(), 'the answer is not the XML that an S3 service sends', { cause: error })
  }
}
