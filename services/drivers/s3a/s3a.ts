import { hash } from 'node:crypto'
import { nameOf } from '../http/connection.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { s3IneffectiveProperties, s3Properties } from '../../../subjects/filesystems/s3-properties.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import { BucketDriver, maxObjectBytes } from '../buckets/bucket-driver.ts'
import { isName } from '../paths/path-text.ts'
import type { What } from '../buckets/objects.ts'
import { type Credentials, credentialsOf } from '../aws-credentials/credentials.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import {
  type Capabilities,
  type Changes,
  type ClockOffset,
  type Continuation,
  type Driver,
  type Leftovers,
  type Entry,
  type FileAttributes,
  type Listing,
  type Losses,
  maxPageEntries,
  type NewFile,
  type Page,
  type PartBody,
  type StoreCopy,
  type StorePath,
  type Upload,
} from '../contract/driver.ts'
import { type PropertyValues, readProperties } from '../contract/properties.ts'
import { CursorGuard } from '../http/cursor-guard.ts'
import { requireAddresses, StoreAddress } from '../http/store-address.ts'
import { lossesOf, metadataOf } from './attributes.ts'
import { Bucket, type BucketHeaders, type S3Object, timesOf } from './bucket.ts'
import { S3Client } from './client.ts'
import type { ContentDigest, ContentDigests } from './digests.ts'
import { type BucketEndpoint, bucketEndpoint, isOfAmazon } from './endpoint.ts'
import { failed } from './errors.ts'
import { topicOf } from './kafka-topic.ts'
import { WatchError } from '../feeds/feed.ts'
import { QueueFeed } from '../notifications/queue-feed.ts'
import { objectsIn } from './object-events.ts'
import { type QueueAddress, queueAddress } from './queue-address.ts'
import { queueName, type SqsOptions, SqsQueue } from './sqs-queue.ts'
import { keyOf, refuseFolders, refuseName } from './names.ts'
import { checkedParts } from './parts.ts'
import type { Provider } from './providers.ts'
import { accessBy, BucketPlace } from '../buckets/copies.ts'
import { ListenFeed } from './listen-feed.ts'
import { S3Copy } from './store-copy.ts'
import { beginUpload, partBytes, readUpload, sweepUploads, wholeParts } from './upload.ts'
import type { ListPage } from './xml.ts'

type Options = FilesystemOptions<'s3a'>
type Property = PropertyValues<typeof s3Properties>

/** The service tells times in seconds in most answers; what is read meanwhile and written after it may be of the next one. */
const secondMs = 1_000

/** Asked for one key at a time, MinIO leaves out some. */
const minPageKeys = 2

/** Longest wait between retries, also when the store asks for a longer one. */
const maxBackoffMs = 20_000

/** What to do without a key. */
const whenPublic = 'for a public bucket give the credentialsProvider AnonymousAWSCredentialsProvider'

/** A bucket of S3. */
export class S3Driver extends BucketDriver<S3Object> implements Driver {
  readonly capabilities: Capabilities
  readonly #address: StoreAddress | undefined
  readonly #permission: Credentials['permission']
  readonly #client: S3Client
  readonly #bucket: Bucket
  readonly #property: Property
  readonly leftovers: Leftovers
  readonly direct: BucketPlace<Bucket>
  readonly changes?: Changes
  readonly #queue: SqsOptions | undefined
  readonly #requireTopic: (() => void) | undefined

