import { setTimeout as delay } from 'node:timers/promises'
import { accessSync, closeSync, constants, fstatSync, lstatSync, renameSync } from 'node:fs'
import { GantryError } from '../../subjects/errors.ts'
import type { FilesystemOptions } from '../../subjects/filesystem-kinds.ts'
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
import { isErrno, localError, locally } from './local-errors.ts'
import { replaceFile, replaceLink, setFileAttributes, writeVerified } from './local-file.ts'
import { checkRootFolder, dressFolder, makeFolder } from './local-folder.ts'
import { followLink, openSource, readLink } from './local-links.ts'
import { listFolder, statEntry } from './local-list.ts'
import { persistEntry } from './local-persist.ts'
import { removeEntry, removeVersion } from './local-remove.ts'
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

/** A look at a folder's place holds for so long: the engine works folder by folder, hundreds of files in each. */
const confinedForMs = 1_000

/**
 * A folder of the host. Paths are bytes in every call, the calls are synchronous (the engine runs drivers in worker
 * threads, where that is three times as fast as promises). Symbolic links are kept as links and never followed.
 */
export class LocalDriver implements Driver {
  readonly features: Features
  readonly #root: LocalRoot
  #confined: { folder: StorePath; untilMs: number } | undefined

  /** Throws GantryError INVALID_INPUT for a root that is no path and for every additional property: there are none. */
  constructor(options: FilesystemOptions<'local'>) {
    refuseProperties(options.additionalProperties)
    const root = pathFromText(options.fsRoot ?? '/', 'fsRoot')
    this.#root = new LocalRoot(Buffer.concat([Buffer.from('/'), root]))
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
    try {
      this.#root.confine(folder)
      for (const batch of listFolder(this.#root.absolute(folder))) {
        signal.throwIfAborted()
        yield batch
      }
    } catch (error) {
      throw isNoFolder(error) ? new StoreError('gone', 'there is no such folder') : localError(error)
    }
  }

  async stat(path: StorePath): Promise<Entry | undefined> {
    return orGone(undefined, () => {
      const stat = lstatSync(this.#confine(path), { throwIfNoEntry: false })
      return stat === undefined ? undefined : statEntry(nameOf(path), stat)
    })
  }

  async open(path: StorePath, { extended = false, follow = false }: ReadOptions = {}): Promise<SourceFile> {
    return locally(() => {
      this.#confine(path)
      return new LocalSourceFile(openSource(this.#root, path, follow), extended)
    })
  }

  async attributesOf(
    path: StorePath,
    { extended = false, follow = false }: ReadOptions = {},
  ): Promise<FileAttributes | undefined> {
    return orGone(undefined, () => {
      const stat = lstatSync(this.#confine(path), { bigint: true })
      if (!extended && (stat.isDirectory() || stat.isFile())) return attributesOf(stat)
      const fd = openSource(this.#root, path, follow)
      try {
        return attributesOf(fstatSync(fd, { bigint: true }), extended ? fd : undefined)
      } finally {
        closeSync(fd)
      }
    })
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
      else makeFolder(this.#confine(path), mode)
    })
    return nothingLost
  }

  async put(path: StorePath, bytes: Buffer, attributes: FileAttributes): Promise<Losses> {
    return locally(() => {
      const temporary = this.#beside(path, temporaryName(putTag))
      return replaceFile(temporary, this.#confine(path), timed(attributes), (fd) =>
        writeVerified(fd, bytes, 0),
      )
    })
  }

  async remove(path: StorePath): Promise<boolean> {
    if (path.length === 0) throw new StoreError('unsupported', 'the root of a filesystem is not removed')
    return orGone(false, () => removeEntry(this.#confine(path)))
  }

  async version(path: StorePath): Promise<string | undefined> {
    const look = () => orGone(undefined, () => lookAtVersion(this.#confine(path)))
    const seen = look()
    if (seen?.isFresh !== true) return seen?.version
    await delay(tickMs)
    return look()?.version
  }

  async removeVersion(path: StorePath, version: string): Promise<boolean> {
    return orGone(false, () => removeVersion(this.#confine(path), version))
  }

  async persist(path: StorePath): Promise<void> {
    locally(() => persistEntry(this.#confine(path)))
  }

  async setAttributes(path: StorePath, attributes: FileAttributes): Promise<Losses> {
    // The root is its owner's.
    if (path.length === 0) return nothingLost
    return locally(() => {
      const absolute = this.#confine(path)
      return lstatSync(absolute).isDirectory()
        ? dressFolder(absolute, attributes)
        : setFileAttributes(absolute, attributes)
    })
  }

  async beginUpload(
    path: StorePath,
    sizeBytes: number,
    tag: string,
    continuation?: Continuation,
  ): Promise<Upload> {
    return locally(() => {
      this.#confine(path)
      const plan = { sizeBytes, tag, partBytes: this.features.partBytes(sizeBytes) }
      return continuation?.shared === undefined
        ? beginUpload(this.#root, path, plan, continuation)
        : beginSharedUpload(this.#root, path, plan, {
            version: continuation.version,
            generation: continuation.shared.generation,
          })
    })
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
    return locally(() => readLink(this.#confine(path)))
  }

  async makeLink(path: StorePath, target: Buffer, attributes?: FileAttributes): Promise<Losses> {
    return locally(() =>
      replaceLink(this.#beside(path, temporaryName(putTag)), this.#confine(path), target, attributes),
    )
  }

  async followLink(path: StorePath): Promise<Entry> {
    return locally(() => {
      this.#confine(path)
      return statEntry(nameOf(path), followLink(this.#root, path).stat)
    })
  }

  async rename(path: StorePath, to: StorePath): Promise<void> {
    locally(() => renameSync(this.#confine(path), this.#confine(to)))
  }

  async close(): Promise<void> {
    this.#confined = undefined
  }

  /** The absolute path, its folder known to lie inside the root. */
  #confine(path: StorePath): Buffer {
    const folder = parentOf(path)
    const now = performance.now()
    if (
      this.#confined === undefined ||
      this.#confined.untilMs < now ||
      !this.#confined.folder.equals(folder)
    ) {
      this.#root.confine(folder)
      this.#confined = { folder: Buffer.from(folder), untilMs: now + confinedForMs }
    }
    return this.#root.absolute(path)
  }

  #beside(path: StorePath, name: Buffer): Buffer {
    return Buffer.concat([this.#root.absolute(path).subarray(0, -nameOf(path).length), name])
  }
}

/** What work comes to; the other thing where nothing is, as below what is not there and below a file. */
function orGone<T>(otherwise: T, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isNoFolder(error)) return otherwise
    throw localError(error)
  }
}

/** Whether something else than a folder is on the way: a file, or a symbolic link that leads to itself. */
const isNoFolder = (error: unknown): boolean => isErrno(error, 'ENOTDIR') || isErrno(error, 'ELOOP')

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

function probeError(error: unknown): unknown {
  const known = localError(error)
  if (!(known instanceof StoreError) || known.failure === 'gone') return known
  const failure = known.failure === 'permission' ? 'refused' : 'unreachable'
  return new StoreError(failure, known.message, { cause: error })
}
