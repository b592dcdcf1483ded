import { hash } from 'node:crypto'
import { gcsIneffectiveProperties, gcsProperties } from '../../../subjects/filesystems/gcs-properties.ts'
import { nameOf } from '../http/connection.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import { BucketDriver, markerAttributes, maxObjectBytes } from '../buckets/bucket-driver.ts'
import type { What } from '../buckets/objects.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import {
  type Capabilities,
  type Changes,
  type ClockOffset,
  type Continuation,
  type DigestKind,
  type Driver,
  type Entry,
  type FileAttributes,
  type Leftovers,
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
import { lossesOf } from '../contract/metadata-values.ts'
import { uploadFolder, wholeParts } from '../uploads/part-folders.ts'
import { UntilDone } from '../uploads/until-done.ts'
import { isName, joinPath, parentOf } from '../paths/path-text.ts'
import { metadataOf } from './attributes.ts'
import { accessBy, BucketPlace } from '../buckets/copies.ts'
import { Bucket, type GcsObject, type GcsPage, type ObjectOptions } from './bucket.ts'
import { GcsClient } from './client.ts'
import { credentialsOf } from './credentials.ts'
import { gcsEndpoint, isOfGoogle } from './endpoint.ts'
import { failed } from './errors.ts'
import { keyOf, refuseName } from './names.ts'
import { GcsCopy } from './store-copy.ts'
import { subscriptionAt, subscriptionChanges } from './subscription-changes.ts'
import { discard, joinParts, partBytes, partsOf, readUpload, sweep, tokenOf, writePart } from './upload.ts'

type Options = FilesystemOptions<'gcs'>
type Property = PropertyValues<typeof gcsProperties>

/** Longest wait between retries, also when the store asks for a longer one: "Retry strategy". */
const maxBackoffMs = 32_000

/** As exactly as it is known how much the service's clock is ahead. */
const clockMs = 2_000

/** Digests that the service keeps. */
const keptKinds: readonly DigestKind[] = ['md5', 'crc32c']

/** Times are told in milliseconds. */
const tickMs = 2

/** A bucket of Google Cloud Storage. */
export class GcsDriver extends BucketDriver<GcsObject> implements Driver {
  readonly capabilities: Capabilities
  readonly leftovers: Leftovers
  readonly direct: BucketPlace<Bucket>
  readonly changes?: Changes
  readonly digestsOf?: NonNullable<Driver['digestsOf']>
  readonly #addresses: readonly { readonly address: StoreAddress; readonly field: string }[]
  readonly #requireCredentials: (() => void) | undefined
  readonly #client: GcsClient
  readonly #bucket: Bucket
  readonly #property: Property
  readonly #discards = new UntilDone()

