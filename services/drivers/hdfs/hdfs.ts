import {
  hdfsIneffectiveProperties,
  hdfsProperties,
  hdfsPropertyFamilies,
} from '../../../subjects/filesystems/hdfs-properties.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import type { Side } from '../contract/kind.ts'
import {
  type Capabilities,
  type Changes,
  type Continuation,
  type DigestKind,
  type Driver,
  type Entry,
  type FileAttributes,
  type Leftovers,
  type Listing,
  type Location,
  type Loss,
  type Losses,
  type MadeDigests,
  maxPageEntries,
  type NewFile,
  type Page,
  type PartBody,
  type ReadOptions,
  type SourceFile,
  storeError,
  StoreError,
  type StorePath,
  type Upload,
} from '../contract/driver.ts'
import { type PropertyValues, readProperties } from '../contract/properties.ts'
import { maxFeedAnswerBytes } from '../feeds/answers.ts'
import { CursorGuard } from '../http/cursor-guard.ts'
import { cleaningUp } from '../http/job-signal.ts'
import type { RetryLimits } from '../http/requests.ts'
import { requireAddresses, StoreAddress } from '../http/store-address.ts'
import type { TransportLimits } from '../http/transport.ts'
import { isName, joinPath, nameOf, parentOf, textFromPath } from '../paths/path-text.ts'
import type { ChangeFeed } from '../feeds/feed.ts'
import { temporaryName } from '../paths/temporary-names.ts'
import { UntilDone } from '../uploads/until-done.ts'
import { clusterAddress } from './address.ts'
import { HdfsClient, type What } from './client.ts'
import { absolute, Cluster } from './cluster.ts'
import { failed } from './errors.ts'
import { HostUsers } from './host-users.ts'
import { identityOf } from './identity.ts'
import { mayExist, refuseName, requireWritable } from './names.ts'
import { HdfsFile } from './source-file.ts'
import { Snapshots, snapshottableAbove } from './snapshots.ts'
import { attributesOf, entryOf, type FileStatus, versionOf } from './status.ts'
import { beginUpload, joinParts, readUpload, sweep, writePart, writtenParts } from './upload.ts'

const MiB = 1024 * 1024

/** Largest file that is held in memory and written with one request. */
const maxHeldBytes = 32 * MiB

/** Most bytes that are read with one request. */
const readBytes = 16 * MiB

/** Share of the blocks that a file may have which are used: what the cluster counts is not what we do. */
const usedBlocks = 0.9

/** HDFS keeps permission bits and the sticky bit. */
const stickyBit = 0o1000
const modeBits = 0o777 | stickyBit

/** Times in HDFS are whole milliseconds since 1970, and -1 means that there is none. */
const grainMs = 1
const earliestMs = 0

/**
 * The cluster may still be working on what got no answer, and make it after it was removed: it is removed over half a minute,
 * in which a data node answers or has failed.
 */
const openRemovals = 6

/** Whoever has a file open for writing has it so for long, most often: it is looked at again after this. */
const openForMs = 5_000

/** `probe` answers a person who waits: one more try, then the truth. */
const probeRetries = 1

/** Of temporary files of a migration that is not known. */
const noTag = 'gantry'

const familyPattern = new RegExp(`^(?:${hdfsPropertyFamilies.join('|')})$`)

/** A cluster of Hadoop, through the web interface of its name nodes and data nodes (WebHDFS), or HttpFS. */
export class HdfsDriver implements Driver {
  readonly capabilities: Capabilities
  readonly leftovers: Leftovers
  readonly changes?: Changes
  readonly #addresses: readonly StoreAddress[]
  readonly #client: HdfsClient
  readonly #cluster: Cluster
  readonly #discards = new UntilDone()
  readonly #property: PropertyValues<typeof hdfsProperties>
  readonly #users = new HostUsers()
  readonly #isTarget: boolean
  /** Names of the properties that were set. */
  readonly #given: ReadonlySet<string>
  readonly #blockBytes: number
  /** Folders of uploads, as latin1, that may be made once more by a try that got no answer. */
  readonly #contested = new Set<string>()
  /** For messages. */
  readonly #place: string
  /** Whether the user may give files away, as far as is known: only the superuser of a cluster may. */
  #mayGive = true

