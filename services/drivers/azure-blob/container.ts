import { CursorGuard } from '../http/cursor-guard.ts'
import { createHash, hash } from 'node:crypto'
import type { CopyOutcome } from '../buckets/copies.ts'
import { sizeOfHead } from '../http/ranges.ts'
import type { StoreHeaders } from '../http/transport.ts'
import {
  headerMetadata,
  isFolderMarker,
  mayHaveDigest,
  metadataHeaders,
  readAttributes,
  storeTimes,
  type StoreTimes,
} from './attributes.ts'
import type { BlobClient, BlobRequest } from './client.ts'
import { Folding } from './folding.ts'
import { answerError, type BlobAnswer, failed } from './errors.ts'
import {
  type ListPage,
  type ListedBlob,
  type ListedBlock,
  readBlockList,
  readListPage,
  writeBlockList,
} from './xml.ts'
import {
  type FileAttributes,
  maxPageEntries,
  type Page,
  type PartBody,
  piecesOf,
} from '../contract/driver.ts'

/** Names operation and object for a message. */
export type What = () => string

export interface BlobProperties {
  readonly isFolder: boolean
  readonly sizeBytes: number
  readonly attributes: FileAttributes
  readonly times: StoreTimes
  /** Names in lower case. */
  readonly metadata: Readonly<Record<string, string>>
  readonly etag: string
  /** Of the content, base64, where whoever wrote it gave one. */
  readonly md5?: string
}

/**
 * Codes that say that something stands where a blob was to be made; the last two come from accounts with a hierarchical
 * namespace. Other conflicts (a lease, a policy, a container that is being deleted) say nothing about that.
 */
const somethingStandsThere = ['BlobAlreadyExists', 'PathAlreadyExists', 'ResourceTypeMismatch']

/** Answers that say that a copy is not made, whatever the reason: its content is sent then, and tells it. */
const copyRefusals = [400, 401, 403, 404, 405, 409, 411, 412, 501]

/** Codes that speak of the blob that is copied: nothing else of a copy has a condition that answers so, or must be there. */
const outcomeOfCode: Readonly<Record<string, CopyOutcome>> = {
  SourceConditionNotMet: 'changed',
  ConditionNotMet: 'changed',
  BlobNotFound: 'gone',
}

function refusedAs({ status, code = '' }: Pick<BlobAnswer, 'status' | 'code'>): CopyOutcome {
  // With the status that the service got when it asked for the blob.
  if (code === 'CannotVerifyCopySource' && (status === 404 || status === 412))
    return status === 404 ? 'gone' : 'changed'
  return outcomeOfCode[code] ?? 'refused'
}

/** Headers that say what is copied. */
export type CopySource = Readonly<Record<string, string>>

/** Headers of a write beside content and digest: metadata, and `x-ms-blob-` properties. */
export type WriteHeaders = Readonly<Record<string, string>>

/** How a container is looked at. */
export interface Access {
  /** Only what is listed can be seen, not the container's properties. */
  readonly isListed: boolean
  /** Root of the filesystem in it; empty for all of it. */
  readonly directory: string
}

/** What is listed. */
interface Listed {
  /** What names begin with. */
  readonly prefix: string
  readonly maxResults: number
  /** Permissions and owners are wanted, which only a hierarchical namespace has. */
  readonly isHierarchical?: boolean
}

/** The calls to one container that the driver is made of. All throw StoreErrors; the container missing is `gone`. */
export class Container {
  readonly #client: BlobClient
  readonly #access: Access

  constructor(client: BlobClient, access: Access) {
    this.#client = client
    this.#access = access
  }

  /** Resolves when the root of the filesystem is there and the credentials are taken. */
  async check(what: What, options: Pick<BlobRequest, 'signal' | 'retries' | 'isProbe'> = {}): Promise<void> {
    const { directory, isListed } = this.#access
    if (!isListed)
      await this.#client.request({ method: 'HEAD', query: { restype: 'container' }, what, ...options })
    if (directory === '' && !isListed) return
    const query = {
      comp: 'list',
      maxresults: '1',
      ...(directory !== '' && { prefix: `${directory}/` }),
      restype: 'container',
    }
    const { body } = await this.#client.request({ method: 'GET', query, what, ...options })
    if (directory === '' || parsed(body, readListPage, what).blobs.length > 0) return
    // An empty page says nothing about what follows, and an empty directory has its marker alone.
    if ((await this.properties(directory, what, options.signal))?.isFolder !== true)
      throw failed('gone', what(), 'no such directory; create it or correct directory')
  }

