import { setTimeout as delay } from 'node:timers/promises'
import { accessSync, closeSync, constants, fstatSync, lstatSync, renameSync } from 'node:fs'
import { GantryError } from '../../subjects/errors.ts'
import type { FilesystemOptions } from '../../subjects/filesystem-kinds.ts'
import { ConfinedFolders } from './confined-folders.ts'
import { nothingLost, StoreError } from './driver.ts'
import type {
  Continuation,
  Driver,
  Entry,
  Features,
  FileAttributes,
  Losses,
  ReadOptions,
  SourceFile,
  StorePath,
  Upload,
} from './driver.ts'
import { isNoFolder, localError, locally, orGone, probeError } from './local-errors.ts'
import { replaceFile, replaceLink, setFileAttributes, writeVerified } from './local-file.ts'
import { checkRootFolder, dressFolder, makeFolder } from './local-folder.ts'
import { followLink, openSource, readLink } from './local-links.ts'
import { listFolder, statEntry } from './local-list.ts'
import { persistEntry } from './local-persist.ts'
import { removeEntry, removeVersion } from './local-remove.ts'
import { lending, permitted } from './local-rights.ts'
import { LocalRoot, nameOf, parentOf } from './local-root.ts'
import { attributesOf, LocalSourceFile, lookAtVersion, tickMs } from './local-source-file.ts'
import { maxTemporaryNameBytes, temporaryName } from './local-temporary.ts'
import { beginSharedUpload } from './local-shared.ts'
import { abortUpload, beginUpload, commitUpload, writePart, writtenParts } from './local-upload.ts'
import { pathFromText } from './path-text.ts'

/** NAME_MAX of Linux and of nearly every file system on it. */
const maxNameBytes = 255

/** A larger file is worth the work of several threads. */
const partBytes = 16 * 1024 * 1024

/** Tag of the temporary files of single writes, which belong to no upload. */
const putTag = 'put'

/**
 * A folder of the host. Paths are bytes in every call, the calls are synchronous (the engine runs drivers in worker
 * threads, where that is three times as fast as promises). Symbolic links are kept as links and never followed.
 */
export class LocalDriver implements Driver {
  readonly features: Features
  readonly #options: FilesystemOptions<'local'>
  readonly #root: LocalRoot
  readonly #confined: ConfinedFolders

