import { access, statfs } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { accessSync, closeSync, constants, fstatSync, lstatSync, renameSync, statSync } from 'node:fs'
import { GantryError } from '../../../subjects/kit/errors.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { changed, nothingLost, piecesOf, StoreError } from '../contract/driver.ts'
import type {
  Capabilities,
  Changes,
  Confinement,
  Continuation,
  DirectCopy,
  DirectOptions,
  Driver,
  Entry,
  FileAttributes,
  FolderHold,
  LeftUpload,
  Leftovers,
  Listing,
  Location,
  Losses,
  NewFile,
  Page,
  PartBody,
  Places,
  ReadOptions,
  SourceFile,
  StorePath,
  Upload,
} from '../contract/driver.ts'
import type { StoreBounds } from '../contract/bounds.ts'
import { LocalCopy } from './copy/direct-copy.ts'
import { ExactNames, folded, kernelTickMs, mayFoldCase } from './exact-names.ts'
import { FolderEntries } from './folder-entries.ts'
import { LocalHold } from './hold.ts'
import { hostFolderAt } from './host-folder.ts'
import { placesBelow } from './place/places.ts'
import { LocalGuard } from './guard.ts'
import { isErrno, isNoFolder, listError, localError, locally, orGone, probeError } from './errors.ts'
import { replaceFile, replaceLink, setFileAttributes, writeVerified } from './file.ts'
import { flushFileSystems } from './write/flush.ts'
import { checkRootFolder, applyAttributes, makeFolder } from './folder.ts'
import { following, openSource, readLink } from './links.ts'
import { listFolder, statEntry } from './list.ts'
import { whileLocked } from './write/name-lock.ts'
import { persistEntry } from './write/persist.ts'
import { removeEntry, removeVersion } from './remove.ts'
import { withTemporaryAccess, permitted } from './rights.ts'
import { LocalRoot, type Pinned } from './root.ts'
import { attributesOf, LocalSourceFile, lookAtVersion } from './source-file.ts'
import {
  type Construction,
  lockName,
  lockTag,
  maxTemporaryNameBytes,
  temporaryName,
} from '../paths/temporary-names.ts'
import { sweepTemporaryFiles } from './write/temporary.ts'
import { beginSharedUpload } from './write/shared.ts'
import {
  beginUpload,
  commitUpload,
  endPart,
  fileDigest,
  openUpload,
  removeConstruction,
  uploadOf,
  type UploadPaths,
  writtenParts,
} from './write/upload.ts'
import { OpenFolders } from './open-folders.ts'
import { joinPath, nameOf, parentOf, pathFromText, textFromPath } from '../paths/path-text.ts'

/** NAME_MAX of Linux and of nearly every file system on it. */
const maxNameBytes = 255

/** A larger file is worth the work of several threads. */
const partBytes = 16 * 1024 * 1024

/** Looks at a version wait so often, and so long each time, for a change that would make another one. */
const maxWaits = 3
const maxFreshMs = 2_000

const namedOtherwise = (other: StorePath): string =>
  `'${textFromPath(other)}' is already there, and the file system does not tell apart names that differ only by case or Unicode form: rename one of the two at the source`

const tooLong = 'the path is longer than the operating system takes (4096 bytes)'

/** Tag of the temporary files of single writes, which belong to no upload. */
const putTag = 'put'
/** Of what is renamed in two steps: no sweep takes it for something unfinished. */
const renameTag = 'rename'

/** To the kernel, two names of one file are one name, and what is renamed to it keeps its own: it gets a third one in between. */
function renameInSteps(path: Buffer, to: Buffer): void {
  const between = beside(path, temporaryName(renameTag))
  renameSync(path, between)
  try {
    renameSync(between, to)
  } catch (error) {
    renameSync(between, path)
    throw error
  }
}

