import { azureProperties } from '../../../subjects/filesystems/azure-properties.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { fileMetadata, folderMetadata, metadataHeaders } from '../azure-blob/attributes.ts'
import { BlobClient } from '../azure-blob/client.ts'
import { Container, type BlobProperties, type What, type WriteHeaders } from '../azure-blob/container.ts'
import { blobEndpoint } from '../azure-blob/endpoint.ts'
import { failed } from '../azure-blob/errors.ts'
import { blobName, refuseName, writable } from '../azure-blob/names.ts'
import { removeBlob } from '../azure-blob/remove.ts'
import { BlobFile } from '../azure-blob/source-file.ts'
import {
  checkParts,
  maxBlobBytes,
  maxBlocks,
  newUpload,
  partBytes,
  readUpload,
  writtenParts,
} from '../azure-blob/upload.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import { type PropertyValues, readProperties } from '../contract/properties.ts'
import { ClientTokens, endpointOf } from '../http/client-credentials.ts'
import { requireAddresses, StoreAddress } from '../http/store-address.ts'
import type { TransportLimits } from '../http/transport.ts'
import { type Authorizer, SharedKeySigner, TokenAuthorizer } from '../azure-blob/signing.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import { refuseUnlistable } from '../http/xml.ts'
import { lossesOf } from '../contract/metadata-values.ts'
import { textFromPath } from '../paths/path-text.ts'
import {
  nothingLost,
  type Capabilities,
  type ClockOffset,
  type Continuation,
  type Driver,
  type Entry,
  type Listing,
  type Location,
  type FileAttributes,
  type Losses,
  type NewFile,
  type Page,
  type PartBody,
  type SourceFile,
  type StoreIdentity,
  type StorePath,
  type StoreWitness,
  type Upload,
} from '../contract/driver.ts'

type Options = FilesystemOptions<'adls2-shared-key' | 'adls2-oauth2'>

/** What `open` reads at once: many files are smaller and need no second request then. */
const headBytes = 128 * 1024

/** Blobs that are noted with the identity of a container: some may go while others stay, and each is asked for by itself. */
const maxWitnesses = 8

/** The service counts time in seconds; what is read meanwhile and written after it may be of the next one. */
const secondMs = 1_000

/** `probe` answers a person who waits: one more try, then the truth. */
const probeRetries = 1

/** What tokens are for, in every cloud of Azure's. */
const storageResource = 'https://storage.azure.com'

/**
 * An Azure container through its Blob endpoint, with and without hierarchical namespace. A folder is
 * an empty blob marked as one, or just the beginning of other blobs' names.
 */
export class Adls2Driver implements Driver {
  readonly capabilities: Capabilities
  readonly #addresses: { readonly address: StoreAddress; readonly field: string }[]
  readonly #client: BlobClient
  readonly #container: Container
  readonly #property: PropertyValues<typeof azureProperties>
  /** For messages. */
  readonly #place: string

