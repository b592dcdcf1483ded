import { abortable } from '../../../broker/common/abortable.ts'
import { nameOf } from '../http/connection.ts'
import { maxFeedAnswerBytes } from '../feeds/answers.ts'
import { azureTokenProperties } from '../../../subjects/filesystems/azure-token-properties.ts'
import {
  azureCredentialOption,
  azureIneffectiveProperties,
  azureProperties,
  azurePropertyFamilies,
} from '../../../subjects/filesystems/azure-properties.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { fileMetadata, folderMetadata, headerMetadata, metadataHeaders } from '../azure-blob/attributes.ts'
import { BlobClient } from '../azure-blob/client.ts'
import { Container, type BlobProperties, type What, type WriteHeaders } from '../azure-blob/container.ts'
import { blobEndpoint, dataLakeEndpoint, isOfAzure } from '../azure-blob/endpoint.ts'
import { failed } from '../azure-blob/errors.ts'
import { blobName, refuseDirectory, refuseName, writable } from '../azure-blob/names.ts'
import { removeBlob } from '../azure-blob/remove.ts'
import { Paths, withoutKept } from '../azure-blob/paths.ts'
import { BlobFile } from '../azure-blob/source-file.ts'
import { BlobCopy, BlobPlace } from '../azure-blob/store-copy.ts'
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
import type { HostPermission } from '../host-credentials/permission.ts'
import { beyondJobs, jobSignal } from '../http/job-signal.ts'
import { requireAddresses, StoreAddress } from '../http/store-address.ts'
import { notAccepted } from '../../../subjects/kit/errors.ts'
import { feedChanges } from './change-feed/changes.ts'
import { credentialsOf } from './credentials.ts'
import { queueAt, queueChanges } from './event-queue.ts'
import { StorageQueue } from './storage-queue.ts'
import { refuseUnlistable } from '../http/xml.ts'
import { lossesOf } from '../contract/metadata-values.ts'
import { joinPath, textFromPath } from '../paths/path-text.ts'
import {
  nothingLost,
  type Capabilities,
  type Changes,
  type ClockOffset,
  type Continuation,
  type Driver,
  type Entry,
  type Listing,
  type Location,
  type FileAttributes,
  type ReadOptions,
  type Losses,
  type NewFile,
  type Page,
  type PartBody,
  type SourceFile,
  type StoreCopy,
  type StoreIdentity,
  type StorePath,
  type StoreWitness,
  type Upload,
} from '../contract/driver.ts'

type Options = FilesystemOptions<'adls2-shared-key' | 'adls2-oauth2' | 'adls2-sas'>

/** What `open` reads at once: many files are smaller and need no second request then. */
const headBytes = 128 * 1024

/** Blobs that are noted with the identity of a container: some may go while others stay, and each is asked for by itself. */
const maxWitnesses = 8

/** The service counts time in seconds; what is read meanwhile and written after it may be of the next one. */
const secondMs = 1_000

/** `probe` answers a person who waits: one more try, then the truth. */
const probeRetries = 1

const hierarchicalNotice =
  'the account has a hierarchical namespace; its protocol was tested against a double made from the documentation (docs/AZURE.md)'

const familyPattern = new RegExp(`^(?:${azurePropertyFamilies.join('|')})$`)

/**
 * An Azure container, or a directory in one, through its Blob endpoint. In a flat namespace a folder is an empty blob marked
 * as one, or just the beginning of other blobs' names; in a hierarchical one folders, names and permissions go through the
 * Data Lake endpoint.
 */
