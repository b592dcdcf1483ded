import { hash } from 'node:crypto'
import { InnerAddressError } from '../../../broker/common/inner-addresses.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { s3IneffectiveProperties, s3Properties } from '../../../subjects/filesystems/s3-properties.ts'
import { GantryError, notAccepted } from '../../../subjects/kit/errors.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import {
  type Capabilities,
  type Continuation,
  type Driver,
  type Entry,
  type FileAttributes,
  type Listing,
  type Location,
  type Losses,
  maxPageEntries,
  type NewFile,
  nothingLost,
  type Page,
  type PartBody,
  type SourceFile,
  type StorePath,
  type Upload,
} from '../contract/driver.ts'
import { type PropertyValues, readProperties } from '../contract/properties.ts'
import { StoreAddress } from '../http/store-address.ts'
import { nameOf, textFromPath } from '../paths/path-text.ts'
import { attributesOf, lossesOf, metadataOf } from './attributes.ts'
import { Bucket, type BucketHeaders, digestsOf, type ObjectProperties, type What } from './bucket.ts'
import { S3Client } from './client.ts'
import { bucketEndpoint } from './endpoint.ts'
import { failed } from './errors.ts'
import { FolderNames } from './folder-names.ts'
import { keyOf, refuseName, writable } from './names.ts'
import type { S3Credentials } from './signing.ts'
import { ObjectFile } from './source-file.ts'
import { beginUpload, checkedParts, maxObjectBytes, partBytes, readUpload, wholeParts } from './upload.ts'
import type { ListedObject, ListPage } from './xml.ts'

type Options = FilesystemOptions<'s3a'>
type Property = PropertyValues<typeof s3Properties>

/** The service tells times in seconds in most answers; what is read meanwhile and written after it may be of the next one. */
const secondMs = 1_000

/** `probe` answers a person who waits: one more try, then the truth. */
const probeRetries = 1

/** Longest wait between retries, also when the store asks for a longer one. */
const maxBackoffMs = 20_000

/** Most bytes that are read with one request. */
const readBytes = 16 * 1024 * 1024

/** Largest object that one copy at the service can make. */
const maxCopyBytes = 5 * 1024 * 1024 * 1024
/** What larger ones are copied in. */
const copyPartBytes = 1024 * 1024 * 1024

/**
 * A bucket of S3. A folder is what keys begin with; one that is to stay while it is empty, or has attributes, is an empty
 * object with a slash at the end of its key, as Hadoop's S3A and the consoles of most services make it.
 */
export class S3Driver implements Driver {
  readonly capabilities: Capabilities
  readonly #address: StoreAddress | undefined
  readonly #client: S3Client
  readonly #bucket: Bucket
  readonly #folders: FolderNames
  readonly #property: Property
  /** For messages. */
  readonly #place: string

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
    this.#address = bounds && new StoreAddress(endpoint, bounds)
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
    this.#client = new S3Client(endpoint, credentials, limits, always, this.#address)
    this.#bucket = new Bucket(this.#client, headers, endpoint.provider.deletesIfMatch)
    this.#folders = new FolderNames(this.#bucket)
    this.#property = property
    this.#place = `bucket ${options.bucketName} at ${endpoint.host}`
    const maxPutBytes = property('fs.s3a.multipart.size')
    this.capabilities = {
      storeName: this.#place,
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
    try {
      this.#address?.require()
    } catch (error) {
      if (!(error instanceof InnerAddressError)) throw error
      const { message: problem } = error
      throw new GantryError('NOT_ACCEPTED', `endpoint ${problem}`, {
        details: [{ field: 'endpoint', problem }],
      })
    }
  }

  probe(signal: AbortSignal): Promise<void> {
    const what = () => `access to ${this.#place}`
    return this.#bucket.check(what, { signal, retries: probeRetries, isProbe: true })
  }