  /**
   * Throws GantryError NOT_ACCEPTED for a property that cannot be honoured.
   * @param side of a target is noted when what is in it was made
   * @param bounds where stores may be; without them anywhere
   */
  constructor(options: FilesystemOptions<'hdfs'>, side: Side = 'target', bounds?: StoreBounds) {
    const property = readProperties(
      hdfsProperties,
      options.additionalProperties,
      (name) => hdfsIneffectiveProperties.includes(name) || familyPattern.test(name),
    )
    const { authority, nameNodes } = clusterAddress(options, property)
    this.#addresses = bounds === undefined ? [] : nameNodes.map((node) => new StoreAddress(node, bounds))
    const concurrency = property('gantry.hdfs.connections')
    const limits = {
      connectTimeoutMs: property('dfs.webhdfs.socket.connect-timeout'),
      idleTimeoutMs: property('dfs.webhdfs.socket.read-timeout'),
      connections: concurrency,
      retries: property('dfs.http.client.retry.max.attempts'),
      minBackoffMs: property('dfs.http.client.failover.sleep.base.millis'),
      maxBackoffMs: property('dfs.http.client.failover.sleep.max.millis'),
    }
    const newClient = (own: TransportLimits & RetryLimits = limits) =>
      new HdfsClient(
        nameNodes,
        identityOf(options, property),
        own,
        bounds && ((endpoint) => new StoreAddress(endpoint, bounds)),
      )
    this.#client = newClient()
    this.#cluster = new Cluster(this.#client, {
      replication: property('dfs.replication'),
      verify: property('gantry.hdfs.verify'),
    })
    this.#property = property
    this.#given = new Set(Object.keys(options.additionalProperties ?? {}))
    this.#isTarget = side === 'target'
    this.#blockBytes = Math.ceil(property('dfs.blocksize') / MiB) * MiB
    this.#place = `HDFS of ${authority}`
    this.capabilities = {
      storeName: this.#place,
      folders: 'real',
      // When something was made is an attribute of its own, which no listing has.
      listsAttributes: !this.#isTarget,
      listsInOrder: true,
      showsUnfinished: !this.#isTarget,
      symlinks: false,
      modes: true,
      folderTimesMove: true,
      maxPutBytes: Math.min(this.#blockBytes, maxHeldBytes),
      parts: {
        order: 'any',
        // Only whole blocks are joined by every release of Hadoop.
        sizeFor: (sizeBytes) => this.#blockBytesFor(sizeBytes),
      },
      clock: { grainMs, earliestMs, tickMs: 2 * grainMs },
      concurrency,
    }
    if (side === 'source' && property('gantry.hdfs.changes') === 'snapshots')
      this.changes = {
        feed: (folder) =>
          this.#snapshotFeed(folder, newClient({ ...limits, maxAnswerBytes: maxFeedAnswerBytes })),
      }
    this.leftovers = {
      sweep: (folder, tag, liveThreads, isOver) =>
        sweep(
          this.#cluster,
          folder,
          { tag, liveThreads },
          isOver,
          this.#what('look for leftovers in', folder),
        ),
    }
  }

  /** The size of blocks that a file brings along; undefined where all that is written has the same, and where it cannot be. */
  #blockBytesOf({ layout }: FileAttributes, sizeBytes: number): number | undefined {
    const { blockBytes = 0 } = layout ?? {}
    const blocks = this.#property('dfs.namenode.fs-limits.max-blocks-per-file')
    const canBe = blockBytes > 0 && blockBytes % MiB === 0 && sizeBytes <= blocks * blockBytes
    return canBe && !this.#given.has('dfs.blocksize') ? blockBytes : undefined
  }

  /** A cluster limits the blocks of a file: those of very large files are larger, in whole MiB. */
  #blockBytesFor(sizeBytes: number): number {
    const blocks = Math.max(1, this.#property('dfs.namenode.fs-limits.max-blocks-per-file') * usedBlocks)
    return Math.max(this.#blockBytes, Math.ceil(sizeBytes / blocks / MiB) * MiB)
  }

  /** @param client of the feed's own, as it outlives this driver */
  async #snapshotFeed(
    folder: StorePath,
    client: HdfsClient,
  ): Promise<ChangeFeed | { readonly refusal: string }> {
    const looked = () => `look for folders with snapshots in ${this.#place}`
    const close = () => client.close()
    try {
      const root = await snapshottableAbove(client, folder, looked)
      if (root === undefined) {
        await close()
        const path = absolute(folder)
        const allow = `hdfs dfsadmin -allowSnapshot ${path}`
        return {
          refusal: `there are no snapshots of ${path}: its owner is told of changes once an administrator of the cluster has run "${allow}"`,
        }
      }
      const { SnapshotFeed } = await import('./snapshot-feed.ts')
      const name = absolute(root)
      return new SnapshotFeed({
        snapshots: new Snapshots(client, root, (operation) => this.#what(`${operation} of`, root)),
        place: `${this.#place} ${absolute(folder)}`,
        below: folder.subarray(root.length === 0 ? 0 : root.length + 1).toString('latin1'),
        periodMs: this.#property('gantry.hdfs.snapshot.period'),
        reason: `differences of snapshots of ${name}`,
        close,
      })
    } catch (error) {
      await close()
      throw error
    }
  }

  requirePlace(): void {
    requireAddresses(this.#addresses, 'defaultFS')
  }

  async probe(signal: AbortSignal): Promise<void> {
    const what = () => `access to ${this.#place}`
    const root = await this.#cluster.status(Buffer.alloc(0), what, {
      signal,
      retries: probeRetries,
      isProbe: true,
    })
    if (root === undefined) throw failed('gone', what(), 'there is no root')
  }

  async *list(
    folder: StorePath,
    signal: AbortSignal,
    { after = '', limit }: Listing = {},
  ): AsyncIterable<Page> {
    const what = this.#what('list', folder)
    if (!mayExist(folder)) throw failed('gone', what(), 'no such folder')
    const most = Math.min(limit ?? maxPageEntries, maxPageEntries)
    const guard = new CursorGuard(failed, what)
    for (let from = after; ;) {
      signal.throwIfAborted()
      const page = await this.#cluster.page(folder, from, what, signal)
      if (page === undefined) throw failed('gone', what(), 'no such folder')
      const { statuses, hasMore } = page
      for (let at = 0; at < statuses.length; at += most) {
        const some = statuses.slice(at, at + most)
        const isLast = !hasMore && at + most >= statuses.length
        const cursor = isLast ? undefined : some.at(-1)?.name
        yield { entries: some.map((status) => this.#entry(status)), ...(cursor !== undefined && { cursor }) }
      }
      const last = statuses.at(-1)
      if (!hasMore || last === undefined) return
      from = guard.pass(last.name)
    }
  }

  #entry(status: FileStatus): Entry {
    const entry = entryOf(status, Buffer.from(status.name), this.#users)
    return isName(entry.name) ? entry : { ...entry, type: 'other', sizeBytes: 0 }
  }

  async describe(signal: AbortSignal): Promise<string | undefined> {
    const kept = await this.#cluster.kept(() => `look at ${this.#place}`, signal)
    const { storagePolicy, erasureCoding, isErasureCoded, isEncrypted } = kept
    const said = [
      ...(storagePolicy === undefined ? [] : [`storage policy ${storagePolicy}`]),
      ...(isErasureCoded ? [`erasure coding${erasureCoding === undefined ? '' : ` ${erasureCoding}`}`] : []),
      ...(isEncrypted ? ['an encryption zone'] : []),
    ]
    return said.length === 0 ? undefined : `its root: ${said.join(', ')}`
  }

  async stat(path: StorePath, signal?: AbortSignal): Promise<Entry | undefined> {
    const status = await this.#status(path, 'stat', signal)
    if (status === undefined) return undefined
    const createdMs = this.#isTarget
      ? await this.#cluster.creationOf(path, this.#what('stat', path), signal)
      : undefined
    return { ...entryOf(status, nameOf(path), this.#users), ...(createdMs !== undefined && { createdMs }) }
  }

  async attributesOf(path: StorePath, options?: ReadOptions): Promise<FileAttributes | undefined> {
    const status = await this.#status(path, 'attributes of', options?.signal)
    if (status === undefined) return undefined
    if (status.type === 'SYMLINK')
      throw failed('unsupported', this.#what('attributes of', path)(), 'it is a symbolic link')
    return this.#attributes(path, status, options)
  }

  async #attributes(
    path: StorePath,
    status: FileStatus,
    { extended = false, signal }: ReadOptions = {},
  ): Promise<FileAttributes> {
    const attributes = attributesOf(status, this.#users)
    if (!extended) return attributes
    return {
      ...attributes,
      extended: await this.#cluster.extended(path, status, this.#what('attributes of', path), signal),
      ...(status.layout !== undefined && { layout: status.layout }),
    }
  }

  async digestsOf(
    path: StorePath,
    kinds: readonly DigestKind[],
    signal: AbortSignal,
  ): Promise<MadeDigests | undefined> {
    const operation = 'checksum of'
    const what = this.#what(operation, path)
    const status = await this.#status(path, operation, signal)
    // Of what is encrypted the cluster digests what it has, and not the content.
    if (status?.type !== 'FILE' || status.isEncrypted) return undefined
    const digests = await this.#cluster.digests(path, kinds, what, signal)
    if (digests === undefined) return undefined
    const version = versionOf(status)
    const now = await this.#status(path, operation, signal)
    if (now === undefined || versionOf(now) !== version)
      throw failed('changed', what(), 'it is another version')
    return { digests, version }
  }

  #status(path: StorePath, operation: string, signal?: AbortSignal): Promise<FileStatus | undefined> {
    if (!mayExist(path)) return Promise.resolve(undefined)
    return this.#cluster.status(path, this.#what(operation, path), { signal })
  }

  async open(path: StorePath, options?: ReadOptions): Promise<SourceFile> {
    const what = this.#what('open', path)
    const signal = options?.signal
    const status = await this.#status(path, 'open', signal)
    if (status === undefined) throw failed('gone', what(), 'no such file')
    if (status.type !== 'FILE') throw failed('unsupported', what(), 'it is a folder')
    // Closing moves its time: that it was closed only now is seen when it has been read.
    const [isOpen, attributes] = await Promise.all([
      !this.#isTarget && this.#cluster.isOpenForWriting(path, what, signal),
      this.#attributes(path, status, options),
    ])
    if (isOpen) throw failed('changed', what(), 'it is open for writing', { retryAfterMs: openForMs })
    return new HdfsFile(status, attributes, readBytes, {
      read: (offset, taker) => this.#cluster.read(path, offset, taker, this.#what('read', path), signal),
      status: () => this.#status(path, 'check', signal),
      describe: (operation) => this.#what(operation, path)(),
    })
  }

  refuses(path: StorePath, { type, sizeBytes }: Pick<Entry, 'type' | 'sizeBytes'>): string | undefined {
    if (type === 'symlink') return 'it is a symbolic link, and HDFS keeps files and folders only'
    if (type === 'other') return 'it is neither file nor folder, and HDFS keeps nothing else'
    if (!Number.isSafeInteger(sizeBytes)) return `it has ${sizeBytes} bytes, more than can be counted`
    return refuseName(path, this.#property('dfs.namenode.fs-limits.max-component-length'))
  }

  #requireWritable(path: StorePath, what: What): void {
    requireWritable(path, this.#property('dfs.namenode.fs-limits.max-component-length'), what)
  }

  async makeFolder(path: StorePath, { mode }: FileAttributes): Promise<Losses> {
    const what = this.#what('make folder', path)
    if (path.length === 0) return []
    this.#requireWritable(path, what)
    const isThere = (await this.#cluster.status(path, what)) !== undefined
    // What is to be in it is made by the same user, whom its mode may deny that; the mode is given to it once more at the end.
    await this.#cluster.makeFolder(path, mode === undefined ? undefined : (mode & modeBits) | ownerBits, what)
    if (!isThere) await this.#cluster.noteCreation(path, what)
    return lossesOfMode(mode)
  }

  async put(path: StorePath, bytes: Buffer, attributes: FileAttributes, tag = noTag): Promise<Losses> {
    const what = this.#what('put', path)
    this.#requireWritable(path, what)
    const temporary = joinPath(parentOf(path), temporaryName(tag))
    try {
      const { mode } = attributes
      const making = {
        mode: mode === undefined ? undefined : mode & modeBits,
        blockBytes: this.#blockBytesOf(attributes, bytes.length) ?? this.#blockBytes,
      }
      const made = await this.#cluster.create(temporary, bytes, making, what)
      // Making a file leaves this bit out.
      const isSticky = mode !== undefined && (mode & stickyBit) !== 0
      const [lost] = await Promise.all([
        this.#give(temporary, attributes, what),
        this.#cluster.noteCreation(temporary, what),
        isSticky ? this.#cluster.setMode(temporary, mode & modeBits, what) : undefined,
      ])
      await this.#cluster.place(temporary, path, made, what)
      if (made.contestedId !== undefined) await this.#discard(temporary, what, openRemovals)
      return [...lossesOfMode(mode), ...lost]
    } catch (error) {
      await this.#discardFailed(temporary, error, what)
      throw error
    }
  }

  /** Gives a file or folder all attributes but its mode. */
  async #give(path: StorePath, attributes: FileAttributes, what: What): Promise<Loss[]> {
    const { modifiedMs, owner, ownerNames, extended, layout: { replication } = {} } = attributes
    const lost: Loss[] = []
    const isLeft = replication === undefined || this.#given.has('dfs.replication')
    if (!isLeft && !(await this.#cluster.setReplication(path, replication, what))) lost.push('attributes')
    if (extended !== undefined && !(await this.#cluster.giveExtended(path, extended, what)))
      lost.push('attributes')
    const names =
      ownerNames ?? (owner && { user: this.#users.userOf(owner.uid), group: this.#users.groupOf(owner.gid) })
    if (names !== undefined && !(await this.#giveOwner(path, names, what))) lost.push('owner')
    if (modifiedMs !== undefined && modifiedMs < earliestMs) lost.push('time')
    if (modifiedMs !== undefined && modifiedMs >= earliestMs)
      await this.#cluster.setTime(path, modifiedMs, what)
    return lost
  }

  async #giveOwner(
    path: StorePath,
    { user, group }: { user: string; group: string },
    what: What,
  ): Promise<boolean> {
    if (!this.#mayGive) return false
    this.#mayGive = await this.#cluster.setOwner(path, user, group, what)
    return this.#mayGive
  }

  async remove(path: StorePath): Promise<boolean> {
    const what = this.#what('remove', path)
    if (path.length === 0) throw failed('unsupported', what(), 'it is the root')
    return mayExist(path) && this.#cluster.delete(path, false, what)
  }

  async version(path: StorePath): Promise<string | undefined> {
    const status = await this.#status(path, 'version of')
    return status?.type === 'FILE' ? versionOf(status) : undefined
  }

  async removeVersion(path: StorePath, version: string): Promise<boolean> {
    const there = await this.version(path)
    if (there === undefined) return false
    const what = this.#what('remove', path)
    if (there !== version) throw failed('changed', what(), 'it is another version')
    // What is put aside does not stay there because its job has ended.
    return cleaningUp(() => this.#removeAside(path, version, what))
  }

  async #removeAside(path: StorePath, version: string, what: What): Promise<boolean> {
    // HDFS deletes whatever has a name: under one that nobody else knows it is looked at once more.
    const aside = joinPath(parentOf(path), temporaryName(noTag))
    const putBack = () => this.#discards.do(() => this.#putBack(aside, path, what), openRemovals)
    try {
      await this.#cluster.rename(path, aside, what)
    } catch (error) {
      if (isOpen(error)) await putBack()
      if (!(error instanceof StoreError) || error.failure !== 'gone') throw error
      // Where a name node fails over, the one before may have done it.
      if ((await this.#cluster.status(aside, what)) === undefined) return false
    }
    const said = await this.#changedAside(aside, version, what).catch(storeError)
    try {
      if (said === undefined) return await this.#cluster.delete(aside, false, what)
      await this.#cluster.rename(aside, path, what)
    } catch (error) {
      await putBack()
      if (said === undefined) throw error
      const where = `and stands under ${absolute(aside)}, as it cannot be put back`
      throw failed('changed', what(), `it is another version, ${where}: ${storeError(error).message}`)
    }
    throw typeof said === 'string' ? failed('changed', what(), said) : said
  }

  /** Gives what may have been put aside its name again; throws where something else has that by now. */
  async #putBack(aside: StorePath, path: StorePath, what: What): Promise<void> {
    if ((await this.#cluster.status(aside, what)) !== undefined) await this.#cluster.rename(aside, path, what)
  }

  /** Why what was put aside is not to be removed. */
  async #changedAside(aside: StorePath, version: string, what: What): Promise<string | undefined> {
    const status = await this.#cluster.status(aside, what)
    if (status === undefined || versionOf(status) !== version) return 'it is another version'
    return (await this.#cluster.isOpenForWriting(aside, what)) ? 'it is open for writing' : undefined
  }

  async setAttributes(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    const what = this.#what('set attributes of', path)
    this.#requireWritable(path, what)
    if ((await this.#cluster.status(path, what)) === undefined)
      throw failed('gone', what(), 'nothing is there')
    const { mode } = attributes
    const lost = await this.#give(path, attributes, what)
    if (mode !== undefined) await this.#cluster.setMode(path, mode & modeBits, what)
    return [...lossesOfMode(mode), ...lost]
  }

  async rename(path: StorePath, to: StorePath): Promise<void> {
    const what = this.#what('rename', path)
    this.#requireWritable(to, what)
    await this.#cluster.rename(path, to, what)
  }

  async beginUpload(path: StorePath, file: NewFile, continuation?: Continuation): Promise<Upload> {
    const what = this.#what('begin upload', path)
    this.#requireWritable(path, what)
    const partBytes = this.capabilities.parts.sizeFor(file.sizeBytes)
    const discard = (folder: StorePath, error: unknown) => this.#discardFailed(folder, error, what)
    const contested = (folder: StorePath) => void this.#contested.add(folder.toString('latin1'))
    const { sizeBytes, attributes } = file
    const its = this.#blockBytesOf(attributes, sizeBytes)
    // A part is of whole blocks.
    const blockBytes = its !== undefined && partBytes % its === 0 ? its : undefined
    const how = { partBytes, blockBytes, continuation, discard, contested }
    return beginUpload(this.#cluster, path, file, how, what)
  }

  async writePart(upload: Upload, index: number, offset: number, body: PartBody): Promise<void> {
    const { path, blockBytes } = readUpload(upload)
    const content =
      body.sizeBytes <= this.capabilities.maxPutBytes ? await body.read(0, body.sizeBytes) : body
    await writePart(
      this.#cluster,
      upload,
      { index, offset },
      content,
      blockBytes ?? this.#blockBytesFor(upload.sizeBytes),
      this.#what(`write part ${index}`, path),
    )
  }

  async writtenParts(upload: Upload, partBytes: number): Promise<readonly number[] | undefined> {
    return writtenParts(
      this.#cluster,
      upload,
      partBytes,
      this.#what('look at the parts of', readUpload(upload).path),
    )
  }

  async commitUpload(upload: Upload, _partCount: number, attributes: FileAttributes): Promise<Losses> {
    const { path, folder, blockBytes = this.#blockBytesFor(upload.sizeBytes) } = readUpload(upload)
    const what = this.#what('commit', path)
    const whole = await joinParts(this.#cluster, upload, blockBytes, what)
    const { mode, modifiedMs } = attributes
    if (whole === undefined) {
      const there = await this.#cluster.status(path, what)
      const isTimed =
        modifiedMs === undefined || modifiedMs < earliestMs || there?.modifiedMs === Math.floor(modifiedMs)
      if (there?.sizeBytes !== upload.sizeBytes || there.type !== 'FILE' || !isTimed)
        throw failed('corrupt', what(), 'the upload is gone; begin it again')
      return lossesOfMode(mode)
    }
    if (mode !== undefined) await this.#cluster.setMode(whole, mode & modeBits, what)
    const [lost] = await Promise.all([
      this.#give(whole, attributes, what),
      this.#cluster.noteCreation(whole, what),
    ])
    await this.#cluster.replace(whole, path, what)
    await this.#discardUpload(folder, what)
    return [...lossesOfMode(mode), ...lost]
  }

  async abortUpload(upload: Upload): Promise<void> {
    let state
    try {
      state = readUpload(upload)
    } catch {
      return
    }
    const what = this.#what('abort', state.path)
    if (this.#contested.has(state.folder.toString('latin1'))) return this.#discardUpload(state.folder, what)
    await this.#cluster.delete(state.folder, true, what)
  }

  #discardUpload(folder: StorePath, what: What): Promise<void> {
    return this.#discard(folder, what, this.#contested.delete(folder.toString('latin1')) ? openRemovals : 1)
  }

  /** Removes what could not be made whole. */
  #discardFailed(path: StorePath, error: unknown, what: What): Promise<void> {
    return this.#discard(path, what, isOpen(error) ? openRemovals : 1)
  }

  #discard(path: StorePath, what: What, times = 1): Promise<void> {
    return this.#discards.do(() => this.#cluster.delete(path, true, what), times)
  }

  locate(path: StorePath): Location {
    return { own: { device: this.#place, path }, mounted: [] }
  }

  settled(signal: AbortSignal): Promise<void> {
    return this.#discards.settled(signal)
  }

  async close(): Promise<void> {
    this.#discards.close()
    await this.#client.close()
  }

  #what(operation: string, path: StorePath): What {
    return () => `${operation} ${path.length === 0 ? 'the root' : textFromPath(path)} of ${this.#place}`
  }
}

/**
 * Whether what failed may be done all the same, or be done yet: the last answer says nothing of a try before it, and nobody has
 * heard the answer to what was broken off.
 */
const isOpen = (error: unknown): boolean => !(error instanceof StoreError) || error.retryable

/** Rights that whoever makes a folder needs to make something in it. */
const ownerBits = 0o700

/** Set-user-id and set-group-id are not kept. */
const lossesOfMode = (mode: number | undefined): Loss[] =>
  mode !== undefined && (mode & ~modeBits & 0o7777) !== 0 ? ['mode'] : []