  /**
   * Throws GantryError NOT_ACCEPTED for credentials that are not complete and a property that cannot be honoured.
   * @param bounds where stores may be; without them anywhere
   */
  constructor(options: Options, bounds?: StoreBounds) {
    const property = readProperties(gcsProperties, options.additionalProperties, (name) =>
      gcsIneffectiveProperties.includes(name),
    )
    const objectOptions = objectOptionsOf(options, property)
    const endpoint = gcsEndpoint(options.endpoint)
    const address = bounds && new StoreAddress(endpoint, bounds)
    const recipient = { endpoint, address, isCloud: isOfGoogle(endpoint.host), field: 'endpoint' }
    const how = {
      authType: property('fs.gs.auth.type'),
      configFile: property('fs.gs.auth.workload.identity.federation.credential.config.file'),
    }
    const queue = subscriptionAt(options, bounds)
    const recipients = queue === undefined ? [recipient] : [recipient, queue]
    const { tokens, require: requireCredentials } = credentialsOf(options, how, recipients, bounds)
    const concurrency = property('gantry.gcs.connections')
    const limits = {
      connectTimeoutMs: property('fs.gs.http.connect-timeout'),
      idleTimeoutMs: property('fs.gs.http.read-timeout'),
      connections: concurrency,
      retries: property('fs.gs.http.max.retry'),
      minBackoffMs: property('gantry.gcs.retry.interval'),
      maxBackoffMs,
    }
    const payer = property('fs.gs.requester.pays.project.id')
    const always: Record<string, string> = payer === '' ? {} : { userProject: payer }
    const client = new GcsClient(endpoint, options.bucketName, tokens, limits, always, address)
    const bucket = new Bucket(client, objectOptions)
    const place = `bucket ${options.bucketName} at ${nameOf(endpoint)}`
    const headBytes = property('fs.gs.inputstream.min.range.request.size')
    super({ bucket, service: 'Cloud Storage', place, failed, headBytes, keyOf, refuseName, lossesOf })
    this.#addresses = recipients.flatMap((one) =>
      one.address === undefined ? [] : [{ address: one.address, field: one.field }],
    )
    if (queue !== undefined) this.changes = subscriptionChanges(options, queue, tokens, limits)
    this.direct = new BucketPlace(bucket, accessOf(options))
    // Others are told with all else.
    if (options.customerKey !== undefined)
      this.digestsOf = async (path, kinds, signal) => {
        const key = keyOf(path)
        if (key === undefined || !keptKinds.some((kind) => kinds.includes(kind))) return undefined
        const object = await bucket.properties(key, this.what('digests of', path), signal)
        return object && { digests: object.digests ?? {}, version: object.version }
      }
    this.#requireCredentials = requireCredentials
    this.#client = client
    this.#bucket = bucket
    this.#property = property
    const maxPutBytes = property('fs.gs.outputstream.upload.chunk.size')
    this.capabilities = {
      storeName: place,
      folders: 'implied',
      listsAttributes: true,
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
      clock: { tickMs },
      concurrency,
    }
    this.leftovers = {
      sweep: (folder, tag, liveThreads, isOver) =>
        sweep(bucket, folder, { tag, liveThreads }, isOver, this.what('look for leftovers in', folder)),
    }
  }

  requirePlace(): void {
    for (const { address, field } of this.#addresses) requireAddresses([address], field)
    this.#requireCredentials?.()
  }

  clockOffset(): ClockOffset | undefined {
    return this.#client.clockOffset
  }

  announce(folder: StorePath, names: readonly Buffer[]): void {
    const keys = names.map((name) => keyOf(joinPath(folder, name)))
    this.#bucket.announce(keys.filter((key) => key !== undefined))
  }

  async *list(folder: StorePath, signal: AbortSignal, { after, limit }: Listing = {}): AsyncIterable<Page> {
    const what = this.what('list', folder)
    const key = keyOf(folder)
    if (key === undefined) throw failed('gone', what(), 'no such folder')
    const prefix = key === '' ? '' : `${key}/`
    const perPage = this.#property('fs.gs.list.max.items.per.call')
    const maxKeys = Math.min(perPage, limit ?? Infinity, maxPageEntries)
    let found = prefix === '' || after !== undefined
    let token = after
    const guard = new CursorGuard(failed, what)
    do {
      const page = await this.#bucket.listPage({ prefix, maxKeys, token }, what, signal)
      found ||= page.objects.length + page.prefixes.length > 0
      const entries = await this.#entriesOf(page, prefix, token !== undefined, what)
      token = page.nextToken === '' ? undefined : guard.pass(page.nextToken)
      if (entries.length > 0) yield { entries, ...(token !== undefined && { cursor: token }) }
    } while (token !== undefined)
    if (!found) throw failed('gone', what(), 'no such folder')
  }

  /** A file `a` beside objects `a/…` is listed as both: nothing that is there goes unseen. */
  async #entriesOf(
    { objects, prefixes, nextToken }: GcsPage,
    prefix: string,
    goesOn: boolean,
    what: What,
  ): Promise<Entry[]> {
    const entries: Entry[] = []
    const markers = new Map<string, GcsObject>()
    for (const object of objects) {
      const name = Buffer.from(object.key.slice(prefix.length))
      // The marker of the folder itself.
      if (name.length === 0 && object.sizeBytes === 0) continue
      if (name.length > 0 && object.key.endsWith('/')) markers.set(object.key, object)
      else if (!isName(name)) entries.push({ name, type: 'other', sizeBytes: 0 })
      else {
        const { sizeBytes, attributes, times, digests } = object
        const its = { ...attributes, ...times, ...(digests && { digests }) }
        entries.push({ name, type: 'file', sizeBytes, ...its })
      }
    }
    for (const [index, one] of prefixes.entries()) {
      const name = Buffer.from(one.slice(prefix.length, -1))
      // Between two pages a marker may be on the other one.
      const isAtEnd = (index === 0 && goesOn) || (index === prefixes.length - 1 && nextToken !== '')
      const marker = markers.get(one) ?? (isAtEnd ? await this.#bucket.properties(one, what) : undefined)
      const attributes = marker && markerAttributes(marker)
      const type = isName(name) ? 'folder' : 'other'
      entries.push({ name, type, sizeBytes: 0, ...attributes })
    }
    return entries
  }

  copyWithin({ direct }: Driver): StoreCopy | undefined {
    return this.copiesFrom(direct, this.direct, (from, to) => new GcsCopy(from, to))
  }

  async beginUpload(path: StorePath, file: NewFile, continuation?: Continuation): Promise<Upload> {
    const what = this.what('begin upload', path)
    const key = this.writableKey(path, what)
    const { sizeBytes } = file
    if (sizeBytes > maxObjectBytes)
      throw failed('too-large', what(), `${sizeBytes} bytes, the limit is ${maxObjectBytes}`)
    await this.refuseFolder(key, what)
    const bytesOfPart = this.capabilities.parts.sizeFor(sizeBytes)
    const folder = joinPath(parentOf(path), uploadFolder(path, file, bytesOfPart, continuation))
    this.writableKey(folder, what)
    const begunMs = Date.now() + this.#client.aheadMs
    const upload = { token: tokenOf({ path, folder, begunMs }), sizeBytes }
    if (continuation === undefined) return upload
    return { ...upload, written: await this.writtenParts(upload, bytesOfPart) }
  }

  async writePart(upload: Upload, index: number, offset: number, body: PartBody): Promise<void> {
    const { path } = readUpload(upload)
    const isHeld = body.sizeBytes <= this.capabilities.maxPutBytes
    const content = isHeld ? await body.read(0, body.sizeBytes) : body
    await writePart(this.#bucket, upload, { index, offset }, content, this.what(`write part ${index}`, path))
  }

  async writtenParts(upload: Upload, bytesOfPart: number): Promise<readonly number[]> {
    const state = readUpload(upload)
    const parts = await partsOf(this.#bucket, state, this.what('look at the parts of', state.path))
    return wholeParts(parts, upload.sizeBytes, bytesOfPart)
  }

  async commitUpload(upload: Upload, partCount: number, attributes: FileAttributes): Promise<Losses> {
    const state = readUpload(upload)
    const { path } = state
    const what = this.what('commit', path)
    const key = this.writableKey(path, what)
    const parts = await partsOf(this.#bucket, state, what)
    if (parts.length === 0 && partCount > 0) await this.#requireCommitted(upload, attributes, what)
    else {
      await this.refuseFolder(key, what)
      // No object can be made of no parts.
      if (partCount === 0) await this.#bucket.put(key, Buffer.alloc(0), attributes, what)
      else {
        const whole = { key, metadata: metadataOf(attributes) }
        await joinParts(this.#bucket, upload, state, parts, whole, what)
      }
      await this.#discards.do(() => discard(this.#bucket, state, what))
    }
    return lossesOf(attributes)
  }

  /** Of an upload whose parts are gone: the answer to a commit may have been lost. */
  async #requireCommitted(upload: Upload, attributes: FileAttributes, what: What): Promise<void> {
    const { path, begunMs } = readUpload(upload)
    const there = await this.#bucket.properties(path.toString('utf8'), what)
    const wanted = Object.entries(metadataOf(attributes))
    const isWhole =
      there?.sizeBytes === upload.sizeBytes && wanted.every(([name, value]) => there.metadata[name] === value)
    const madeMs = (there?.times.createdMs ?? 0) + this.#client.aheadMs
    if (!isWhole || madeMs < begunMs - clockMs)
      throw failed('corrupt', what(), 'the upload is gone; begin it again')
  }

  async abortUpload(upload: Upload): Promise<void> {
    let state
    try {
      state = readUpload(upload)
    } catch {
      return
    }
    await discard(this.#bucket, state, this.what('abort', state.path))
  }

  async close(): Promise<void> {
    this.#discards.close()
    this.#client.close()
  }
}

/** What says where a bucket is and who asks for it. */
const accessOf = ({
  bucketName: _bucket,
  customerKey: _key,
  pubSubSubscription: _subscription,
  pubSubEndpoint: _pubSub,
  additionalProperties,
  ...others
}: Options): string => accessBy('Cloud Storage', others, additionalProperties, ofObjects)

/** Properties that say how objects are read and written, and by how many requests: two buckets may differ in them. */
const ofObjects =
  /^(?:fs\.gs\.(?:http|inputstream|list|outputstream)\.|gantry\.gcs\.(?:connections|kms|retry|storage)\b)/

/** Throws GantryError NOT_ACCEPTED for what does not go together. */
function objectOptionsOf({ customerKey }: Options, property: Property): ObjectOptions {
  const [storageClass, kmsKey] = [property('gantry.gcs.storage.class'), property('gantry.gcs.kms.key')]
  if (customerKey !== undefined && kmsKey !== '')
    throw notAccepted('customerKey', 'is given besides gantry.gcs.kms.key: leave one of them out')
  const bytes = Buffer.from(customerKey ?? '', 'base64')
  return {
    making: { ...(storageClass !== '' && { storageClass }), ...(kmsKey !== '' && { kmsKey }) },
    content:
      customerKey === undefined
        ? {}
        : {
            'x-goog-encryption-algorithm': 'AES256',
            'x-goog-encryption-key': customerKey,
            'x-goog-encryption-key-sha256': hash('sha256', bytes, 'base64'),
          },
  }
}
