import { hash, randomBytes } from 'node:crypto'
import { abortable } from '../../../broker/common/abortable.ts'
import type { CopyOutcome } from '../buckets/copies.ts'
import { hasAnyBelow } from '../buckets/has-any.ts'
import type {
  Keeping,
  ListedPrefix,
  ObjectBucket,
  ObjectPage,
  StoredObject,
  What,
} from '../buckets/objects.ts'
import { type FileAttributes, type PartBody, piecesOf } from '../contract/driver.ts'
import { attributesOf, type Metadata, metadataOf } from './attributes.ts'
import type { Sent } from './authorized-transport.ts'
import { type GcsClient, type GcsRequest, readJson } from './client.ts'
import { crcOf, crcText } from '../digests/crc32c.ts'
import { answerError, failed, type GcsAnswer, isOfBucket } from './errors.ts'
import type { Receiver, Taker } from '../http/transport.ts'
import { beyondJobs } from '../http/job-signal.ts'
import { isRange, rangeOf, received, sizeOfHead } from '../http/ranges.ts'
import { ListedObjects } from './listed-objects.ts'

/** An object as the service tells it; its tag is the generation. */
export interface GcsObject extends StoredObject {
  readonly key: string
  readonly metageneration: string
  readonly metadata: Metadata
  /** Base64; empty where it is not told, as of what is encrypted with another key. */
  readonly crc32c: string
}

export interface GcsPage extends ObjectPage {
  readonly objects: readonly GcsObject[]
}

/** How objects are written and read in this bucket. */
export interface ObjectOptions {
  /** Of whatever makes an object. */
  readonly making: { readonly storageClass?: string; readonly kmsKey?: string }
  /** Headers of whatever sends or asks for content: a key of the customer's. */
  readonly content: Readonly<Record<string, string>>
}

const objectFields =
  'kind,name,size,generation,metageneration,timeCreated,updated,crc32c,md5Hash,contentEncoding,metadata'
const listFields = `kind,prefixes,nextPageToken,items(${objectFields})`

/** Sources of one request to join objects: "Composite objects". */
export const maxJoined = 32

/** On what is there, as query parameters. */
type Condition = Readonly<Record<string, string>>

/** The calls to one bucket that the driver is made of. All throw StoreErrors; the bucket missing is `gone`. */
export class Bucket implements ObjectBucket<GcsObject> {
  readonly #client: GcsClient
  readonly #options: ObjectOptions
  readonly #listed: ListedObjects<GcsObject>
  /** Whether answers with content say which metadata the object has: servers of the service's protocol may not. */
  #namesMetadata = false