/**
 * A folder of the host. Paths are bytes in every call, the calls are synchronous (the engine runs drivers in worker
 * threads, where that is three times as fast as promises). Symbolic links are kept as links and never followed, but
 * for the root itself.
 */
export class LocalDriver implements Driver {
  readonly capabilities: Capabilities
  readonly direct: LocalRoot | undefined
  readonly places: Places
  readonly hostFolder: string
  readonly changes: Changes
  readonly leftovers: Leftovers
  readonly #options: FilesystemOptions<'local'>
  readonly #root: LocalRoot
  readonly #folders: OpenFolders
  readonly #guard: LocalGuard | undefined
  /** Of a file system that may fold case; undefined before that is looked at. */
  #exact: { readonly names: ExactNames | undefined } | undefined

  /**
   * Throws GantryError NOT_ACCEPTED for a root that is no path and for every additional property: there are none.
   * @param mayGrantAccess whether what is ours in it may be given rights that its mode denies: of targets alone
   * @param confinement see `confinedTo`
   * @param bounds where filesystems may be; without them anywhere. Or the guard of a driver with the same root
   */
  constructor(
    options: FilesystemOptions<'local'>,
    mayGrantAccess = false,
    confinement?: Confinement,
    bounds?: StoreBounds | LocalGuard,
  ) {
    this.#options = options
    refuseProperties(options.additionalProperties)
    const root = pathFromText(options.fsRoot ?? '/', 'fsRoot')
    const check = (place: Buffer) => this.#guard?.requireRootAt(place)
    this.#root = new LocalRoot(Buffer.concat([Buffer.from('/'), root]), mayGrantAccess, confinement, check)
    this.#folders = new OpenFolders(this.#root)
    this.#guard =
      bounds === undefined || bounds instanceof LocalGuard
        ? bounds
        : new LocalGuard(this.#root.folder, bounds)
    this.capabilities = {
      folders: 'real',
      listsAttributes: true,
      symlinks: true,
      modes: true,
      folderTimesMove: true,
      maxPutBytes: partBytes,
      parts: { order: 'any', sizeFor: (_, atMostBytes = partBytes) => Math.min(partBytes, atMostBytes) },
      clock: { tickMs: kernelTickMs },
      concurrency: 1,
    }
    this.direct = this.#root
    this.places = placesBelow(this.#root)
    this.hostFolder = textFromPath(this.#root.folder.subarray(1))
    this.changes = {
      feed: async (folder, maxWatches) => {
        const { localFeed } = await import('./watch/local-watch.ts')
        return localFeed(this.#root.absolute(folder), maxWatches, this.#guard?.bounds)
      },
    }
    this.leftovers = {
      sweep: (folder, tag, liveThreads, isOver) => this.#sweep(folder, tag, liveThreads, isOver),
    }
  }

  requirePlace(): void {
    this.#guard?.requireRoot()
  }

  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    try {
      checkRootFolder(this.#root.folder)
      accessSync(this.#root.folder, constants.R_OK | constants.X_OK)
    } catch (error) {
      throw probeError(error, this.#options.fsRoot ?? '/')
    }
  }

  async freeBytes(folder: StorePath): Promise<number> {
    for (let at = folder; ; at = parentOf(at)) {
      try {
        // What is kept for root is not for files.
        const { bavail, bsize } = await statfs(this.#root.absolute(at))
        return bavail * bsize
      } catch (error) {
        if (at.length === 0 || !(isErrno(error, 'ENOENT') || isNoFolder(error)))
          throw localError(error, 'target')
      }
    }
  }

  /** Without cursors: the system reads a folder from its beginning, in an order that may be another each time. */
  async *list(folder: StorePath, signal: AbortSignal, { limit }: Listing = {}): AsyncIterable<Page> {
    signal.throwIfAborted()
    let batches: Generator<Entry[]> | undefined
    try {
      this.#requireExact('gone', folder)
      // Its own: a consumer takes its time between two batches.
      using opened = withTemporaryAccess(this.#root, [folder], () => permitted(() => this.#root.open(folder)))
      this.#guard?.requireEnterable(statSync(opened.path))
      const listed = listFolder(opened, limit)
      batches = listed
      for (;;) {
        const { value: entries } = withTemporaryAccess(this.#root, [folder], () => listed.next())
        signal.throwIfAborted()
        if (entries === undefined) return
        yield { entries }
      }
    } catch (error) {
      throw isNoFolder(error) ? new StoreError('gone', 'there is no such folder') : listError(error)
    } finally {
      batches?.return(undefined)
    }
  }

  async stat(path: StorePath): Promise<Entry | undefined> {
    return orGone(undefined, () => {
      const stat = this.#at(path, (absolute) => lookFor(path)(absolute, { throwIfNoEntry: false }))
      // A source has a name or has it no more, under whatever other one it is found.
      const isThere = stat !== undefined && this.#other(path) === undefined
      return isThere ? statEntry(nameOf(path), stat) : undefined
    })
  }

  async alike(path: StorePath): Promise<Entry | undefined> {
    const names = path.length === 0 ? undefined : this.#exactNames()
    if (names === undefined) return undefined
    const look = () => withTemporaryAccess(this.#root, [parentOf(path)], () => names.alike(path))
    const other = orGone(undefined, look)
    return other === undefined ? undefined : this.stat(other)
  }

  async open(path: StorePath, { extended = false, follow = false }: ReadOptions = {}): Promise<SourceFile> {
    for (let waits = 0; ; waits++) {
      const file = locally(
        () =>
          new LocalSourceFile(
            this.#at(path, (absolute) => openSource(this.#root, path, absolute, follow)),
            extended,
          ),
      )
      if (file.freshMs <= 0) return file
      await file.close()
      if (waits === maxWaits) throw changed()
      await delay(Math.min(file.freshMs, maxFreshMs))
    }
  }

  async attributesOf(
    path: StorePath,
    { extended = false, follow = false }: ReadOptions = {},
  ): Promise<FileAttributes | undefined> {
    const attributes = (absolute: Buffer) => {
      const stat = lookFor(path)(absolute, { bigint: true })
      if (!extended && (stat.isDirectory() || stat.isFile())) return attributesOf(stat)
      const fd = openSource(this.#root, path, absolute, follow)
      try {
        return attributesOf(fstatSync(fd, { bigint: true }), extended ? fd : undefined)
      } finally {
        closeSync(fd)
      }
    }
    return orGone(undefined, () => this.#at(path, attributes))
  }

  refuses(path: StorePath, entry: Pick<Entry, 'type' | 'sizeBytes'>): string | undefined {
    if (entry.type === 'other') return 'only files, folders and symbolic links can be kept'
    const nameBytes = nameOf(path).length
    if (nameBytes > maxNameBytes) return `the name has ${nameBytes} bytes; the most are ${maxNameBytes}`
    // While it is written, a file has a temporary name in the same folder, which may be longer than its own.
    const moreBytes = Math.max(0, maxTemporaryNameBytes - nameBytes)
    if (this.#root.isTooLong(path, moreBytes)) return tooLong
    return undefined
  }

  async makeFolder(path: StorePath, { mode }: FileAttributes): Promise<Losses> {
    locally(() => {
      // The root is its owner's: it must be there, and its mode is left alone.
      if (path.length === 0) checkRootFolder(this.#root.folder)
      else
        this.#toWrite(path, (absolute) =>
          makeFolder(absolute, mode, (found) => this.#guard?.requireEnterable(found)),
        )
    })
    return nothingLost
  }

  async put(path: StorePath, bytes: Buffer, attributes: FileAttributes, tag = putTag): Promise<Losses> {
    const write = (fd: number) => writeVerified(fd, bytes, 0)
    const give = (rename: () => void) => this.#naming(path, rename)
    const names = { name: nameOf(path), temporary: temporaryName(tag), give }
    const replace = () =>
      replaceFile(new FolderEntries(this.#folderOf(path)), names, timed(attributes), write)
    return locally(() => this.#toWrite(path, () => permitted(replace)))
  }

  async remove(path: StorePath): Promise<boolean> {
    if (path.length === 0) throw new StoreError('unsupported', 'the root of a filesystem is not removed')
    const isRemoved = orGone(false, () => this.#at(path, removeEntry))
    this.#folders.forget(path)
    return isRemoved
  }

  async version(path: StorePath): Promise<string | undefined> {
    const look = () => orGone(undefined, () => this.#at(path, lookAtVersion))
    let seen = look()
    // What is written to all the time is of another version soon.
    for (let waits = 0; seen !== undefined && seen.freshMs > 0 && waits < maxWaits; waits++) {
      // A clock that was set back is not waited for.
      await delay(Math.min(seen.freshMs, maxFreshMs))
      seen = look()
    }
    return seen?.version
  }

  async removeVersion(path: StorePath, version: string): Promise<boolean> {
    return orGone(false, () => this.#at(path, (absolute) => removeVersion(absolute, version)))
  }

  async persist(path: StorePath): Promise<void> {
    locally(() => this.#at(path, persistEntry))
  }

  async flush(folders: readonly StorePath[], signal: AbortSignal): Promise<void> {
    try {
      const nearest = await Promise.all(folders.map((folder) => this.#nearest(folder)))
      await flushFileSystems(nearest, signal)
    } catch (error) {
      signal.throwIfAborted()
      throw localError(error)
    }
  }

  /** The folder, or the one above it that is there. Not synchronous: this is asked of the main thread too. */
  async #nearest(folder: StorePath): Promise<Buffer> {
    const absolute = this.#root.absolute(folder)
    if (folder.length === 0) return absolute
    const isReadable = await access(absolute, constants.R_OK).then(
      () => true,
      () => false,
    )
    return isReadable ? absolute : this.#nearest(parentOf(folder))
  }

  async setAttributes(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    // The root is its owner's.
    if (path.length === 0) return nothingLost
    const set = (absolute: Buffer) =>
      lstatSync(absolute).isDirectory()
        ? applyAttributes(absolute, attributes)
        : setFileAttributes(absolute, attributes)
    return locally(() => this.#at(path, set))
  }

  async beginUpload(
    path: StorePath,
    { sizeBytes, tag }: NewFile,
    continuation?: Continuation,
  ): Promise<Upload> {
    const plan = { sizeBytes, tag, partBytes: this.capabilities.parts.sizeFor(sizeBytes) }
    const begin = (absolute: Buffer) =>
      continuation?.shared === undefined
        ? beginUpload(path, absolute, plan, continuation)
        : beginSharedUpload(path, absolute, plan, {
            version: continuation.version,
            generation: continuation.shared.generation,
          })
    return locally(() => this.#toWrite(path, begin))
  }

  async writePart(upload: Upload, index: number, offset: number, body: PartBody): Promise<void> {
    const fd = locally(() => this.#atUpload(upload, ({ temporary }) => openUpload(temporary)))
    try {
      const write = (bytes: Buffer, at: number) => locally(() => writeVerified(fd, bytes, offset + at))
      if (body.pour !== undefined) await body.pour(write)
      else {
        let at = 0
        for await (const piece of piecesOf(body)) {
          write(piece, at)
          at += piece.length
        }
      }
      locally(() => this.#atUpload(upload, ({ temporary }) => endPart(temporary, fd, index)))
    } finally {
      closeSync(fd)
    }
  }

  async writtenParts(upload: Upload, _partBytes: number): Promise<readonly number[] | undefined> {
    return locally(() => this.#atUpload(upload, ({ temporary }) => writtenParts(temporary)))
  }

  async commitUpload(upload: Upload, _partCount: number, attributes: FileAttributes): Promise<Losses> {
    return locally(() =>
      this.#atUpload(upload, (paths, path) =>
        this.#naming(path, () => commitUpload(paths, upload, timed(attributes))),
      ),
    )
  }

  async abortUpload(upload: Upload): Promise<void> {
    try {
      this.#atUpload(upload, ({ temporary }) => removeConstruction(temporary))
    } catch {
      // What is no upload of ours, and a folder that is gone: nothing is left behind there.
    }
  }

  async readLink(path: StorePath): Promise<Buffer> {
    return locally(() => this.#at(path, readLink))
  }

  async makeLink(path: StorePath, target: Buffer, attributes?: FileAttributes): Promise<Losses> {
    return locally(() =>
      this.#toWrite(path, (absolute) =>
        this.#naming(path, () =>
          replaceLink(beside(absolute, temporaryName(putTag)), absolute, target, attributes),
        ),
      ),
    )
  }

  async followLink(path: StorePath): Promise<Entry> {
    return locally(() =>
      this.#at(path, (absolute) =>
        following(this.#root, path, absolute, ({ stat }) => statEntry(nameOf(path), stat)),
      ),
    )
  }

  async rename(path: StorePath, to: StorePath): Promise<void> {
    const folders = [parentOf(path), parentOf(to)]
    const move = () => {
      this.#requireExact('gone', path)
      const other = this.#other(to)
      if (other === undefined) return renameSync(this.#pathOf(path), this.#pathOf(to))
      // What changes only the case of its own name is in nobody's way.
      if (!other.equals(path)) throw new StoreError('collision', namedOtherwise(other))
      renameInSteps(this.#pathOf(path), this.#pathOf(to))
    }
    // A folder that gets another one above it is written to as well.
    locally(() => withTemporaryAccess(this.#root, folders, () => permitted(move, this.#root.absolute(path))))
    this.#folders.closeAll()
    for (const folder of folders) this.#exactNames()?.forget(folder)
  }

  confinedTo(confinement: Confinement): Driver {
    return new LocalDriver(this.#options, this.#root.mayGrantAccess, confinement, this.#guard)
  }

  locate(path: StorePath): Location {
    return hostFolderAt(this.#root.absolute(path))
  }

  copyFrom(source: Driver, options: DirectOptions): DirectCopy | undefined {
    const { direct } = source
    // It asks nothing of a name before it writes.
    if (this.#exactNames() !== undefined) return undefined
    return direct instanceof LocalRoot ? new LocalCopy([direct, this.#root], options) : undefined
  }

  hold(folder: StorePath): FolderHold {
    const isOther = (name: Buffer) => this.#exactNames()?.alike(joinPath(folder, name)) !== undefined
    return new LocalHold(this.#root, folder, isOther)
  }

  #sweep(
    folder: StorePath,
    tag: string,
    liveThreads: readonly number[],
    isOver: (upload: LeftUpload) => boolean,
  ): void {
    const isOverAs = ({ generation, file }: Construction) =>
      isOver({ ...(generation !== undefined && { generation }), isOf: (path) => file === fileDigest(path) })
    try {
      withTemporaryAccess(this.#root, [folder], () => {
        using opened = permitted(() => this.#root.open(folder))
        sweepTemporaryFiles(opened.path, tag, liveThreads, isOverAs)
        if (this.#exactNames() !== undefined) sweepTemporaryFiles(opened.path, lockTag, liveThreads)
      })
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw localError(error)
    }
  }

  async close(): Promise<void> {
    this.#folders.closeAll()
  }

  #exactNames(): ExactNames | undefined {
    try {
      this.#exact ??= { names: mayFoldCase(this.#root.folder) ? this.#newNames() : undefined }
    } catch {
      // Whoever works in it finds out why it cannot be looked at.
    }
    return this.#exact?.names
  }

  readonly #newNames = () => new ExactNames((at) => this.#root.absolute(at), this.#root.mayGrantAccess)

  /** What the file system takes for a path, or for one above it, and is named otherwise. */
  #other(path: StorePath): StorePath | undefined {
    const names = path.length === 0 ? undefined : this.#exactNames()
    if (names === undefined) return undefined
    return withTemporaryAccess(this.#root, [parentOf(path)], () => names.other(path))
  }

  /** Throws where something named otherwise stands at a path of a target: what is read of a source has just been listed. */
  #requireExact(failure: 'collision' | 'gone', path: StorePath): void {
    const other = this.#root.mayGrantAccess ? this.#other(path) : undefined
    if (other !== undefined) throw new StoreError(failure, namedOtherwise(other))
  }

  /**
   * Gives something a name: where the file system may take two for one, nobody gives the other one at the same time. Throws
   * `collision` where what is there has that.
   */
  #naming<T>(path: StorePath, give: () => T): T {
    if (!this.#root.mayGrantAccess || this.#exactNames() === undefined) return give()
    const lock = this.#folderOf(path).entry(lockName(folded(nameOf(path).toString('latin1'))))
    return whileLocked(lock, () => {
      this.#requireExact('collision', path)
      return give()
    })
  }

  /** As `#at`; throws `collision` where what is there has another name. */
  #toWrite<T>(path: StorePath, work: (absolute: Buffer) => T): T {
    this.#requireExact('collision', path)
    return withTemporaryAccess(this.#root, [parentOf(path)], () => permitted(() => work(this.#pathOf(path))))
  }

  /** Work on an absolute path, its folder known to lie inside the root; what is denied is done again. */
  #at<T>(path: StorePath, work: (absolute: Buffer) => T): T {
    this.#requireExact('gone', path)
    return withTemporaryAccess(this.#root, [parentOf(path)], () => permitted(() => work(this.#pathOf(path))))
  }

  /** An absolute path that leads to it through its folder, which is known to lie inside the root. */
  #pathOf(path: StorePath): Buffer {
    // The root itself is where its owner says.
    return path.length === 0 ? this.#root.folder : this.#folderOf(path).entry(nameOf(path))
  }

  /** The folder that it is in, which is known to lie inside the root. */
  #folderOf(path: StorePath): Pinned {
    // It could be reached through its folder, but not by anybody else.
    if (this.#root.isTooLong(path, 0)) throw new StoreError('name', tooLong)
    return this.#folders.at(parentOf(path))
  }

  /** Work on a file under construction. Throws `unsupported` for a token that is none of ours. */
  #atUpload<T>(upload: Upload, work: (paths: UploadPaths, path: StorePath) => T): T {
    const { path, pathsIn } = uploadOf(upload)
    const folder = parentOf(path)
    return withTemporaryAccess(this.#root, [folder], () =>
      work(pathsIn(permitted(() => this.#folders.at(folder))), path),
    )
  }
}

/** How a path is looked at: a root that is a symbolic link is the folder that it leads to, as its owner says. */
const lookFor = (path: StorePath) => (path.length === 0 ? statSync : lstatSync)

const beside = (absolute: Buffer, name: Buffer): Buffer =>
  Buffer.concat([absolute.subarray(0, -nameOf(absolute).length), name])

/** A file of which the source gives no time is as old as its copy. */
const timed = (attributes: FileAttributes): FileAttributes =>
  attributes.modifiedMs === undefined ? { ...attributes, modifiedMs: Date.now() } : attributes

function refuseProperties(given: object = {}): void {
  const names = Object.keys(given)
  if (names.length === 0) return
  const problem = 'is not honoured: a local filesystem has no additional properties'
  const details = names.map((name) => ({ field: `additionalProperties.${name}`, problem }))
  throw new GantryError('NOT_ACCEPTED', `additionalProperties: ${names.join(', ')} ${problem}`, { details })
}
