import { hash } from 'node:crypto'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { s3IneffectiveProperties, s3Properties } from '../../../subjects/filesystems/s3-properties.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import { BucketDriver, isSegment, maxObjectBytes } from '../buckets/bucket-driver.ts'
import type { What } from '../buckets/objects.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import {
  type Capabilities,
  type ClockOffset,
  type Continuation,
  type Driver,
  type Entry,
  type FileAttributes,
  type Listing,
  type Losses,
  maxPageEntries,
  type NewFile,
  type Page,
  type PartBody,
  type StorePath,
  type Upload,
} from '../contract/driver.ts'
import { type PropertyValues, readProperties } from '../contract/properties.ts'
import { requireAddresses, StoreAddress } from '../http/store-address.ts'
import { lossesOf, metadataOf } from './attributes.ts'
import { Bucket, type BucketHeaders, type S3Object, timesOf } from './bucket.ts'
import { S3Client } from './client.ts'
import { bucketEndpoint } from './endpoint.ts'
import { failed } from './errors.ts'
import { keyOf, refuseName } from './names.ts'
import type { S3Credentials } from './signing.ts'
import { checkedParts } from './parts.ts'
import { beginUpload, partBytes, readUpload, wholeParts } from './upload.ts'
import type { ListPage } from './xml.ts'

type Options = FilesystemOptions<'s3a'>
type Property = PropertyValues<typeof s3Properties>

/** The service tells times in seconds in most answers; what is read meanwhile and written after it may be of the next one. */
const secondMs = 1_000

/** Longest wait between retries, also when the store asks for a longer one. */
const maxBackoffMs = 20_000

/** A bucket of S3. */
export class S3Driver extends BucketDriver<S3Object> implements Driver {
  readonly capabilities: Capabilities
  readonly #address: StoreAddress | undefined
  readonly #client: S3Client
  readonly #bucket: Bucket
  readonly #property: Property

  /**
   * Throws GantryError NOT_ACCEPTED for credentials that are not complete and a property that cannot be honoured.
   * @param bounds where stores may be; without them anywhere
   */
  constructor(options: Options, bounds?: StoreBounds) {
    const property = readProperties(s3Properties, options.additionalProperties, (name) =>
      s3IneffectiveProperties.some((one) => one === name),
    )
    const credentials = credentialsOf(options)
    const headers = headersOf(options, property)
    const endpoint = bucketEndpoint(options, {
      region: property('fs.s3a.endpoint.region'),
      pathStyle: property('fs.s3a.path.style.access'),
      isSecure: property('fs.s3a.connection.ssl.enabled') === 'true',
    })
    const address = bounds && new StoreAddress(endpoint, bounds)
    const concurrency = property('fs.s3a.connection.maximum')
    const limits = {
      connectTimeoutMs: property('fs.s3a.connection.establish.timeout'),
      idleTimeoutMs: property('fs.s3a.connection.timeout'),
      connections: concurrency,
      retries: property('fs.s3a.attempts.maximum'),
      minBackoffMs: property('fs.s3a.retry.interval'),
      maxBackoffMs,
    }
    const always: Record<string, string> =
      property('fs.s3a.requester.pays.enabled') === 'true' ? { 'x-amz-request-payer': 'requester' } : {}
    const client = new S3Client(endpoint, credentials, limits, always, address)
    const bucket = new Bucket(client, headers, endpoint.provider.deletesIfMatch)
    const place = `bucket ${options.bucketName} at ${endpoint.host}`
    const headBytes = property('fs.s3a.readahead.range')
    super({ bucket, service: 'S3', place, failed, headBytes, keyOf, refuseName, lossesOf })
    this.#address = address
    this.#client = client
    this.#bucket = bucket
    this.#property = property
    const maxPutBytes = property('fs.s3a.multipart.size')
    this.capabilities = {
      storeName: place,
      folders: 'implied',
      listsAttributes: false,
      symlinks: false,
      modes: true,
      folderTimesMove: false,
      maxPutBytes,
      parts: {
        order: 'any',
        sizeFor: (sizeBytes, atMostBytes = maxPutBytes) =>
          partBytes(sizeBytes, Math.min(maxPutBytes, atMostBytes)),
      },
      clock: { ownGrainMs: secondMs, tickMs: 2 * secondMs },
      concurrency,
    }
  }