  constructor(client: GcsClient, options: ObjectOptions) {
    this.#client = client
    this.#options = options
    this.#listed = new ListedObjects((prefix, startAfter, maxKeys, what) =>
      beyondJobs(async () => (await this.listPage({ prefix, maxKeys, startAfter }, what)).objects),
    )
  }

  /** By a listing, which any use of the bucket needs. */
  async check(what: What, options: Pick<GcsRequest, 'signal' | 'retries' | 'isProbe'> = {}): Promise<void> {
    const query = { maxResults: '1', fields: 'kind' }
    await this.#client.request({ method: 'GET', path: ['o'], query, what, ...options })
  }

  async keeping(what: What, signal: AbortSignal): Promise<Keeping> {
    const query = { fields: 'kind,versioning,softDeletePolicy' }
    const { versioning, softDeletePolicy } = await this.#client.json({
      method: 'GET',
      path: [],
      query,
      what,
      signal,
    })
    const { enabled } = (versioning ?? {}) as { readonly enabled?: unknown }
    const { retentionDurationSeconds } = (softDeletePolicy ?? {}) as {
      readonly retentionDurationSeconds?: unknown
    }
    const seconds = Number(retentionDurationSeconds ?? 0)
    return { versions: enabled === true, softDeleteSeconds: Number.isSafeInteger(seconds) ? seconds : 0 }
  }

  async properties(key: string, what: What, signal?: AbortSignal): Promise<GcsObject | undefined> {
    const { content: headers } = this.#options
    const query = { fields: objectFields }
    const asked = { method: 'GET', path: ['o', key], query, headers, what, signal, accept: [404] } as const
    const answer = await this.#client.request(asked)
    if (answer.status === 404) {
      if (isOfBucket(answer)) throw answerError(what(), answer)
      return undefined
    }
    return objectIn(answer.body, this.#client.aheadMs, what)
  }

  /** Objects of one folder whose heads are read soon. */
  announce(keys: readonly string[]): void {
    this.#listed.announce(keys)
  }

  /**
   * Content and metadata at once, so that a file takes the time of one request; and by one, where a listing had the object and
   * the answer with the content says that it still is that one.
   */
  async readHead(
    key: string,
    bytes: number,
    what: What,
    signal?: AbortSignal,
  ): Promise<{ readonly object: GcsObject; readonly head: Buffer } | undefined> {
    const range = { range: `bytes=0-${bytes - 1}` }
    const reading = this.#media(key, {}, range, what, signal)
    if (this.#canUseListings) {
      const [listed, media] = await Promise.all([abortable(this.#listed.take(key, what), signal), reading])
      if (listed !== undefined && isOf(media, listed, bytes)) return { object: listed, head: media.body }
    }
    const [object, media] = await Promise.all([this.properties(key, what, signal), reading])
    if (media.status < 300) this.#namesMetadata = media.headers['x-goog-metageneration'] !== undefined
    if (object === undefined) return undefined
    if (isHeadOf(media, object, bytes)) return { object, head: media.body }
    // No range of an empty object can be read.
    if (object.sizeBytes === 0) return { object, head: Buffer.alloc(0) }
    const its = await this.#media(key, { generation: object.tag }, range, what, signal)
    if (!isHeadOf(its, object, bytes)) throw failed('changed', what(), `answered ${its.status}`)
    return { object, head: its.body }
  }

  /** Listings do not tell the digests of what is encrypted with a key of the customer's. */
  get #canUseListings(): boolean {
    return this.#namesMetadata && Object.keys(this.#options.content).length === 0
  }

  async readRange(
    key: string,
    generation: string,
    offset: number,
    taker: Taker,
    what: What,
    signal?: AbortSignal,
  ): Promise<number> {
    const range = { range: rangeOf(offset, taker) }
    const receiver: Receiver = {
      ...taker,
      accepts: (answer) =>
        answer.headers['x-goog-generation'] === generation && isRange(answer, offset, taker),
    }
    const answer = await this.#media(key, { generation }, range, what, signal, receiver)
    if (answer.status !== 206 && answer.status !== 200)
      throw failed('changed', what(), `answered ${answer.status}`)
    return received(answer, receiver)
  }

  #media(
    key: string,
    query: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>>,
    what: What,
    signal: AbortSignal | undefined,
    receiver?: Receiver,
  ) {
    return this.#client.request({
      method: 'GET',
      path: ['o', key],
      query: { ...query, alt: 'media' },
      headers: { ...this.#options.content, ...headers },
      what,
      signal,
      accept: [404, 412, 416],
      ...(receiver && { receiver }),
    })
  }

  async listPage(
    { prefix, maxKeys, token, startAfter, delimiter = '/' }: ListedPrefix,
    what: What,
    signal?: AbortSignal,
  ): Promise<GcsPage> {
    const query = {
      fields: listFields,
      maxResults: String(maxKeys),
      ...(prefix !== '' && { prefix }),
      // The markers of folders come with what begins with them.
      ...(delimiter !== '' && { delimiter, includeTrailingDelimiter: 'true' }),
      ...(token !== undefined && { pageToken: token }),
      ...(startAfter !== undefined && { startOffset: startAfter }),
    }
    const asked = { method: 'GET', path: ['o'], query, what, signal } as const
    const { items = [], prefixes = [], nextPageToken = '' } = await this.#client.json(asked)
    if (!Array.isArray(items) || !isTexts(prefixes) || typeof nextPageToken !== 'string')
      throw failed('io', what(), 'the answer is not a listing')
    const { aheadMs } = this.#client
    const objects = items.map((item: unknown) => readObject(item, aheadMs, what))
    return { objects, prefixes, nextToken: nextPageToken }
  }

  hasAny(prefix: string, what: What, signal?: AbortSignal): Promise<boolean> {
    return hasAnyBelow(this, prefix, what, failed, signal)
  }

  async put(key: string, body: Buffer, attributes: FileAttributes, what: What): Promise<void> {
    await this.putWith(key, body, metadataOf(attributes), what)
  }

  async putNew(key: string, body: Buffer, attributes: FileAttributes, what: What): Promise<boolean> {
    return (
      (await this.#putWhole(key, body, metadataOf(attributes), what, { ifGenerationMatch: '0' })) !==
      undefined
    )
  }

  /** Writes a whole object, its content checked by the service. Throws `corrupt`. */
  async putWith(key: string, body: Buffer, metadata: Metadata, what: What): Promise<GcsObject> {
    return (await this.#putWhole(key, body, metadata, what))!
  }

  #putWhole(key: string, body: Buffer, metadata: Metadata, what: What, condition: Condition = {}) {
    const crc32c = crcText(crcOf(body))
    const resource = { ...this.#resource(metadata), name: key, crc32c, md5Hash: hash('md5', body, 'base64') }
    return this.#upload(
      resource,
      (frame) => frame.around(body),
      () => crc32c,
      what,
      condition,
    )
  }

  /** The same of what is not held in memory: it is checked once it is there. */
  async putPieces(key: string, body: PartBody, metadata: Metadata, what: What): Promise<GcsObject> {
    let crc = 0
    const content = (frame: Frame): Sent => {
      crc = 0
      return frame.aroundPieces(body, (piece) => (crc = crcOf(piece, crc)))
    }
    return (await this.#upload(
      { ...this.#resource(metadata), name: key },
      content,
      () => crcText(crc),
      what,
    ))!
  }

  /** Undefined where the condition does not hold. */
  async #upload(
    resource: object,
    content: (frame: Frame) => Sent,
    crc32c: () => string,
    what: What,
    condition: Condition = {},
  ): Promise<GcsObject | undefined> {
    const { kmsKey } = this.#options.making
    const frame = new Frame(resource)
    const { status, body } = await this.#client.request({
      method: 'POST',
      path: ['o'],
      isUpload: true,
      query: {
        ...condition,
        uploadType: 'multipart',
        fields: objectFields,
        ...(kmsKey !== undefined && { kmsKeyName: kmsKey }),
      },
      headers: { ...this.#options.content, 'content-type': frame.contentType },
      body: () => content(frame),
      what,
      ...(Object.keys(condition).length > 0 && { accept: [412] }),
    })
    if (status === 412) return undefined
    const made = objectIn(body, this.#client.aheadMs, what)
    if (made.crc32c !== crc32c())
      throw failed('corrupt', what(), `the service has content of CRC-32C ${made.crc32c}, not ${crc32c()}`)
    return made
  }

  #resource(metadata: Metadata): object {
    const { storageClass } = this.#options.making
    return { contentType: 'application/octet-stream', metadata, ...(storageClass && { storageClass }) }
  }

  async delete(key: string, { tag, metageneration }: GcsObject, what: What): Promise<void> {
    const query = { ifGenerationMatch: tag, ifMetagenerationMatch: metageneration }
    const asked = { method: 'DELETE', path: ['o', key], query, what, accept: [404, 412] } as const
    const answer = await this.#client.request(asked)
    if (answer.status !== 412) return
    // An earlier try of ours may have deleted it.
    if (answer.isRepeated && (await this.properties(key, what)) === undefined) return
    throw answerError(what(), answer)
  }

  /** Nothing to do where they are right. */
  async giveAttributes(key: string, there: GcsObject, attributes: FileAttributes, what: What): Promise<void> {
    await this.giveMetadata(key, there, metadataOf(attributes), what)
  }

  async giveMetadata(key: string, there: GcsObject, metadata: Metadata, what: What): Promise<void> {
    const isRight = (has: Metadata) => Object.entries(metadata).every(([name, value]) => has[name] === value)
    if (isRight(there.metadata)) return
    const body = Buffer.from(JSON.stringify({ metadata }))
    const answer = await this.#client.request({
      method: 'PATCH',
      path: ['o', key],
      query: {
        fields: 'kind',
        ifGenerationMatch: there.tag,
        ifMetagenerationMatch: there.metageneration,
      },
      headers: { ...this.#options.content, 'content-type': 'application/json' },
      body: () => ({ sizeBytes: body.length, content: body }),
      what,
      accept: [412],
    })
    if (answer.status !== 412) return
    // An earlier try of ours may have given them.
    if (answer.isRepeated && isRight((await this.properties(key, what))?.metadata ?? {})) return
    throw answerError(what(), answer)
  }

  /**
   * Copies an object to another bucket of the same access, or to this one, at the service: where both are kept in the same way
   * no byte is copied. Gives the copy.
   */
  async rewrite(
    key: string,
    { tag }: Pick<GcsObject, 'tag'>,
    to: Bucket,
    toKey: string,
    metadata: Metadata,
    what: What,
  ): Promise<GcsObject | CopyOutcome> {
    const { kmsKey } = to.#options.making
    const body = Buffer.from(JSON.stringify(to.#resource(metadata)))
    const headers = {
      ...to.#options.content,
      ...Object.fromEntries(
        Object.entries(this.#options.content).map(([name, value]) => [
          name.replace('x-goog-encryption-', 'x-goog-copy-source-encryption-'),
          value,
        ]),
      ),
      'content-type': 'application/json',
    }
    for (let token = '', copied = -1; ;) {
      const answer = await this.#client.request({
        method: 'POST',
        path: ['o', key, 'rewriteTo', 'b', to.#client.bucket, 'o', toKey],
        query: {
          sourceGeneration: tag,
          ifSourceGenerationMatch: tag,
          fields: `kind,done,rewriteToken,totalBytesRewritten,resource(${objectFields})`,
          ...(token !== '' && { rewriteToken: token }),
          ...(kmsKey !== undefined && { destinationKmsKeyName: kmsKey }),
        },
        headers,
        body: () => ({ sizeBytes: body.length, content: body }),
        what,
        accept: rewriteRefusals,
      })
      if (answer.status === 412) return 'changed'
      if (answer.status === 404 && !isOfBucket(answer)) return 'gone'
      if (answer.status >= 300) return 'refused'
      const { done, rewriteToken, totalBytesRewritten, resource } = readJson(answer.body, what)
      if (done === true) return readObject(resource, this.#client.aheadMs, what)
      const sofar = Number(totalBytesRewritten)
      if (typeof rewriteToken !== 'string' || !(sofar > copied))
        throw failed('io', what(), 'the service copies and gets no further')
      token = rewriteToken
      copied = sofar
    }
  }

  /** Makes an object of the contents of these, one after another. Throws `changed` where one is of another generation. */
  async join(
    key: string,
    sources: readonly Pick<GcsObject, 'key' | 'tag'>[],
    metadata: Metadata,
    what: What,
  ): Promise<GcsObject> {
    const body = Buffer.from(
      JSON.stringify({
        kind: 'storage#composeRequest',
        sourceObjects: sources.map(({ key: name, tag: generation }) => ({
          name,
          generation,
          objectPreconditions: { ifGenerationMatch: generation },
        })),
        destination: this.#resource(metadata),
      }),
    )
    const { kmsKey } = this.#options.making
    const answer = await this.#client.request({
      method: 'POST',
      path: ['o', key, 'compose'],
      query: { fields: objectFields, ...(kmsKey !== undefined && { kmsKeyName: kmsKey }) },
      headers: { ...this.#options.content, 'content-type': 'application/json' },
      body: () => ({ sizeBytes: body.length, content: body }),
      what,
    })
    return objectIn(answer.body, this.#client.aheadMs, what)
  }
}