  async *list(folder: StorePath, signal: AbortSignal, { after, limit }: Listing = {}): AsyncIterable<Page> {
    const what = this.#what('list', folder)
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
          ? { ...this.#timesOf(object), name: Buffer.from(name), type: 'file', sizeBytes: object.sizeBytes }
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

  /** When the object was made and changed last, by this host's clock: the service makes it anew with each change. */
  #timesOf({ lastModified }: Pick<ListedObject, 'lastModified'>): Pick<Entry, 'createdMs' | 'changedMs'> {
    const ms = Math.floor(Date.parse(lastModified) / secondMs) * secondMs - this.#bucket.aheadMs
    return Number.isNaN(ms) ? {} : { createdMs: ms, changedMs: ms }
  }

  async stat(path: StorePath): Promise<Entry | undefined> {
    const what = this.#what('stat', path)
    const key = keyOf(path)
    if (key === undefined) return undefined
    const name = nameOf(path)
    if (key === '') {
      await this.#bucket.check(what)
      return { name, type: 'folder', sizeBytes: 0 }
    }
    const file = await this.#bucket.properties(key, what)
    if (file !== undefined) {
      const { headers, sizeBytes } = file
      const times = this.#timesOf({ lastModified: headers['last-modified'] ?? '' })
      return { name, type: 'file', sizeBytes, ...attributesOf(headers), ...times, ...digestsOf(headers) }
    }
    const folder = await this.#folder(key, what)
    return folder && { name, type: 'folder', sizeBytes: 0, ...folder }
  }

  async attributesOf(path: StorePath): Promise<FileAttributes | undefined> {
    const what = this.#what('attributes of', path)
    const key = keyOf(path)
    if (key === undefined) return undefined
    if (key === '') return {}
    const file = await this.#bucket.properties(key, what)
    if (file !== undefined) return attributesOf(file.headers)
    const folder = await this.#folder(key, what)
    if (folder === undefined) return undefined
    const { createdMs: _created, changedMs: _changed, ...attributes } = folder
    return attributes
  }

  /** Undefined where no folder stands. */
  async #folder(
    key: string,
    what: What,
  ): Promise<(FileAttributes & Pick<Entry, 'createdMs' | 'changedMs'>) | undefined> {
    const marker = await this.#bucket.properties(`${key}/`, what)
    if (marker !== undefined) {
      const times = this.#timesOf({ lastModified: marker.headers['last-modified'] ?? '' })
      return { ...markerAttributes(marker), ...times }
    }
    return (await this.#bucket.hasAny(`${key}/`, what)) ? {} : undefined
  }

  async open(path: StorePath): Promise<SourceFile> {
    const what = this.#what('open', path)
    const key = keyOf(path)
    if (key === undefined) throw failed('gone', what(), 'no such file')
    if (key === '') throw failed('unsupported', what(), 'it is a folder')
    const opened = await this.#bucket.readHead(key, this.#property('fs.s3a.readahead.range'), what)
    if (opened === undefined) {
      if (await this.#bucket.hasAny(`${key}/`, what)) throw failed('unsupported', what(), 'it is a folder')
      throw failed('gone', what(), 'no such file')
    }
    return new ObjectFile(this.#bucket, { ...opened, key }, readBytes, (operation) =>
      this.#what(operation, path)(),
    )
  }

  refuses(path: StorePath, { type, sizeBytes }: Pick<Entry, 'type' | 'sizeBytes'>): string | undefined {
    if (type === 'symlink') return 'it is a symbolic link, and S3 keeps files and folders only'
    if (type === 'other') return 'it is neither file nor folder, and S3 keeps nothing else'
    if (sizeBytes > maxObjectBytes)
      return `it has ${sizeBytes} bytes, the limit of S3 is ${maxObjectBytes} (5 TiB)`
    return refuseName(path)
  }

  async makeFolder(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    const what = this.#what('make folder', path)
    if (path.length === 0) {
      await this.#bucket.check(what)
      return nothingLost
    }
    const key = writable(path, what)
    if ((await this.#bucket.properties(key, what)) !== undefined)
      throw failed('unsupported', what(), 'a file stands there')
    await this.#mark(key, attributes, what)
    return lossesOf(attributes)
  }

  /** Makes the marker of a folder, or gives the one that is there further attributes. */
  async #mark(key: string, attributes: FileAttributes, what: What): Promise<void> {
    const marker = await this.#bucket.properties(`${key}/`, what)
    this.#folders.made(key)
    if (marker === undefined) await this.#bucket.put(`${key}/`, empty, metadataOf(attributes), what)
    else await this.#giveMetadata(`${key}/`, marker, attributes, what)
  }

  async put(path: StorePath, bytes: Buffer, attributes: FileAttributes): Promise<Losses> {
    const what = this.#what('put', path)
    const key = writable(path, what)
    await this.#refuseFolder(key, what)
    await this.#bucket.put(key, bytes, metadataOf(attributes), what)
    return lossesOf(attributes)
  }

  async remove(path: StorePath): Promise<boolean> {
    const what = this.#what('remove', path)
    if (path.length === 0) throw failed('unsupported', what(), 'it is the root')
    const key = keyOf(path)
    if (key === undefined) return false
    this.#folders.removed()
    const file = await this.#bucket.properties(key, what)
    if (file !== undefined) {
      await this.#bucket.delete(key, file.etag, what)
      return true
    }
    const { objects, prefixes } = await this.#bucket.listPage({ prefix: `${key}/`, maxKeys: 2 }, what)
    if (prefixes.length > 0 || objects.some((one) => one.key !== `${key}/` || one.sizeBytes > 0))
      throw failed('unsupported', what(), 'the folder is not empty')
    if (objects.length === 0) return false
    const marker = await this.#bucket.properties(`${key}/`, what)
    if (marker !== undefined) await this.#bucket.delete(`${key}/`, marker.etag, what)
    return marker !== undefined
  }

  async version(path: StorePath): Promise<string | undefined> {
    const key = keyOf(path)
    if (key === undefined || key === '') return undefined
    return (await this.#bucket.properties(key, this.#what('version of', path)))?.version
  }

  async removeVersion(path: StorePath, version: string): Promise<boolean> {
    const what = this.#what('remove', path)
    const key = keyOf(path)
    if (key === undefined || key === '') return false
    const there = await this.#bucket.properties(key, what)
    if (there === undefined) return false
    if (there.version !== version) throw failed('changed', what(), 'it is another version')
    await this.#bucket.delete(key, there.etag, what)
    return true
  }

  async setAttributes(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    const what = this.#what('set attributes of', path)
    const key = writable(path, what)
    const file = await this.#bucket.properties(key, what)
    if (file !== undefined) await this.#giveMetadata(key, file, attributes, what)
    else if (!(await this.#bucket.hasAny(`${key}/`, what))) throw failed('gone', what(), 'nothing is there')
    else await this.#mark(key, attributes, what)
    return lossesOf(attributes)
  }

  /** Adds to the metadata of an object, or replaces some; nothing to do where they are right. */
  async #giveMetadata(
    key: string,
    there: ObjectProperties,
    attributes: FileAttributes,
    what: What,
  ): Promise<void> {
    const metadata = metadataOf(attributes)
    if (Object.entries(metadata).every(([name, value]) => there.headers[name] === value)) return
    if (there.sizeBytes <= maxCopyBytes) return this.#bucket.replaceMetadata(key, there, metadata, what)
    const id = await this.#bucket.createUpload(key, { ...userMetadata(there), ...metadata }, what)
    const { sizeBytes, etag } = there
    const count = Math.ceil(sizeBytes / copyPartBytes)
    for (let index = 0; index < count; index++) {
      const offset = index * copyPartBytes
      const length = Math.min(copyPartBytes, sizeBytes - offset)
      await this.#bucket.copyPart(key, { id, number: index + 1 }, { key, etag, offset, length }, what)
    }
    const parts = checkedParts(
      { token: '', sizeBytes },
      count,
      (await this.#bucket.parts(key, id, what)) ?? [],
      what,
    )
    await this.#bucket.completeUpload(key, id, parts, what)
  }

  async beginUpload(path: StorePath, file: NewFile, continuation?: Continuation): Promise<Upload> {
    const what = this.#what('begin upload', path)
    const key = writable(path, what)
    const { sizeBytes, attributes } = file
    if (sizeBytes > maxObjectBytes)
      throw failed('too-large', what(), `${sizeBytes} bytes, the limit is ${maxObjectBytes}`)
    await this.#refuseFolder(key, what)
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
    const what = this.#what(`write part ${index}`, path)
    const isHeld = body.sizeBytes <= this.capabilities.maxPutBytes
    const content = isHeld ? await body.read(0, body.sizeBytes) : body
    await this.#bucket.putPart(key, { id, number: index + 1 }, content, what)
  }

  async writtenParts(upload: Upload, bytesOfPart: number): Promise<readonly number[] | undefined> {
    const { path, key, id } = readUpload(upload)
    const parts = await this.#bucket.parts(key, id, this.#what('look at the parts of', path))
    return parts && wholeParts(parts, upload.sizeBytes, bytesOfPart)
  }

  async commitUpload(upload: Upload, partCount: number, attributes: FileAttributes): Promise<Losses> {
    const { path, key, id } = readUpload(upload)
    const what = this.#what('commit', path)
    const parts = await this.#bucket.parts(key, id, what)
    if (parts === undefined) await this.#requireCommitted(upload, partCount, what)
    else if (partCount === 0) {
      // No object can be made of no parts.
      await this.#bucket.put(key, empty, metadataOf(attributes), what)
      await this.#bucket.abortUpload(key, id, what)
    } else {
      await this.#refuseFolder(key, what)
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
    const isOfParts = partCount === 0 || (there?.etag ?? '').includes('-')
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
    await this.#bucket.abortUpload(state.key, state.id, this.#what('abort', state.path))
  }

  locate(path: StorePath): Location {
    return { own: { device: this.#place, path }, mounted: [] }
  }

  async close(): Promise<void> {
    this.#client.close()
  }

  async #refuseFolder(key: string, what: What): Promise<void> {
    if (await this.#folders.isFolder(key, what)) throw failed('unsupported', what(), 'a folder stands there')
  }

  #what(operation: string, path: StorePath): What {
    return () => `${operation} ${path.length === 0 ? 'the root' : textFromPath(path)} of ${this.#place}`
  }
}

const empty = Buffer.alloc(0)

/** U+FFFD in UTF-8. */
const replaced = Buffer.from('\ufffd')

const isSegment = (name: string) => name !== '' && name !== '.' && name !== '..'

/** A marker of another tool says nothing of a folder but that it is there: its own time is of no use. */
function markerAttributes({ headers }: ObjectProperties): FileAttributes {
  const { modifiedMs, ...attributes } = attributesOf(headers)
  const hasTime = Object.keys(headers).some((name) => /^x-amz-meta-(?:file-)?mtime$/.test(name))
  return { ...attributes, ...(hasTime && modifiedMs !== undefined && { modifiedMs }) }
}

function userMetadata({ headers }: ObjectProperties): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      (header): header is [string, string] =>
        header[0].startsWith('x-amz-meta-') && typeof header[1] === 'string',
    ),
  )
}

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