  /**
   * Throws GantryError NOT_ACCEPTED for an endpoint or a property that cannot be honoured.
   * @param bounds where stores may be; without them anywhere
   */
  constructor(options: Options, bounds?: StoreBounds) {
    const property = readProperties(azureProperties, options.additionalProperties)
    const maxPutBytes = property('fs.azure.write.request.size')
    const concurrency = property('fs.azure.concurrentRequestCount.out')
    const endpoint = blobEndpoint(options)
    const limits = {
      connectTimeoutMs: property('fs.azure.http.connection.timeout'),
      idleTimeoutMs: property('fs.azure.http.read.timeout'),
      connections: concurrency,
      retries: property('fs.azure.io.retry.max.retries'),
      minBackoffMs: property('fs.azure.io.retry.min.backoff.interval'),
      maxBackoffMs: property('fs.azure.io.retry.max.backoff.interval'),
    }
    const address = bounds && new StoreAddress(endpoint, bounds)
    this.#addresses = address === undefined ? [] : [{ address, field: 'endpoint' }]
    this.#client = new BlobClient(endpoint, this.#authorizer(options, limits, bounds), limits, address)
    this.#container = new Container(this.#client)
    this.#property = property
    this.#place = `container ${options.containerName} of account ${options.accountName}`
    this.capabilities = {
      storeName: this.#place,
      folders: 'implied',
      listsAttributes: true,
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
    for (const { address, field } of this.#addresses) requireAddresses([address], field)
  }

  /** Throws GantryError NOT_ACCEPTED for an address that would get the secret in the clear. */
  #authorizer(options: Options, limits: TransportLimits, bounds: StoreBounds | undefined): Authorizer {
    if ('sharedKey' in options) return new SharedKeySigner(options.accountName, options.sharedKey)
    const field = 'oauthClientEndpoint'
    const endpoint = new URL(options.oauthClientEndpoint)
    if (endpoint.protocol !== 'https:' && options.insecure !== true)
      throw notAccepted(field, 'is not https: the secret would be sent in the clear')
    const address = bounds && new StoreAddress(endpointOf(endpoint), bounds)
    if (address !== undefined) this.#addresses.push({ address, field })
    const credentials = {
      endpoint,
      clientId: options.oauthClientId,
      clientSecret: options.oauthClientSecret,
      // The two versions of Microsoft's endpoint have their own word for what a token is for.
      fields: endpoint.pathname.includes('/v2.0/')
        ? { scope: `${storageResource}/.default` }
        : { resource: storageResource },
    }
    return new TokenAuthorizer(new ClientTokens(credentials, limits, address))
  }

  probe(signal: AbortSignal): Promise<void> {
    const what = () => `access to ${this.#place}`
    return this.#container.check(what, { signal, retries: probeRetries, isProbe: true })
  }

  /**
   * A container has no date of creation. Its version changes when it is made anew, and with its metadata and policies too:
   * then a blob that was there before, and still has its date of creation, proves that it is the same one.
   */
  async identify(
    was: StoreIdentity | undefined,
    signal?: AbortSignal,
  ): Promise<{ readonly identity: StoreIdentity; readonly isOther: boolean }> {
    const what = () => `identity of ${this.#place}`
    const { etag, changed } = await this.#container.version(what, signal)
    if (was?.version === etag) return { identity: was, isOther: false }
    const isOther = was !== undefined && !(await this.#hasOneOf(was.witnesses, what, signal))
    const blobs = await this.#container.firstBlobs(maxWitnesses, what, signal)
    const witnesses = blobs
      .filter(({ created }) => created !== '')
      .map(({ name, created }) => ({ file: name, created }))
    return { identity: { version: etag, changed, witnesses }, isOther }
  }

  async #hasOneOf(witnesses: readonly StoreWitness[], what: What, signal?: AbortSignal): Promise<boolean> {
    for (const { file, created } of witnesses)
      if ((await this.#container.creationOf(file, what, signal)) === created) return true
    return false
  }

  clockOffset(): ClockOffset | undefined {
    return this.#client.clockOffset
  }

  async *list(folder: StorePath, signal: AbortSignal, { after, limit }: Listing = {}): AsyncIterable<Page> {
    const what = this.#what('list', folder)
    const name = blobName(folder)
    if (name === undefined) throw failed('gone', what(), 'no such folder')
    const prefix = name === '' ? '' : `${name}/`
    const maxResults = Math.min(this.#property('fs.azure.list.max.results'), limit ?? Infinity)
    yield* this.#container.listed({ prefix, maxResults, after }, what, signal)
  }

  async stat(path: StorePath): Promise<Entry | undefined> {
    const what = this.#what('stat', path)
    const blob = blobName(path)
    if (blob === undefined) return undefined
    const folder = {
      name: path.subarray(path.lastIndexOf('/') + 1),
      type: 'folder',
      sizeBytes: 0,
    } as const
    if (blob === '') {
      await this.#container.check(what)
      return folder
    }
    const found = await this.#container.properties(blob, what)
    if (found === undefined) return (await this.#hasChildren(blob, what)) ? folder : undefined
    const { isFolder, sizeBytes, attributes, times, md5 } = found
    return isFolder
      ? { ...folder, ...attributes, ...times }
      : {
          name: folder.name,
          type: 'file',
          sizeBytes,
          ...attributes,
          ...times,
          ...(md5 && { digests: { md5 } }),
        }
  }

  async attributesOf(path: StorePath): Promise<FileAttributes | undefined> {
    const what = this.#what('attributes of', path)
    const blob = blobName(path)
    if (blob === undefined) return undefined
    const found = blob === '' ? undefined : await this.#container.properties(blob, what)
    if (found !== undefined) return found.attributes
    return blob === '' || (await this.#hasChildren(blob, what)) ? {} : undefined
  }

  async open(path: StorePath): Promise<SourceFile> {
    const what = this.#what('open', path)
    const requestBytes = this.#property('fs.azure.read.request.size')
    const blob = blobName(path)
    if (blob === undefined) throw failed('gone', what(), 'no such file')
    if (blob === '') throw failed('unsupported', what(), 'it is a folder')
    const opened = await this.#container.readHead(blob, Math.min(headBytes, requestBytes), what)
    if (opened?.isFolder ?? (await this.#hasChildren(blob, what)))
      throw failed('unsupported', what(), 'it is a folder')
    if (opened === undefined) throw failed('gone', what(), 'no such file')
    return new BlobFile(this.#client, { ...opened, blob }, requestBytes, (operation) =>
      this.#what(operation, path)(),
    )
  }

  refuses(path: StorePath, { type, sizeBytes }: Pick<Entry, 'type' | 'sizeBytes'>): string | undefined {
    if (type === 'symlink') return 'it is a symbolic link, and Azure keeps files and folders only'
    if (type === 'other') return 'it is neither file nor folder, and Azure keeps nothing else'
    if (sizeBytes > maxBlobBytes)
      return `it has ${sizeBytes} bytes, Azure's limit is ${maxBlobBytes} (190.7 TiB)`
    return refuseName(path)
  }

  async makeFolder(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    const what = this.#what('make folder', path)
    if (path.length === 0) {
      await this.#container.check(what)
      return nothingLost
    }
    const blob = writable(path, what)
    const headers = folderMetadata(attributes)
    if (!(await this.#container.putBlob(blob, Buffer.alloc(0), { headers, create: true }, what))) {
      const there = await this.#container.properties(blob, what)
      if (there?.isFolder === false) throw failed('unsupported', what(), 'a file stands there')
      if (there === undefined) throw failed('io', what(), 'what stood there has gone meanwhile')
      await this.#putMetadata(blob, there, headers, what)
    }
    return lossesOf(attributes)
  }

  /** Creates first and replaces second: the usual case costs one request, and the marker of a folder is never replaced. */
  async put(path: StorePath, bytes: Buffer, attributes: FileAttributes): Promise<Losses> {
    const what = this.#what('put', path)
    const blob = writable(path, what)
    const headers = fileMetadata(attributes)
    if (!(await this.#container.putBlob(blob, bytes, { headers, create: true }, what))) {
      await this.#refuseFolder(blob, what)
      await this.#container.putBlob(blob, bytes, { headers, create: false }, what)
    }
    return lossesOf(attributes)
  }

  async remove(path: StorePath): Promise<boolean> {
    const what = this.#what('remove', path)
    if (path.length === 0) throw failed('unsupported', what(), 'it is the root')
    const blob = blobName(path)
    return blob === undefined ? false : removeBlob(this.#container, blob, what)
  }

  async version(path: StorePath): Promise<string | undefined> {
    const blob = blobName(path)
    if (blob === undefined || blob === '') return undefined
    const there = await this.#container.properties(blob, this.#what('version of', path))
    return there?.isFolder === false ? there.etag : undefined
  }

  async removeVersion(path: StorePath, version: string): Promise<boolean> {
    const blob = blobName(path)
    if (blob === undefined || blob === '') return false
    return this.#container.deleteBlob(blob, version, this.#what('remove', path))
  }

  async setAttributes(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    const what = this.#what('set attributes of', path)
    const blob = writable(path, what)
    const there = await this.#container.properties(blob, what)
    if (there === undefined) {
      if (!(await this.#hasChildren(blob, what))) throw failed('gone', what(), 'nothing is there')
      return this.makeFolder(path, attributes)
    }
    const headers = there.isFolder ? folderMetadata(attributes) : fileMetadata(attributes)
    await this.#putMetadata(blob, there, headers, what)
    return lossesOf(attributes)
  }

  async beginUpload(
    path: StorePath,
    { sizeBytes, tag }: NewFile,
    continuation?: Continuation,
  ): Promise<Upload> {
    const what = this.#what('begin upload', path)
    const blob = writable(path, what)
    if (sizeBytes > maxBlobBytes)
      throw failed('too-large', what(), `${sizeBytes} bytes, the limit is ${maxBlobBytes}`)
    await this.#refuseFolder(blob, what)
    const partBytes = this.capabilities.parts.sizeFor(sizeBytes)
    const blocks = await this.#container.blocks(blob, what)
    return newUpload(path, { sizeBytes, partBytes, tag, version: continuation?.version }, blocks, what)
  }

  async writePart(upload: Upload, index: number, _offset: number, body: PartBody): Promise<void> {
    const { path, blockId } = readUpload(upload)
    const what = this.#what(`write part ${index}`, path)
    if (index >= maxBlocks) throw failed('too-large', what(), `a file has at most ${maxBlocks} parts`)
    const { maxPutBytes } = this.capabilities
    await this.#container.putBlock(writable(path, what), blockId(index), { body, maxPutBytes }, what)
  }

  async writtenParts(upload: Upload, partBytes: number): Promise<readonly number[]> {
    const { path } = readUpload(upload)
    const what = this.#what('look at the parts of', path)
    return writtenParts(upload, partBytes, await this.#container.blocks(writable(path, what), what))
  }

  async commitUpload(upload: Upload, partCount: number, attributes: FileAttributes): Promise<Losses> {
    const { path, blockId } = readUpload(upload)
    const what = this.#what('commit', path)
    const blob = writable(path, what)
    const ids = Array.from({ length: partCount }, (_, index) => blockId(index))
    const isCommitted = checkParts(upload, ids, await this.#container.blocks(blob, what), what)
    const headers = fileMetadata(attributes)
    const there = isCommitted ? await this.#container.properties(blob, what) : undefined
    // What an earlier upload of the very same committed may have had other attributes.
    if (there !== undefined) await this.#putMetadata(blob, there, headers, what)
    else await this.#container.putBlockList(blob, ids, headers, what)
    return lossesOf(attributes)
  }

  /**
   * Nothing to do: blocks without a commit are invisible, and Azure drops them with the next write to that name or after
   * a week. No call drops them sooner without making the name visible.
   */
  async abortUpload(): Promise<void> {}

  locate(path: StorePath): Location {
    return { own: { device: this.#place, path }, mounted: [] }
  }

  async close(): Promise<void> {
    this.#client.close()
  }

  async #hasChildren(blob: string, what: What): Promise<boolean> {
    if (refuseUnlistable(blob) !== undefined) return false
    for await (const { blobs, prefixes } of this.#container.pages(
      { prefix: `${blob}/`, maxResults: 1 },
      what,
    ))
      if (blobs.length + prefixes.length > 0) return true
    return false
  }

  /** Adds to the metadata of a blob, or replaces some; nothing to do where they are right. */
  async #putMetadata(blob: string, there: BlobProperties, headers: WriteHeaders, what: What): Promise<void> {
    const found = metadataHeaders(there.metadata)
    if (Object.entries(headers).every(([name, value]) => found[name] === value)) return
    await this.#container.putMetadata(blob, there.etag, { ...found, ...headers }, what)
  }

  async #refuseFolder(blob: string, what: What): Promise<void> {
    const there = await this.#container.properties(blob, what)
    if (there?.isFolder === true) throw failed('unsupported', what(), 'a folder stands there')
  }

  #what(operation: string, path: StorePath): What {
    return () => `${operation} ${textFromPath(path)} in ${this.#place}`
  }
}