  /**
   * Throws GantryError NOT_ACCEPTED for credentials that are not complete and a property that cannot be honoured.
   * @param bounds where stores may be; without them anywhere
   */
  constructor(options: Options, bounds?: StoreBounds) {
    const property = readProperties(s3Properties, options.additionalProperties, (name) =>
      s3IneffectiveProperties.some((one) => one === name),
    )
    const headers = headersOf(options, property)
    const endpoint = bucketEndpoint(options, {
      region: property('fs.s3a.endpoint.region'),
      pathStyle: property('fs.s3a.path.style.access'),
      isSecure: property('fs.s3a.connection.ssl.enabled') === 'true',
    })
    const address = bounds && new StoreAddress(endpoint, bounds)
    const recipient = { endpoint, address, isCloud: isOfAmazon(endpoint.host), field: 'endpoint' }
    const queue = queueAddress(options, endpoint)
    const queueBounds = queue && bounds && new StoreAddress(queue.endpoint, bounds)
    const queueRecipient = queue && {
      endpoint: queue.endpoint,
      address: queueBounds,
      isCloud: queue.isOfAmazon,
      field: queue.field,
    }
    const recipients = queueRecipient === undefined ? [recipient] : [recipient, queueRecipient]
    const credentials = credentialsOf(options, recipients, endpoint.region, bounds, whenPublic)
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
    const client = new S3Client(endpoint, credentials.source, limits, always, address)
    const { provider } = endpoint
    const bucket = new Bucket(client, headers, digestsFor(provider, property), provider)
    const place = `bucket ${options.bucketName} at ${nameOf(endpoint)}`
    const headBytes = property('fs.s3a.readahead.range')
    const { folderNameBytes } = provider
    const refuse = (path: StorePath) => refuseName(path) ?? refuseFolders(path, folderNameBytes)
    super({ bucket, service: 'S3', place, failed, headBytes, keyOf, refuseName: refuse, lossesOf })
    this.#address = address
    if (queue !== undefined) {
      if (credentials.source === undefined)
        throw notAccepted(
          'sqsQueue',
          'needs credentials: requests to a queue are signed, also those about a public bucket',
        )
      const sqs = { address: queue, credentials: credentials.source, limits, bounds: queueBounds }
      this.#queue = sqs
      this.changes = changesBy(sqs, options)
    }
    const topic = topicOf(options, property, bounds)
    if (topic !== undefined) this.changes = topic.changes
    if (options.bucketNotifications === true) {
      const other = queue !== undefined ? 'sqsQueue' : topic !== undefined ? 'bootstrapServers' : undefined
      if (other !== undefined)
        throw notAccepted('bucketNotifications', `is given besides ${other}: leave one of them out`)
      const listening = () => new S3Client(endpoint, credentials.source, limits, always, address)
      this.changes = listeningChanges(listening, { address, idleTimeoutMs: limits.idleTimeoutMs })
    }
    this.#requireTopic = topic?.requirePlace
    this.#permission = credentials.permission
    this.#client = client
    this.#bucket = bucket
    this.#property = property
    this.direct = new BucketPlace(bucket, accessOf(options, endpoint))
    this.leftovers = {
      sweep: (folder, tag, _liveThreads, isOver) =>
        sweepUploads(bucket, folder, tag, isOver, this.what('look for leftovers in', folder)),
    }
    const maxPutBytes = property('fs.s3a.multipart.size')
    this.capabilities = {
      storeName: place,
      folders: 'implied',
      listsAttributes: false,
      listsInOrder: true,
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
    const { bounds, address } = this.#queue ?? {}
    if (bounds !== undefined && address !== undefined) requireAddresses([bounds], address.field)
    this.#requireTopic?.()
    this.#permission?.require()
  }

  clockOffset(): ClockOffset | undefined {
    return this.#client.clockOffset
  }

  async *list(folder: StorePath, signal: AbortSignal, { after, limit }: Listing = {}): AsyncIterable<Page> {
    const what = this.what('list', folder)
    const key = keyOf(folder)
    if (key === undefined) throw failed('gone', what(), 'no such folder')
    const prefix = key === '' ? '' : `${key}/`
    const wanted = Math.min(this.#property('fs.s3a.paging.maximum'), limit ?? Infinity, maxPageEntries)
    const maxKeys = Math.max(wanted, minPageKeys)
    let found = prefix === '' || after !== undefined
    let token = after
    const guard = new CursorGuard(failed, what)
    do {
      const page = await this.#bucket.listPage({ prefix, maxKeys, token }, what, signal)
      found ||= page.objects.length + page.prefixes.length > 0
      const entries = page.isEncoded
        ? this.#entriesOf(page, prefix)
        : await this.#readable(this.#entriesOf(page, prefix), prefix, what)
      token = page.nextToken === '' ? undefined : guard.pass(page.nextToken)
      for (let at = 0; at < entries.length; at += wanted) {
        const isLast = at + wanted >= entries.length
        yield {
          entries: entries.slice(at, at + wanted),
          ...(isLast && token !== undefined && { cursor: token }),
        }
      }
    } while (token !== undefined)
    if (!found) throw failed('gone', what(), 'no such folder')
  }

  /** A file `a` beside objects `a/…` is listed as both: nothing that is there goes unseen. */
  #entriesOf({ objects, prefixes }: ListPage, prefix: string): Entry[] {
    const entries: Entry[] = []
    for (const object of objects) {
      const name = Buffer.from(object.key.slice(prefix.length))
      // The marker of the folder itself.
      if (name.length === 0 && object.sizeBytes === 0) continue
      entries.push(
        isName(name)
          ? {
              ...timesOf(object.lastModified, this.#bucket.aheadMs),
              name,
              type: 'file',
              sizeBytes: object.sizeBytes,
            }
          : { name, type: 'other', sizeBytes: 0 },
      )
    }
    for (const one of prefixes) {
      const name = Buffer.from(one.slice(prefix.length, -1))
      entries.push({ name, type: isName(name) ? 'folder' : 'other', sizeBytes: 0 })
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

  /** Between buckets of the same service whose requests have the same credentials. */
  copyWithin({ direct }: Driver): StoreCopy | undefined {
    return this.copiesFrom(direct, this.direct, (from, to) => new S3Copy(from, to))
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
    return parts && wholeParts(parts.parts, upload.sizeBytes, bytesOfPart)
  }

  async commitUpload(upload: Upload, partCount: number, attributes: FileAttributes): Promise<Losses> {
    const { path, key, id } = readUpload(upload)
    const what = this.what('commit', path)
    const written = await this.#bucket.parts(key, id, what)
    if (written === undefined) await this.#requireCommitted(upload, partCount, attributes, what)
    else if (partCount === 0) {
      // No object can be made of no parts.
      await this.#bucket.put(key, empty, attributes, what)
      await this.#bucket.abortUpload(key, id, what)
    } else {
      await this.refuseFolder(key, what)
      const parts = checkedParts(upload, partCount, written.parts, what)
      if (!(await this.#bucket.completeUpload(key, id, { ...written, parts }, what)))
        await this.#requireCommitted(upload, partCount, attributes, what)
    }
    return lossesOf(attributes)
  }

  /**
   * Of an upload that is no longer there: it was committed if an object of its size, its attributes and of as many parts was
   * made since. The answer to a commit may have been lost.
   */
  async #requireCommitted(
    upload: Upload,
    partCount: number,
    attributes: FileAttributes,
    what: What,
  ): Promise<void> {
    const { key, begunMs } = readUpload(upload)
    const there = await this.#bucket.properties(key, what)
    const isOfParts = partCount === 0 || (there?.tag ?? '').includes('-')
    const madeMs = Date.parse(there?.headers['last-modified'] ?? '')
    // What an earlier upload made of the file as it was before may have all else, and have been made a moment ago.
    const isOfFile =
      there?.sizeBytes === upload.sizeBytes &&
      Object.entries(metadataOf(attributes)).every(([name, value]) => there.headers[name] === value)
    if (!isOfFile || !isOfParts || !(madeMs >= begunMs))
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

/** What tells of the changes in a bucket to who listens. */
function listeningChanges(
  client: () => S3Client,
  options: ConstructorParameters<typeof ListenFeed>[2],
): Changes {
  const feed = (folder: StorePath) => new ListenFeed(client(), folder.toString('latin1'), options)
  return {
    feed: async (folder) => feed(folder),
    check: async (signal) => {
      const its = feed(Buffer.alloc(0))
      try {
        await its.open({ changed: () => undefined, ended: () => undefined }, signal)
        return its.reason
      } catch (error) {
        throw error instanceof WatchError
          ? failed('unsupported', 'listen to the bucket', error.message)
          : error
      } finally {
        await its.close()
      }
    },
  }
}

/** What tells of the changes in a bucket whose notifications go into a queue. */
function changesBy(sqs: SqsOptions, options: Options): Changes {
  const name = queueName(sqs.address)
  return {
    feed: async (folder) =>
      new QueueFeed(
        {
          key: readerKey(sqs.address, options),
          queue: () => new SqsQueue(sqs),
          parse: objectsIn,
          bucket: options.bucketName,
          root: folder.toString('latin1'),
        },
        name,
      ),
    check: async (signal) => {
      const queue = new SqsQueue(sqs)
      try {
        await queue.probe(signal)
        return `notifications in ${name} can be read`
      } finally {
        queue.close()
      }
    },
  }
}

/** The same where the same queue is read by the same one; digested, as there are secrets in it. */
function readerKey(address: QueueAddress, options: Options): string {
  const { accessKey, secretKey, sessionToken, credentialsProvider, awsProfile, awsCredentialsConfigFile } =
    options
  const who = [accessKey, secretKey, sessionToken, credentialsProvider, awsProfile, awsCredentialsConfigFile]
  const { name, account, url, endpoint, region } = address
  return hash('sha256', JSON.stringify(['sqs', name, account, url, endpoint, region, who]))
}

const empty = Buffer.alloc(0)

/** U+FFFD in UTF-8. */
const replaced = Buffer.from('\ufffd')

/** What says where a bucket is and who asks for it, digested, as there are secrets in it. */
function accessOf(
  {
    bucketName: _bucket,
    customerKey: _key,
    sqsQueue: _queue,
    sqsEndpoint: _sqsEndpoint,
    cleanUpSqsQueue: _cleanUp,
    bootstrapServers: _servers,
    topic: _topic,
    kafkaUser: _user,
    kafkaPassword: _password,
    bucketNotifications: _listens,
    additionalProperties,
    ...others
  }: Options,
  { secure }: BucketEndpoint,
): string {
  return accessBy(`S3 ${secure}`, others, additionalProperties, ofObjects)
}

/** Properties that say how objects are read and written, and by how many requests: two buckets may differ in them. */
const ofObjects =
  /^fs\.s3a\.(?:acl|attempts|connection|create|encryption|endpoint\.region|multipart|paging|path\.style|readahead|requester|retry)\b/

/** Of the property, else what the provider checks. */
function digestsFor({ checksums }: Provider, property: Property): ContentDigests {
  const chosen = property('fs.s3a.create.checksum.algorithm').toLowerCase() as ContentDigest | ''
  return chosen === '' ? checksums : { whole: chosen, parts: chosen }
}

const acls: Readonly<Record<string, string>> = {
  Private: 'private',
  PublicRead: 'public-read',
  PublicReadWrite: 'public-read-write',
  AuthenticatedRead: 'authenticated-read',
  BucketOwnerRead: 'bucket-owner-read',
  BucketOwnerFullControl: 'bucket-owner-full-control',
}

/** The header of tags, which are encoded as in a query. @param text `name=value,…` */
const taggingOf = (text: string): Record<string, string> => {
  if (text === '') return {}
  const encoded = text.split(',').map((one) => {
    const equals = one.indexOf('=')
    return `${encodeURIComponent(one.slice(0, equals))}=${encodeURIComponent(one.slice(equals + 1))}`
  })
  return { 'x-amz-tagging': encoded.join('&') }
}

/** Throws GantryError NOT_ACCEPTED for what does not go together. */
function headersOf({ customerKey }: Options, property: Property): BucketHeaders {
  const making: Record<string, string> = {}
  const storageClass = property('fs.s3a.create.storage.class')
  if (storageClass !== '') making['x-amz-storage-class'] = storageClass.toUpperCase()
  const tagging = taggingOf(property('fs.s3a.create.tags'))
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
  if (customerKey === undefined) return { making, tagging, content: {}, copied: {} }
  const keyed = (prefix: string) => ({
    [`${prefix}-algorithm`]: 'AES256',
    [`${prefix}-key`]: customerKey,
    [`${prefix}-key-md5`]: hash('md5', Buffer.from(customerKey, 'base64'), 'base64'),
  })
  return {
    making,
    tagging,
    content: keyed('x-amz-server-side-encryption-customer'),
    copied: keyed('x-amz-copy-source-server-side-encryption-customer'),
  }
}