  /** What changes when the container is made anew, or its properties are changed; blobs do not change it. */
  async version(what: What, signal?: AbortSignal): Promise<{ etag: string; changed: string }> {
    const query = { restype: 'container' }
    const { headers } = await this.#client.request({
      method: 'HEAD',
      query,
      what,
      signal,
    })
    return { etag: headers.etag ?? '', changed: headers['last-modified'] ?? '' }
  }

  /** Whether the account says that its namespace is hierarchical; undefined where the credentials are not for that question. */
  async isHierarchical(what: What): Promise<boolean | undefined> {
    const { status, headers } = await this.#client.request({
      method: 'HEAD',
      query: { comp: 'properties', restype: 'account' },
      what,
      // Gateways and old emulators do not know it.
      accept: [400, 401, 403, 404, 405, 501],
    })
    return status < 300 ? headers['x-ms-is-hns-enabled'] === 'true' : status >= 404 ? false : undefined
  }

  /** The first blobs by name, whatever folders they are in. */
  async firstBlobs(count: number, what: What, signal?: AbortSignal): Promise<readonly ListedBlob[]> {
    const query = { comp: 'list', maxresults: String(count), restype: 'container' }
    const { body } = await this.#client.request({ method: 'GET', query, what, signal })
    return parsed(body, readListPage, what).blobs
  }

  /** When the service made a blob, as it says it; undefined when there is none. */
  async creationOf(blob: string, what: What, signal?: AbortSignal): Promise<string | undefined> {
    const { status, headers } = await this.#client.request({
      method: 'HEAD',
      blob,
      what,
      accept: [404],
      signal,
    })
    return status === 404 ? undefined : (headers['x-ms-creation-time'] ?? '')
  }

  /** What stands under the very name, undefined when nothing does. */
  async properties(blob: string, what: What, signal?: AbortSignal): Promise<BlobProperties | undefined> {
    const asked = { method: 'HEAD', blob, what, signal, accept: [404] } as const
    const { status, headers } = await this.#client.request(asked)
    if (status === 404) return undefined
    const md5 = headers['content-md5']
    const properties = this.#propertiesOf(headers, Number(headers['content-length']))
    const isOfContent = typeof md5 === 'string' && mayHaveDigest(headers['x-ms-blob-type'])
    return isOfContent ? { ...properties, md5 } : properties
  }

  /** Like `properties`, with the first bytes of the content, at most `bytes`. */
  async readHead(
    blob: string,
    bytes: number,
    what: What,
    signal?: AbortSignal,
  ): Promise<(BlobProperties & { readonly head: Buffer }) | undefined> {
    const store = { 'x-ms-range': `bytes=0-${bytes - 1}` }
    const answer = await this.#client.request({
      method: 'GET',
      blob,
      store,
      what,
      signal,
      accept: [404, 416],
    })
    if (answer.status === 404) return undefined
    // No range of an empty blob can be read.
    if (answer.status === 416) {
      const properties = await this.properties(blob, what, signal)
      return properties && { ...properties, head: Buffer.alloc(0) }
    }
    const sizeBytes = sizeOfHead(answer, bytes)
    if (sizeBytes === undefined) throw failed('corrupt', what(), 'answered with another range')
    return { ...this.#propertiesOf(answer.headers, sizeBytes), head: answer.body }
  }

  /** One page of what stands below a prefix, up to the next slash of each name. */
  async #listPage(
    page: Listed & { readonly marker: string },
    what: What,
    signal?: AbortSignal,
  ): Promise<ListPage> {
    const query = {
      comp: 'list',
      delimiter: '/',
      include: page.isHierarchical === true ? 'metadata,permissions' : 'metadata',
      maxresults: String(page.maxResults),
      prefix: page.prefix,
      restype: 'container',
      ...(page.marker === '' ? {} : { marker: page.marker }),
    }
    const { body } = await this.#client.request({ method: 'GET', query, what, signal })
    return parsed(body, readListPage, what)
  }

  /**
   * The pages from the first to the last, or as long as somebody wants them. One may be empty, and say nothing about those
   * that follow.
   * @param of with the marker of the first page, if that is not the first of all
   */
  async *pages(
    of: Listed & { readonly marker?: string },
    what: What,
    signal?: AbortSignal,
  ): AsyncGenerator<ListPage> {
    let { marker = '' } = of
    const guard = new CursorGuard(failed, what)
    do {
      const page = await this.#listPage({ ...of, marker }, what, signal)
      yield page
      marker = page.nextMarker === '' ? '' : guard.pass(page.nextMarker)
    } while (marker !== '')
  }

  /**
   * Writes a whole blob, its content checked by the service. False when `create` is set and something stands there.
   * The service stores the digest with the blob.
   */
  async putBlob(
    blob: string,
    body: Buffer,
    options: { readonly headers: WriteHeaders; readonly create: boolean },
    what: What,
  ): Promise<boolean> {
    const contentMd5 = hash('md5', body, 'base64')
    const store = { 'x-ms-blob-content-md5': contentMd5, 'x-ms-blob-type': 'BlockBlob', ...options.headers }
    const condition = options.create ? { ifNoneMatch: '*', accept: somethingStandsThere } : {}
    const answer = await this.#client.request({
      method: 'PUT',
      blob,
      body,
      contentMd5,
      store,
      what,
      ...condition,
    })
    return answer.status !== 409
  }

  /** Deletes the blob of this version; false when nothing stands there. Throws `changed` for another version. */
  async deleteBlob(blob: string, etag: string, what: What): Promise<boolean> {
    const answer = await this.#client.request({
      method: 'DELETE',
      blob,
      ifMatch: etag,
      what,
      accept: [404, 412],
    })
    const { status, isRepeated } = answer
    // The service may say of what is not there that it is no longer of the version.
    const isGone = status === 404 || (status === 412 && (await this.properties(blob, what)) === undefined)
    if (status === 412 && !isGone) throw answerError(what(), answer)
    // An earlier try of ours may have deleted it.
    return !isGone || isRepeated
  }

  /** Replaces all metadata of the blob of this version. Throws `gone`, `changed` for another version. */
  async putMetadata(blob: string, etag: string, headers: WriteHeaders, what: What): Promise<void> {
    const query = { comp: 'metadata' }
    const request = { method: 'PUT', blob, query, ifMatch: etag, store: headers, what } as const
    const answer = await this.#client.request({ ...request, accept: [412] })
    if (answer.status !== 412) return
    // The version that an earlier try of ours made is another, too.
    const found = answer.isRepeated ? await this.properties(blob, what) : undefined
    if (found === undefined || !hasJust(found.metadata, headers)) throw answerError(what(), answer)
  }

  /**
   * Writes a block, its content checked by the service. It wants the digest before the content: of a block that is not held
   * in memory all is read once more.
   * @param part `maxPutBytes`: size up to which a block is held in memory as whole files are
   * @returns false where what stands there takes no blocks
   */
  async putBlock(
    blob: string,
    id: string,
    part: { readonly body: PartBody; readonly maxPutBytes: number },
    what: What,
  ): Promise<boolean> {
    const isHeld = part.body.sizeBytes <= part.maxPutBytes
    const body = isHeld ? await part.body.read(0, part.body.sizeBytes) : part.body
    const contentMd5 = Buffer.isBuffer(body) ? hash('md5', body, 'base64') : await md5Of(body)
    const query = { blockid: id, comp: 'block' }
    const accept = [409]
    const { status } = await this.#client.request({
      method: 'PUT',
      blob,
      query,
      body,
      contentMd5,
      what,
      accept,
    })
    return status !== 409
  }

  /** Scheme, host and port of the service that it is at. */
  get service(): string {
    return this.#client.service
  }

  /** Names a blob of it as what the service is to copy, of this version alone. */
  async copySource(blob: string, etag: string): Promise<CopySource> {
    return { ...(await this.#client.copySource(blob)), 'x-ms-source-if-match': etag }
  }

  /**
   * Has the service copy a whole blob. `stands` when `create` is set and something stands there.
   * @param headers metadata that it has then, in place of the source's; there must be some
   */
  async copyBlob(
    blob: string,
    source: CopySource,
    options: { readonly headers: WriteHeaders; readonly create: boolean },
    what: What,
  ): Promise<'copied' | 'stands' | CopyOutcome> {
    const store = { ...source, 'x-ms-requires-sync': 'true', ...options.headers }
    const condition = options.create ? { ifNoneMatch: '*' } : {}
    const answer = await this.#client.request({
      method: 'PUT',
      blob,
      body: Buffer.alloc(0),
      store,
      what,
      accept: copyRefusals,
      ...condition,
    })
    if (somethingStandsThere.includes(answer.code ?? '')) return 'stands'
    if (answer.status >= 300) return refusedAs(answer)
    return answer.headers['x-ms-copy-status'] === 'success' ? 'copied' : 'refused'
  }

  /** Has the service copy a range of a blob as a block of another one. */
  async copyBlock(
    blob: string,
    id: string,
    source: CopySource,
    { offset, length }: { readonly offset: number; readonly length: number },
    what: What,
  ): Promise<'copied' | CopyOutcome> {
    const answer = await this.#client.request({
      method: 'PUT',
      blob,
      query: { blockid: id, comp: 'block' },
      body: Buffer.alloc(0),
      store: { ...source, 'x-ms-source-range': `bytes=${offset}-${offset + length - 1}` },
      what,
      accept: copyRefusals,
    })
    return answer.status < 300 ? 'copied' : refusedAs(answer)
  }

  #propertiesOf(headers: StoreHeaders, sizeBytes: number): BlobProperties {
    return propertiesOf(headers, sizeBytes, this.#client.aheadMs)
  }

  /** What the listings of a folder come to. */
  foldingOf(prefix: string, mayRecur?: readonly string[]): Folding {
    return new Folding(prefix, () => this.#client.aheadMs, mayRecur)
  }

  /** The entries of a folder, and where its listing goes on after them; see `Driver.list`. */
  async *listed(
    { prefix, maxResults, after, isHierarchical }: Listed & { readonly after: string | undefined },
    what: What,
    signal: AbortSignal,
  ): AsyncGenerator<Page> {
    const from = after === undefined ? undefined : readCursor(after, what)
    const folding = this.foldingOf(prefix, from?.mayRecur)
    const of = {
      prefix,
      maxResults,
      isHierarchical: isHierarchical === true,
      ...(from && { marker: from.marker }),
    }
    for await (const page of this.pages(of, what, signal)) {
      const entries = folding.entries(page)
      const cursor = page.nextMarker === '' ? undefined : writeCursor(page.nextMarker, folding.mayRecur)
      for (let at = 0; at < entries.length; at += maxPageEntries) {
        const end = at + maxPageEntries
        yield {
          entries: entries.slice(at, end),
          ...(cursor !== undefined && end >= entries.length && { cursor }),
        }
      }
    }
    if (folding.found || from !== undefined || prefix === '') return
    if ((await this.properties(prefix.slice(0, -1), what, signal))?.isFolder !== true)
      throw failed('gone', what(), 'no such folder')
  }

  /** Committed blocks, in their order, and uncommitted ones; none when there is no such blob. */
  async blocks(blob: string, what: What): Promise<ListedBlock[]> {
    const query = { blocklisttype: 'all', comp: 'blocklist' }
    const { status, body } = await this.#client.request({ method: 'GET', blob, query, what, accept: [404] })
    return status === 404 ? [] : parsed(body, readBlockList, what)
  }

  async putBlockList(blob: string, ids: readonly string[], headers: WriteHeaders, what: What): Promise<void> {
    const body = writeBlockList(ids)
    const contentMd5 = hash('md5', body, 'base64')
    const store = { 'x-ms-blob-content-type': 'application/octet-stream', ...headers }
    await this.#client.request({
      method: 'PUT',
      blob,
      query: { comp: 'blocklist' },
      body,
      contentMd5,
      store,
      what,
    })
  }
}