export class Adls2Driver implements Driver {
  #capabilities: Capabilities
  /** Of an account with a hierarchical namespace, once that is known. */
  rename?: NonNullable<Driver['rename']>
  readonly identify?: NonNullable<Driver['identify']>
  readonly #addresses: { readonly address: StoreAddress; readonly field: string }[]
  readonly direct: BlobPlace
  readonly #copies = new WeakMap<BlobPlace, StoreCopy>()
  readonly changes?: Changes
  readonly #permission: HostPermission | undefined
  readonly #client: BlobClient
  /** At the Data Lake endpoint. */
  readonly #lake: BlobClient | undefined
  readonly #container: Container
  /** Undefined where the namespace is known to be flat. */
  readonly #paths: Paths | undefined
  /** That of the account, as soon as it was asked. */
  #namespace: Promise<Paths | undefined> | undefined
  readonly #property: PropertyValues<typeof azureProperties>
  /** Of the filesystem in the container, empty for all of it. */
  readonly #root: StorePath
  readonly #containerName: string
  /** What no other container has. */
  readonly #device: string
  /** For messages. */
  readonly #place: string

  /**
   * Throws GantryError NOT_ACCEPTED for an endpoint or a property that cannot be honoured.
   * @param bounds where stores may be; without them anywhere
   */
  constructor(options: Options, bounds?: StoreBounds) {
    const { additionalProperties } = options
    for (const name of Object.keys(additionalProperties ?? {})) {
      const option = azureCredentialOption(name)
      if (option === undefined) continue
      const problem = `is a credential, and these are sealed as options alone; use instead: ${option}`
      throw notAccepted(`additionalProperties.${name}`, problem)
    }
    const property = readProperties(
      azureProperties,
      additionalProperties,
      (name) =>
        azureIneffectiveProperties.includes(name) ||
        familyPattern.test(name) ||
        Object.hasOwn(azureTokenProperties, name),
    )
    const maxPutBytes = property('fs.azure.write.request.size')
    const concurrency = property('fs.azure.concurrentRequestCount.out')
    const endpoint = blobEndpoint(options)
    const directory = 'sasToken' in options ? (options.directory ?? '') : ''
    refuseDirectory(directory)
    const limits = {
      connectTimeoutMs: property('fs.azure.http.connection.timeout'),
      idleTimeoutMs: property('fs.azure.http.read.timeout'),
      connections: concurrency,
      retries: property('fs.azure.io.retry.max.retries'),
      minBackoffMs: property('fs.azure.io.retry.min.backoff.interval'),
      maxBackoffMs: property('fs.azure.io.retry.max.backoff.interval'),
    }
    const address = bounds && new StoreAddress(endpoint, bounds)
    const recipient = { endpoint, address, isCloud: isOfAzure(endpoint.host), field: 'endpoint' }
    const queue = queueAt(options, endpoint, bounds)
    const ofFeed = { ...limits, maxAnswerBytes: maxFeedAnswerBytes }
    const recipients = queue === undefined ? [recipient] : [recipient, queue]
    const credentials = credentialsOf(options, recipients, limits, bounds)
    this.#permission = credentials.permission
    this.#addresses = address === undefined ? [] : [{ address, field: 'endpoint' }]
    if (credentials.address !== undefined) this.#addresses.push(credentials.address)
    if (queue !== undefined) {
      credentials.sas?.requireQueues()
      if (queue.address !== undefined) this.#addresses.push({ address: queue.address, field: queue.field })
      this.changes = queueChanges(options, queue, () => {
        const client = new BlobClient(queue.endpoint, credentials.authorizer(), ofFeed, queue.address)
        return new StorageQueue(queue.url, client)
      })
    }
    const told = feedChanges(options, {
      sas: credentials.sas,
      open: (at) => new BlobClient(at, credentials.authorizer(), ofFeed, address),
    })
    if (told !== undefined) this.changes = told
    const authorizer = credentials.authorizer()
    this.#client = new BlobClient(endpoint, authorizer, limits, address)
    // Such a signature gives no access to the properties of the container.
    const isListed = credentials.sas !== undefined && credentials.sas.scope !== 'account'
    this.#container = new Container(this.#client, { isListed, directory })
    if (!isListed) this.identify = (was, signal) => this.#identify(was, signal)
    this.direct = new BlobPlace(this.#container, `${options.accountName} at ${this.#client.service}`)
    this.#property = property
    this.#root = Buffer.from(directory)
    this.#containerName = `container ${options.containerName} of account ${options.accountName}`
    // Where the account is no part of the host's name, as at an emulator, it may be that of another service too.
    const isOfHost = endpoint.containerPath === `/${options.containerName}`
    this.#device = isOfHost ? this.#containerName : `${this.#containerName} at ${nameOf(endpoint)}`
    this.#place = directory === '' ? this.#containerName : `directory ${directory} of ${this.#containerName}`
    const isHierarchical = property('fs.azure.account.hns.enabled')
    if (isHierarchical !== 'false') {
      const lake = dataLakeEndpoint(endpoint)
      const lakeAddress = bounds && new StoreAddress(lake, bounds)
      if (lakeAddress !== undefined) this.#addresses.push({ address: lakeAddress, field: 'endpoint' })
      this.#lake = new BlobClient(lake, authorizer, limits, lakeAddress)
      this.#paths = new Paths(this.#lake, options.containerName)
    }
    this.#capabilities = {
      storeName: this.#place,
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
      clock: { ownGrainMs: secondMs, tickMs: 2 * secondMs },
      concurrency,
    }
    if (isHierarchical === 'true') this.#namespace = Promise.resolve(this.#hierarchical())
  }