  /**
   * Throws GantryError INVALID_INPUT for a root that is no path and for every additional property: there are none.
   * @param mayLend whether what is ours in it may be given rights that its mode denies: of targets alone
   * @param linksKeptBelow see `keepingLinks`
   */
  constructor(options: FilesystemOptions<'local'>, mayLend = false, linksKeptBelow?: StorePath) {
    this.#options = options
    refuseProperties(options.additionalProperties)
    const root = pathFromText(options.fsRoot ?? '/', 'fsRoot')
    this.#root = new LocalRoot(Buffer.concat([Buffer.from('/'), root]), mayLend, linksKeptBelow)
    this.#confined = new ConfinedFolders(this.#root)
    this.features = {
      localRoot: this.#root.folder,
      symlinks: true,
      modes: true,
      folderTimesMove: true,
      maxPutBytes: partBytes,
      partBytes: (_, atMostBytes = partBytes) => Math.min(partBytes, atMostBytes),
      concurrency: 1,
    }
  }

  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    try {
      checkRootFolder(this.#root.folder)
      accessSync(this.#root.folder, constants.R_OK | constants.X_OK)
    } catch (error) {
      throw probeError(error)
    }
  }

  async *list(folder: StorePath, signal: AbortSignal): AsyncIterable<Entry[]> {
    signal.throwIfAborted()
    const batches = listFolder(this.#root.absolute(folder))
    try {
      lending(this.#root, [folder], () => permitted(() => this.#root.confine(folder)))
      for (;;) {
        const { value: batch } = lending(this.#root, [folder], () => batches.next())
        signal.throwIfAborted()
        if (batch === undefined) return
        yield batch
      }
    } catch (error) {
      throw isNoFolder(error) ? new StoreError('gone', 'there is no such folder') : localError(error)
    } finally {
      batches.return(undefined)
    }
  }

  async stat(path: StorePath): Promise<Entry | undefined> {
    return orGone(undefined, () => {
      const stat = this.#at(path, (absolute) => lstatSync(absolute, { throwIfNoEntry: false }))
      return stat === undefined ? undefined : statEntry(nameOf(path), stat)
    })
  }

  async open(path: StorePath, { extended = false, follow = false }: ReadOptions = {}): Promise<SourceFile> {
    return locally(
      () =>
        new LocalSourceFile(
          this.#at(path, () => openSource(this.#root, path, follow)),
          extended,
        ),
    )
  }

  async attributesOf(
    path: StorePath,
    { extended = false, follow = false }: ReadOptions = {},
  ): Promise<FileAttributes | undefined> {
    const attributes = (absolute: Buffer) => {
      const stat = lstatSync(absolute, { bigint: true })
      if (!extended && (stat.isDirectory() || stat.isFile())) return attributesOf(stat)
      const fd = openSource(this.#root, path, follow)
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
    if (this.#root.isTooLong(path, moreBytes))
      return 'the path is longer than the operating system takes (4096 bytes)'
    return undefined
  }

  async makeFolder(path: StorePath, { mode }: FileAttributes): Promise<Losses> {
    locally(() => {
      // The root is its owner's: it must be there, and its mode is left alone.
      if (path.length === 0) checkRootFolder(this.#root.folder)
      else this.#at(path, (absolute) => makeFolder(absolute, mode))
    })
    return nothingLost
  }

  async put(path: StorePath, bytes: Buffer, attributes: FileAttributes): Promise<Losses> {
    const write = (fd: number) => writeVerified(fd, bytes, 0)
    return locally(() =>
      this.#at(path, (absolute) => {
        const temporary = this.#beside(path, temporaryName(putTag))
        return replaceFile(temporary, absolute, timed(attributes), write)
      }),
    )
  }

  async remove(path: StorePath): Promise<boolean> {
    if (path.length === 0) throw new StoreError('unsupported', 'the root of a filesystem is not removed')
    const isRemoved = orGone(false, () => this.#at(path, removeEntry))
    this.#confined.forget(path)
    return isRemoved
  }

  async version(path: StorePath): Promise<string | undefined> {
    const look = () => orGone(undefined, () => this.#at(path, lookAtVersion))
    const seen = look()
    if (seen?.isFresh !== true) return seen?.version
    await delay(tickMs)
    return look()?.version
  }

  async removeVersion(path: StorePath, version: string): Promise<boolean> {
    return orGone(false, () => this.#at(path, (absolute) => removeVersion(absolute, version)))
  }

  async persist(path: StorePath): Promise<void> {
    locally(() => this.#at(path, persistEntry))
  }

  async setAttributes(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    // The root is its owner's.
    if (path.length === 0) return nothingLost
    const set = (absolute: Buffer) =>
      lstatSync(absolute).isDirectory()
        ? dressFolder(absolute, attributes)
        : setFileAttributes(absolute, attributes)
    return locally(() => this.#at(path, set))
  }

  async beginUpload(
    path: StorePath,
    sizeBytes: number,
    tag: string,
    continuation?: Continuation,
  ): Promise<Upload> {
    const plan = { sizeBytes, tag, partBytes: this.features.partBytes(sizeBytes) }
    const begin = () =>
      continuation?.shared === undefined
        ? beginUpload(this.#root, path, plan, continuation)
        : beginSharedUpload(this.#root, path, plan, {
            version: continuation.version,
            generation: continuation.shared.generation,
          })
    return locally(() => this.#at(path, begin))
  }

  async writePart(upload: Upload, index: number, offset: number, bytes: Buffer): Promise<void> {
    locally(() => writePart(this.#root, upload, { index, offset }, bytes))
  }

  async writtenParts(upload: Upload, _partBytes: number): Promise<readonly number[] | undefined> {
    return locally(() => writtenParts(this.#root, upload))
  }

  async commitUpload(upload: Upload, _partCount: number, attributes: FileAttributes): Promise<Losses> {
    return locally(() => commitUpload(this.#root, upload, timed(attributes)))
  }

  async abortUpload(upload: Upload): Promise<void> {
    abortUpload(this.#root, upload)
  }

  async readLink(path: StorePath): Promise<Buffer> {
    return locally(() => this.#at(path, readLink))
  }

  async makeLink(path: StorePath, target: Buffer, attributes?: FileAttributes): Promise<Losses> {
    return locally(() =>
      this.#at(path, (absolute) =>
        replaceLink(this.#beside(path, temporaryName(putTag)), absolute, target, attributes),
      ),
    )
  }

  async followLink(path: StorePath): Promise<Entry> {
    return locally(() => this.#at(path, () => statEntry(nameOf(path), followLink(this.#root, path).stat)))
  }

  async rename(path: StorePath, to: StorePath): Promise<void> {
    const folders = [parentOf(path), parentOf(to)]
    const move = () => renameSync(this.#confine(path), this.#confine(to))
    // A folder that gets another one above it is written to as well.
    locally(() => lending(this.#root, folders, () => permitted(move, this.#root.absolute(path))))
    this.#confined.forgetAll()
  }

  keepingLinks(below: StorePath): Driver {
    return new LocalDriver(this.#options, this.#root.mayLend, below)
  }

  async close(): Promise<void> {
    this.#confined.forgetAll()
  }

  /** Work on an absolute path, its folder known to lie inside the root; what is denied is done again. */
  #at<T>(path: StorePath, work: (absolute: Buffer) => T): T {
    return lending(this.#root, [parentOf(path)], () => permitted(() => work(this.#confine(path))))
  }

  /** The absolute path, its folder known to lie inside the root. */
  #confine(path: StorePath): Buffer {
    this.#confined.require(parentOf(path))
    return this.#root.absolute(path)
  }

  #beside(path: StorePath, name: Buffer): Buffer {
    return Buffer.concat([this.#root.absolute(path).subarray(0, -nameOf(path).length), name])
  }
}

/** A file of which the source gives no time is as old as its copy. */
const timed = (attributes: FileAttributes): FileAttributes =>
  attributes.modifiedMs === undefined ? { ...attributes, modifiedMs: Date.now() } : attributes

function refuseProperties(given: Readonly<Record<string, string>> = {}): void {
  const names = Object.keys(given)
  if (names.length === 0) return
  const problem = 'is not honoured: a local filesystem has no additional properties'
  const details = names.map((name) => ({ field: `additionalProperties.${name}`, problem }))
  throw new GantryError('INVALID_INPUT', `additionalProperties: ${names.join(', ')} ${problem}`, { details })
}