async function md5Of(body: PartBody): Promise<string> {
  const digest = createHash('md5')
  for await (const piece of piecesOf(body)) digest.update(piece)
  return digest.digest('base64')
}

/** A listing goes on at a marker of the service, knowing which folders it has given already. */
const writeCursor = (marker: string, mayRecur: readonly string[]): string =>
  JSON.stringify([marker, ...mayRecur])

/** Throws `io` for what is no cursor of ours. */
function readCursor(after: string, what: What): { marker: string; mayRecur: readonly string[] } {
  let json: unknown
  try {
    json = JSON.parse(after)
  } catch {
    json = undefined
  }
  const texts = Array.isArray(json) ? json.filter((text) => typeof text === 'string') : []
  const [marker, ...mayRecur] = texts
  if (marker === undefined) throw failed('io', what(), 'this is no cursor of such a listing')
  return { marker, mayRecur }
}

/** Whether metadata are those that headers give, and no others. */
function hasJust(metadata: Readonly<Record<string, string>>, headers: WriteHeaders): boolean {
  const found = metadataHeaders(metadata)
  const names = Object.keys(headers)
  return names.length === Object.keys(found).length && names.every((name) => found[name] === headers[name])
}

function propertiesOf(headers: StoreHeaders, sizeBytes: number, aheadMs: number): BlobProperties {
  const metadata = headerMetadata(headers)
  const access = {
    permissions: textOf(headers['x-ms-permissions']),
    owner: textOf(headers['x-ms-owner']),
    group: textOf(headers['x-ms-group']),
  }
  const attributes = readAttributes(metadata, headers['last-modified'] ?? '', access)
  const times = storeTimes(headers['x-ms-creation-time'] ?? '', headers['last-modified'] ?? '', aheadMs)
  return {
    isFolder: isFolderMarker(metadata),
    sizeBytes,
    attributes,
    times,
    metadata,
    etag: headers.etag ?? '',
  }
}

const textOf = (value: string | string[] | undefined): string => (typeof value === 'string' ? value : '')

function parsed<T>(body: Buffer, read: (xml: Buffer) => T, what: What): T {
  try {
    return read(body)
  } catch (error) {
    throw failed('io', what(), 'the answer is not the XML that the Blob service sends', { cause: error })
  }
}