  /** `folders` is what is known of them so far: the account is asked with the first call. */
  get capabilities(): Capabilities {
    return this.#capabilities
  }

  /** What an account with a hierarchical namespace can do besides; undefined for a flat one. It is asked once. */
  #hierarchy(): Promise<Paths | undefined> {
    this.#namespace ??= beyondJobs(() => this.#askNamespace()).catch((error: unknown) => {
      this.#namespace = undefined
      throw error
    })
    return abortable(this.#namespace, jobSignal())
  }

  async #askNamespace(): Promise<Paths | undefined> {
    if (this.#paths === undefined) return undefined
    const what = () => `kind of namespace of ${this.#place}`
    const said = await this.#container.isHierarchical(what)
    const isHierarchical = said ?? (await this.#paths.hasAccessControl(what))
    return isHierarchical ? this.#hierarchical() : undefined
  }

  #hierarchical(): Paths | undefined {
    this.#capabilities = { ...this.#capabilities, folders: 'real', notice: hierarchicalNotice }
    this.rename = (path, to) => this.#rename(path, to)
    return this.#paths
  }

  async #rename(path: StorePath, to: StorePath): Promise<void> {
    const what = this.#what('rename', path)
    const blob = this.#blob(path)
    if (blob === undefined) throw failed('gone', what(), 'nothing is there')
    const goal = this.#writable(to, what)
    await (await this.#hierarchy())?.rename(blob, goal, what)
  }

  requirePlace(): void {
    for (const { address, field } of this.#addresses) requireAddresses([address], field)
    this.#permission?.require()
  }

  async probe(signal: AbortSignal): Promise<void> {
    const what = () => `access to ${this.#place}`
    await this.#container.check(what, { signal, retries: probeRetries, isProbe: true })
    await this.#hierarchy()
  }

  /**
   * A container has no date of creation. Its version changes when it is made anew, and with its metadata and policies too:
   * then a blob that was there before, and still has its date of creation, proves that it is the same one.
   */
  async #identify(
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

  /** The blob's name, or undefined when no blob can have it. */
  #blob(path: StorePath): string | undefined {
    return blobName(joinPath(this.#root, path))
  }

  /** The name for a write. Throws `name` where `refuses` gives a reason. */
  #writable(path: StorePath, what: What): string {
    return writable(path.length === 0 ? path : joinPath(this.#root, path), what)
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
    const name = this.#blob(folder)
    if (name === undefined) throw failed('gone', what(), 'no such folder')
    const prefix = name === '' ? '' : `${name}/`
    const maxResults = Math.min(this.#property('fs.azure.list.max.results'), limit ?? Infinity)
    const isHierarchical = (await this.#hierarchy()) !== undefined
    for await (const page of this.#container.listed(
      { prefix, maxResults, after, isHierarchical },
      what,
      signal,
    ))
      yield isHierarchical ? { ...page, entries: await this.#withFolders(prefix, page.entries, what) } : page
  }

  /** Listings of a hierarchical namespace tell the names of folders alone: they are asked for, many at once. */
  #withFolders(prefix: string, entries: readonly Entry[], what: What): Promise<Entry[]> {
    return Promise.all(
      entries.map(async (entry) => {
        if (entry.type !== 'folder') return entry
        const found = await this.#container.properties(prefix + entry.name.toString(), what)
        return found?.isFolder === true ? { ...entry, ...found.attributes, ...found.times } : entry
      }),
    )
  }

  async stat(path: StorePath, signal?: AbortSignal): Promise<Entry | undefined> {
    const what = this.#what('stat', path)
    const blob = this.#blob(path)
    if (blob === undefined) return undefined
    const folder = {
      name: path.subarray(path.lastIndexOf('/') + 1),
      type: 'folder',
      sizeBytes: 0,
    } as const
    if (path.length === 0) {
      await this.#container.check(what, { signal })
      return folder
    }
    const found = await this.#container.properties(blob, what, signal)
    if (found === undefined) return (await this.#hasChildren(blob, what, signal)) ? folder : undefined
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

  async attributesOf(path: StorePath, options: ReadOptions = {}): Promise<FileAttributes | undefined> {
    const what = this.#what('attributes of', path)
    const blob = this.#blob(path)
    if (blob === undefined) return undefined
    const { signal } = options
    const found = path.length === 0 ? undefined : await this.#container.properties(blob, what, signal)
    if (found !== undefined) return this.#withExtended(blob, found.attributes, options, what)
    return path.length === 0 || (await this.#hasChildren(blob, what, signal)) ? {} : undefined
  }

  /** With the access control list where it was asked for, and the account has such. */
  async #withExtended(
    blob: string,
    attributes: FileAttributes,
    { extended = false, signal }: ReadOptions,
    what: What,
  ): Promise<FileAttributes> {
    const paths = extended ? await abortable(this.#hierarchy(), signal) : undefined
    return paths === undefined
      ? attributes
      : { ...attributes, extended: await paths.extended(blob, what, signal) }
  }

  async open(path: StorePath, options: ReadOptions = {}): Promise<SourceFile> {
    const what = this.#what('open', path)
    const requestBytes = this.#property('fs.azure.read.request.size')
    const blob = this.#blob(path)
    if (blob === undefined) throw failed('gone', what(), 'no such file')
    if (path.length === 0) throw failed('unsupported', what(), 'it is a folder')
    const { contentLater, signal } = options
    const opened =
      contentLater === true
        ? await this.#withoutHead(blob, what, signal)
        : await this.#container.readHead(blob, Math.min(headBytes, requestBytes), what, signal)
    if (opened?.isFolder ?? (await this.#hasChildren(blob, what, signal)))
      throw failed('unsupported', what(), 'it is a folder')
    if (opened === undefined) throw failed('gone', what(), 'no such file')
    const attributes = await this.#withExtended(blob, opened.attributes, options, what)
    const describe = (operation: string) => this.#what(operation, path)()
    return new BlobFile(this.#client, { ...opened, attributes, blob }, requestBytes, describe, signal)
  }

  async #withoutHead(blob: string, what: What, signal: AbortSignal | undefined) {
    const found = await this.#container.properties(blob, what, signal)
    return found && { ...found, head: Buffer.alloc(0) }
  }

  refuses(path: StorePath, { type, sizeBytes }: Pick<Entry, 'type' | 'sizeBytes'>): string | undefined {
    if (type === 'symlink') return 'it is a symbolic link, and Azure keeps files and folders only'
    if (type === 'other') return 'it is neither file nor folder, and Azure keeps nothing else'
    if (sizeBytes > maxBlobBytes)
      return `it has ${sizeBytes} bytes, Azure's limit is ${maxBlobBytes} (190.7 TiB)`
    return refuseName(joinPath(this.#root, path))
  }

  async makeFolder(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    const what = this.#what('make folder', path)
    if (path.length === 0) {
      await this.#container.check(what)
      return nothingLost
    }
    const blob = this.#writable(path, what)
    const headers = folderMetadata(attributes)
    const paths = await this.#hierarchy()
    const isMade =
      paths === undefined
        ? await this.#container.putBlob(blob, Buffer.alloc(0), { headers, create: true }, what)
        : await paths.makeFolder(blob, headerMetadata(headers), attributes, what)
    if (!isMade) {
      const there = await this.#container.properties(blob, what)
      if (there?.isFolder === false) throw failed('unsupported', what(), 'a file stands there')
      if (there === undefined) throw failed('io', what(), 'what stood there has gone meanwhile')
      await this.#putMetadata(blob, there, headers, what)
    }
    return this.#withAccess(blob, attributes, { isNew: isMade }, what)
  }

  /** Gives what was written its permissions where the service keeps such. */
  async #withAccess(
    blob: string,
    attributes: FileAttributes,
    { isNew }: { readonly isNew: boolean },
    what: What,
  ): Promise<Losses> {
    const losses = lossesOf(attributes)
    const paths = await this.#hierarchy()
    if (paths === undefined) return losses
    const { mode: _, ...others } = attributes
    await paths.setAccess(blob, isNew ? others : attributes, what)
    return withoutKept(losses, attributes)
  }

  /** Creates first and replaces second: the usual case costs one request, and the marker of a folder is never replaced. */
  async put(path: StorePath, bytes: Buffer, attributes: FileAttributes): Promise<Losses> {
    const what = this.#what('put', path)
    const blob = this.#writable(path, what)
    const headers = fileMetadata(attributes)
    if (!(await this.#container.putBlob(blob, bytes, { headers, create: true }, what))) {
      await this.#refuseFolder(blob, what)
      await this.#container.putBlob(blob, bytes, { headers, create: false }, what)
    }
    return this.#withAccess(blob, attributes, { isNew: false }, what)
  }

  async putNew(path: StorePath, bytes: Buffer, attributes: FileAttributes): Promise<Losses> {
    const what = this.#what('put', path)
    const blob = this.#writable(path, what)
    const headers = fileMetadata(attributes)
    if (!(await this.#container.putBlob(blob, bytes, { headers, create: true }, what)))
      throw failed('changed', what(), 'something stands there already')
    return this.#withAccess(blob, attributes, { isNew: false }, what)
  }

  async remove(path: StorePath): Promise<boolean> {
    const what = this.#what('remove', path)
    if (path.length === 0) throw failed('unsupported', what(), 'it is the root')
    const blob = this.#blob(path)
    if (blob === undefined) return false
    const paths = await this.#hierarchy()
    if (paths === undefined) return removeBlob(this.#container, blob, what)
    const there = await this.#container.properties(blob, what)
    if (there === undefined) return false
    return there.isFolder
      ? paths.removeFolder(blob, what)
      : this.#container.deleteBlob(blob, there.etag, what)
  }

  async version(path: StorePath): Promise<string | undefined> {
    const blob = this.#blob(path)
    if (blob === undefined || path.length === 0) return undefined
    const there = await this.#container.properties(blob, this.#what('version of', path))
    return there?.isFolder === false ? there.etag : undefined
  }

  async removeVersion(path: StorePath, version: string): Promise<boolean> {
    const blob = this.#blob(path)
    if (blob === undefined || path.length === 0) return false
    return this.#container.deleteBlob(blob, version, this.#what('remove', path))
  }

  async setAttributes(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    const what = this.#what('set attributes of', path)
    const blob = this.#writable(path, what)
    const there = await this.#container.properties(blob, what)
    if (there === undefined) {
      if (!(await this.#hasChildren(blob, what))) throw failed('gone', what(), 'nothing is there')
      return this.makeFolder(path, attributes)
    }
    const headers = there.isFolder ? folderMetadata(attributes) : fileMetadata(attributes)
    await this.#putMetadata(blob, there, headers, what)
    return this.#withAccess(blob, attributes, { isNew: false }, what)
  }

  async beginUpload(
    path: StorePath,
    { sizeBytes, tag }: NewFile,
    continuation?: Continuation,
  ): Promise<Upload> {
    const what = this.#what('begin upload', path)
    const blob = this.#writable(path, what)
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
    const blob = this.#writable(path, what)
    if (await this.#container.putBlock(blob, blockId(index), { body, maxPutBytes }, what)) return
    const said =
      'what stands there takes no parts: a page or append blob, or a file that was written through the Data Lake endpoint'
    throw failed('unsupported', what(), said)
  }

  async writtenParts(upload: Upload, partBytes: number): Promise<readonly number[]> {
    const { path } = readUpload(upload)
    const what = this.#what('look at the parts of', path)
    return writtenParts(upload, partBytes, await this.#container.blocks(this.#writable(path, what), what))
  }

  async commitUpload(upload: Upload, partCount: number, attributes: FileAttributes): Promise<Losses> {
    const { path, blockId } = readUpload(upload)
    const what = this.#what('commit', path)
    const blob = this.#writable(path, what)
    const ids = Array.from({ length: partCount }, (_, index) => blockId(index))
    const isCommitted = checkParts(upload, ids, await this.#container.blocks(blob, what), what)
    const headers = fileMetadata(attributes)
    const there = isCommitted ? await this.#container.properties(blob, what) : undefined
    // What an earlier upload of the very same committed may have had other attributes.
    if (there !== undefined) await this.#putMetadata(blob, there, headers, what)
    else await this.#container.putBlockList(blob, ids, headers, what)
    return this.#withAccess(blob, attributes, { isNew: false }, what)
  }

  /**
   * Nothing to do: blocks without a commit are invisible, and Azure drops them with the next write to that name or after
   * a week. No call drops them sooner without making the name visible.
   */
  async abortUpload(): Promise<void> {}

  locate(path: StorePath): Location {
    return { own: { device: this.#device, path: joinPath(this.#root, path) }, mounted: [] }
  }

  copyWithin({ direct }: Driver): StoreCopy | undefined {
    if (!(direct instanceof BlobPlace) || direct.account !== this.direct.account) return undefined
    const known = this.#copies.get(direct)
    if (known !== undefined) return known
    const copy = new BlobCopy(direct.container, {
      container: this.#container,
      what: (operation, path) => this.#what(operation, path),
      writable: (path, what) => this.#writable(path, what),
      refuseFolder: (blob, what) => this.#refuseFolder(blob, what),
      withAccess: (blob, attributes, what) => this.#withAccess(blob, attributes, { isNew: false }, what),
    })
    this.#copies.set(direct, copy)
    return copy
  }

  async close(): Promise<void> {
    this.#client.close()
    this.#lake?.close()
  }

  async #hasChildren(blob: string, what: What, signal?: AbortSignal): Promise<boolean> {
    if ((await abortable(this.#hierarchy(), signal)) !== undefined) return false
    if (refuseUnlistable(blob) !== undefined) return false
    for await (const { blobs, prefixes } of this.#container.pages(
      { prefix: `${blob}/`, maxResults: 1 },
      what,
      signal,
    ))
      if (blobs.length + prefixes.length > 0) return true
    return false
  }

  /** Adds to the metadata of a blob, or replaces some; nothing to do where they are right. */
  async #putMetadata(blob: string, there: BlobProperties, headers: WriteHeaders, what: What): Promise<void> {
    const found = metadataHeaders(there.metadata)
    if (Object.entries(headers).every(([name, value]) => found[name] === value)) return
    const paths = there.isFolder ? await this.#hierarchy() : undefined
    const all = { ...found, ...headers }
    await (paths === undefined
      ? this.#container.putMetadata(blob, there.etag, all, what)
      : paths.putMetadata(blob, there.etag, headerMetadata(all), what))
  }

  async #refuseFolder(blob: string, what: What): Promise<void> {
    const there = await this.#container.properties(blob, what)
    if (there?.isFolder === true) throw failed('unsupported', what(), 'a folder stands there')
  }

  #what(operation: string, path: StorePath): What {
    return () => `${operation} ${textFromPath(path)} in ${this.#place}`
  }
}