  requirePlace(): void {
    requireAddresses(this.#address === undefined ? [] : [this.#address], 'endpoint')
  }

  clockOffset(): ClockOffset | undefined {
    return this.#client.clockOffset
  }

  async *list(folder: StorePath, signal: AbortSignal, { after, limit }: Listing = {}): AsyncIterable<Page> {
    const what = this.what('list', folder)
    const key = keyOf(folder)
    if (key === undefined) throw failed('gone', what(), 'no such folder')
    const prefix = key === '' ? '' : `${key}/`
    const maxKeys = Math.min(this.#property('fs.s3a.paging.maximum'), limit ?? Infinity, maxPageEntries)
    let found = prefix === '' || after !== undefined
    let token = after
    do {
      const page = await this.#bucket.listPage({ prefix, maxKeys, token }, what, signal)
      found ||= page.objects.length + page.prefixes.length > 0
      const entries = page.isEncoded
        ? this.#entriesOf(page, prefix)
        : await this.#readable(this.#entriesOf(page, prefix), prefix, what)
      token = page.nextToken === '' ? undefined : page.nextToken
      if (entries.length > 0) yield { entries, ...(token !== undefined && { cursor: token }) }
    } while (token !== undefined)
    if (!found) throw failed('gone', what(), 'no such folder')
  }

  /** A file `a` beside objects `a/…` is listed as both: nothing that is there goes unseen. */
  #entriesOf({ objects, prefixes }: ListPage, prefix: string): Entry[] {
    const entries: Entry[] = []
    for (const object of objects) {
      const name = object.key.slice(prefix.length)
      // The marker of the folder itself.
      if (name === '' && object.sizeBytes === 0) continue
      entries.push(
        isSegment(name)
          ? {
              ...timesOf(object.lastModified, this.#bucket.aheadMs),
              name: Buffer.from(name),
              type: 'file',
              sizeBytes: object.sizeBytes,
            }
          : { name: Buffer.from(name), type: 'other', sizeBytes: 0 },
      )
    }
    for (const one of prefixes) {
      const name = one.slice(prefix.length, -1)
      entries.push({ name: Buffer.from(name), type: isSegment(name) ? 'folder' : 'other', sizeBytes: 0 })
    }
    return entries
  }

  /** What has another name than the listing says comes as `other`: as a file it would seem to be gone when it is opened. */
  async #readable(entries: readonly Entry[], prefix: string, what: What): Promise<Entry[]> {
    const isThere = async ({ name, type }: Entry) => {
      const key = prefix + name.toString('utf8')
      if (type === 'folder') return this.#bucket.hasAny(`${key}/`, what)
      return type !== 'file' || (await this.#bucket.properties(key, what)) !== undefined
    }
    const isUnclear = ({ name }: Entry) => name.includes(replaced)
    return Promise.all(
      entries.map(async (entry) =>
        isUnclear(entry) && !(await isThere(entry))
          ? { name: entry.name, type: 'other' as const, sizeBytes: 0 }
          : entry,
      ),
    )
  }

  async beginUpload(path: StorePath, file: NewFile, continuation?: Continuation): Promise<Upload> {
    const what = this.what('begin upload', path)
    const key = this.writableKey(path, what)
    const { sizeBytes, attributes } = file
    if (sizeBytes > maxObjectBytes)
      throw failed('too-large', what(), `${sizeBytes} bytes, the limit is ${maxObjectBytes}`)
    await this.refuseFolder(key, what)
    const metadata = metadataOf(attributes)
    const bytesOfPart = this.capabilities.parts.sizeFor(sizeBytes)
    return beginUpload(
      this.#bucket,
      key,
      { path, file, metadata, partBytes: bytesOfPart, continuation },
      what,
    )
  }

  async writePart(upload: Upload, index: number, _offset: number, body: PartBody): Promise<void> {
    const { path, key, id } = readUpload(upload)
    const what = this.what(`write part ${index}`, path)
    const isHeld = body.sizeBytes <= this.capabilities.maxPutBytes
    const content = isHeld ? await body.read(0, body.sizeBytes) : body
    await this.#bucket.putPart(key, { id, number: index + 1 }, content, what)
  }

  async writtenParts(upload: Upload, bytesOfPart: number): Promise<readonly number[] | undefined> {
    const { path, key, id } = readUpload(upload)
    const parts = await this.#bucket.parts(key, id, this.what('look at the parts of', path))
    return parts && wholeParts(parts, upload.sizeBytes, bytesOfPart)
  }

  async commitUpload(upload: Upload, partCount: number, attributes: FileAttributes): Promise<Losses> {
    const { path, key, id } = readUpload(upload)
    const what = this.what('commit', path)
    const parts = await this.#bucket.parts(key, id, what)
    if (parts === undefined) await this.#requireCommitted(upload, partCount, what)
    else if (partCount === 0) {
      // No object can be made of no parts.
      await this.#bucket.put(key, empty, attributes, what)
      await this.#bucket.abortUpload(key, id, what)
    } else {
      await this.refuseFolder(key, what)
      const checked = checkedParts(upload, partCount, parts, what)
      if (!(await this.#bucket.completeUpload(key, id, checked, what)))
        await this.#requireCommitted(upload, partCount, what)
    }
    return lossesOf(attributes)
  }

  /**
   * Of an upload that is no longer there: it was committed if an object of its size and of as many parts was made since.
   * The answer to a commit may have been lost.
   */
  async #requireCommitted(upload: Upload, partCount: number, what: What): Promise<void> {
    const { key, begunMs } = readUpload(upload)
    const there = await this.#bucket.properties(key, what)
    const isOfParts = partCount === 0 || (there?.tag ?? '').includes('-')
    const madeMs = Date.parse(there?.headers['last-modified'] ?? '')
    if (there?.sizeBytes !== upload.sizeBytes || !isOfParts || !(madeMs >= begunMs))
      throw failed('corrupt', what(), 'the upload is gone; begin it again')
  }

  async abortUpload(upload: Upload): Promise<void> {
    let state
    try {
      state = readUpload(upload)
    } catch {
      return
    }
    await this.#bucket.abortUpload(state.key, state.id, this.what('abort', state.path))
  }

  async close(): Promise<void> {
    this.#client.close()
  }
}

const empty = Buffer.alloc(0)

/** U+FFFD in UTF-8. */
const replaced = Buffer.from('\ufffd')

/** Undefined for requests that nobody signs. Throws GantryError NOT_ACCEPTED that names what is missing. */
function credentialsOf({
  credentialsProvider,
  accessKey,
  secretKey,
  sessionToken,
}: Options): S3Credentials | undefined {
  const provider = credentialsProvider?.replace(/^.*\./, '')
  const isAnonymous = provider === 'AnonymousAWSCredentialsProvider'
  if (isAnonymous || (provider === undefined && accessKey === undefined && secretKey === undefined)) {
    const given = Object.entries({ accessKey, secretKey, sessionToken }).find(
      ([, value]) => value !== undefined,
    )
    if (given !== undefined && isAnonymous)
      throw notAccepted(given[0], 'is for another credentialsProvider: leave it out')
    if (!isAnonymous)
      throw notAccepted(
        'accessKey',
        'is missing; for a public bucket give the credentialsProvider AnonymousAWSCredentialsProvider',
      )
    return undefined
  }
  if (accessKey === undefined) throw notAccepted('accessKey', 'is missing')
  if (secretKey === undefined) throw notAccepted('secretKey', 'is missing')
  if (provider === 'TemporaryAWSCredentialsProvider' && sessionToken === undefined)
    throw notAccepted('sessionToken', 'is missing: temporary credentials have one')
  return { accessKey, secretKey, sessionToken }
}

const acls: Readonly<Record<string, string>> = {
  Private: 'private',
  PublicRead: 'public-read',
  PublicReadWrite: 'public-read-write',
  AuthenticatedRead: 'authenticated-read',
  BucketOwnerRead: 'bucket-owner-read',
  BucketOwnerFullControl: 'bucket-owner-full-control',
}

/** Throws GantryError NOT_ACCEPTED for what does not go together. */
function headersOf({ customerKey }: Options, property: Property): BucketHeaders {
  const making: Record<string, string> = {}
  const storageClass = property('fs.s3a.create.storage.class')
  if (storageClass !== '') making['x-amz-storage-class'] = storageClass.toUpperCase()
  const acl = acls[property('fs.s3a.acl.default')]
  if (acl !== undefined) making['x-amz-acl'] = acl
  const algorithm = property('fs.s3a.encryption.algorithm')
  const kmsKey = property('fs.s3a.encryption.key')
  if (algorithm === 'AES256') making['x-amz-server-side-encryption'] = 'AES256'
  if (algorithm === 'SSE-KMS' || algorithm === 'DSSE-KMS') {
    making['x-amz-server-side-encryption'] = algorithm === 'SSE-KMS' ? 'aws:kms' : 'aws:kms:dsse'
    if (kmsKey !== '') making['x-amz-server-side-encryption-aws-kms-key-id'] = kmsKey
  } else if (kmsKey !== '')
    throw notAccepted(
      'additionalProperties.fs.s3a.encryption.key',
      'is for fs.s3a.encryption.algorithm SSE-KMS or DSSE-KMS; the key of SSE-C is customerKey',
    )
  if ((algorithm === 'SSE-C') !== (customerKey !== undefined))
    throw notAccepted('customerKey', 'goes together with fs.s3a.encryption.algorithm SSE-C')
  if (customerKey === undefined) return { making, content: {}, copied: {} }
  const keyed = (prefix: string) => ({
    [`${prefix}-algorithm`]: 'AES256',
    [`${prefix}-key`]: customerKey,
    [`${prefix}-key-md5`]: hash('md5', Buffer.from(customerKey, 'base64'), 'base64'),
  })
  return {
    making,
    content: keyed('x-amz-server-side-encryption-customer'),
    copied: keyed('x-amz-copy-source-server-side-encryption-customer'),
  }
}