/** Whatever the reason: the content is sent then, and what is wrong shows there. */
const rewriteRefusals = [400, 403, 404, 405, 412, 501]

/** The body of an upload with metadata (multipart/related): JSON, then the content. */
class Frame {
  readonly contentType: string
  readonly #head: Buffer
  readonly #tail: Buffer

  constructor(resource: object) {
    // Nobody can know it before, and so put it into a content.
    const boundary = randomBytes(24).toString('hex')
    this.contentType = `multipart/related; boundary=${boundary}`
    this.#head = Buffer.from(
      `--${boundary}\r\ncontent-type: application/json; charset=UTF-8\r\n\r\n${JSON.stringify(resource)}\r\n` +
        `--${boundary}\r\ncontent-type: application/octet-stream\r\n\r\n`,
    )
    this.#tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  }

  around(content: Buffer): Sent {
    const sizeBytes = this.#head.length + content.length + this.#tail.length
    if (content.length <= maxCopiedBytes)
      return { sizeBytes, content: Buffer.concat([this.#head, content, this.#tail]) }
    return { sizeBytes, content: piecesAround(this.#head, [content], this.#tail) }
  }

  aroundPieces(body: PartBody, seen: (piece: Buffer) => void): Sent {
    const content = piecesAround(this.#head, piecesOf(body), this.#tail, seen)
    return { sizeBytes: this.#head.length + body.sizeBytes + this.#tail.length, content }
  }
}

/** A content up to this size is sent at once with what is around it; copying a larger one costs more than two more writes. */
const maxCopiedBytes = 256 * 1024

async function* piecesAround(
  head: Buffer,
  content: Iterable<Buffer> | AsyncIterable<Buffer>,
  tail: Buffer,
  seen: (piece: Buffer) => void = () => undefined,
): AsyncGenerator<Buffer> {
  yield head
  for await (const piece of content) {
    seen(piece)
    yield piece
  }
  yield tail
}

/** Whether an answer has the first bytes of this object. */
const isHeadOf = (media: GcsAnswer, { tag, sizeBytes }: GcsObject, bytes: number): boolean =>
  media.headers['x-goog-generation'] === tag && sizeOfHead(media, bytes) === sizeBytes

/** Whether it also says that the metadata are still those of this object. */
const isOf = (media: GcsAnswer, object: GcsObject, bytes: number): boolean =>
  isHeadOf(media, object, bytes) && media.headers['x-goog-metageneration'] === object.metageneration

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

const objectIn = (body: Buffer, aheadMs: number, what: What): GcsObject =>
  readObject(readJson(body, what), aheadMs, what)

/** Throws `io` where it is no object. */
function readObject(json: unknown, aheadMs: number, what: What): GcsObject {
  const fields = (typeof json === 'object' && json !== null ? json : {}) as Readonly<Record<string, unknown>>
  const text = (name: string): string => {
    const value = fields[name]
    return typeof value === 'string' ? value : ''
  }
  const [key, generation, metageneration] = [text('name'), text('generation'), text('metageneration')]
  const sizeBytes = /^\d{1,16}$/.test(text('size')) ? Number(text('size')) : NaN
  if (key === '' || !/^\d{1,20}$/.test(generation) || Number.isNaN(sizeBytes))
    throw failed('io', what(), 'the answer is not an object of Cloud Storage')
  const metadata = Object.fromEntries(
    Object.entries(fields['metadata'] ?? {}).filter(([, value]) => typeof value === 'string'),
  ) as Metadata
  const attributes = attributesOf(metadata)
  const hasOwnTime = attributes.modifiedMs !== undefined
  const [created, updated] = [text('timeCreated'), text('updated')]
  const [createdMs, changedMs] = [Date.parse(created) - aheadMs, Date.parse(updated) - aheadMs]
  const [crc32c, md5] = [text('crc32c'), text('md5Hash')]
  return {
    key,
    sizeBytes,
    tag: generation,
    metageneration,
    metadata,
    crc32c,
    version: `${generation} ${metageneration} ${updated}`,
    attributes:
      hasOwnTime || Number.isNaN(createdMs) ? attributes : { ...attributes, modifiedMs: Date.parse(created) },
    hasOwnTime,
    times: {
      ...(!Number.isNaN(createdMs) && { createdMs }),
      ...(!Number.isNaN(changedMs) && { changedMs }),
    },
    digests: { ...(md5 !== '' && { md5 }), ...(crc32c !== '' && { crc32c }) },
  }
}
