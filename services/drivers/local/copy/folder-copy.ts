import { fstatSync, ftruncateSync, lstatSync, type Stats } from 'node:fs'
import type { Entry, FileAttributes, StorePath } from '../../contract/entry.ts'
import { changed, StoreError, targetError, unsupported } from '../../contract/store-error.ts'
import { bornWith, ownerOf, type Present } from '../attributes.ts'
import { closeEntry, type EntryStats, FolderEntries } from '../folder-entries.ts'
import { isErrno, localError, locally, reading, writingError } from '../errors.ts'
import { readExtended } from '../extended.ts'
import {
  checkUnchanged,
  copyRange,
  type FileNames,
  makeEmptyFile,
  openEntry,
  replaceFile,
  replaceLink,
} from '../file.ts'
import { openSource, readLink } from '../links.ts'
import { statEntry } from '../list.ts'
import { withTemporaryAccess, permitted } from '../rights.ts'
import { FolderPaths, type LocalRoot, type Pinned } from '../root.ts'
import { freshMs } from '../source-file.ts'
import { copySparseRange, isSparse } from '../write/sparse.ts'
import { temporaryName } from '../../paths/temporary-names.ts'
import type { DirectCopy, DirectOptions, FolderCopy } from '../../contract/direct-copy.ts'
import { joinPath } from '../../paths/path-text.ts'

type Told = Parameters<DirectCopy['folder']>[2]

/**
 * Copies files of one folder from a folder of the host to another, all calls synchronous: three times as fast as
 * promises, and through the drivers' `open` and `put` every file would pay for promises and buffers of its own.
 */
export class LocalFolderCopy implements FolderCopy {
  readonly #options: DirectOptions
  readonly #told: Told
  readonly #folder: StorePath
  readonly #sourceRoot: LocalRoot
  readonly #targetRoot: LocalRoot
  readonly #there: readonly [StorePath]
  readonly #opened: readonly [Pinned, Pinned]
  readonly #source: FolderEntries
  readonly #target: FolderEntries
  /** By name and not as it was opened: whoever looks at what a watch told of looks where that is. */
  readonly #named: FolderPaths
  /** What new files of the target's folder are born with, once one was looked at. */
  #born: Present | undefined

  /**
   * Throws StoreErrors: `gone` when the folder is no longer at the source, `permission` when a symbolic link leads out of
   * a root on the way to it.
   * @param folder in the source
   * @param there in the target
   */
  constructor(
    [sourceRoot, targetRoot]: readonly [LocalRoot, LocalRoot],
    options: DirectOptions,
    [folder, there]: readonly [StorePath, StorePath],
    told: Told,
  ) {
    const from = locally(() => sourceRoot.open(folder), 'source')
    let to: Pinned
    try {
      to = withTemporaryAccess(targetRoot, [there], () => permitted(() => targetRoot.open(there)))
    } catch (error) {
      from.close()
      throw targetError(localError(error))
    }
    this.#opened = [from, to]
    this.#options = options
    this.#told = told
    this.#folder = folder
    this.#sourceRoot = sourceRoot
    this.#targetRoot = targetRoot
    this.#there = [there]
    this.#source = new FolderEntries(from)
    this.#target = new FolderEntries(to)
    this.#named = new FolderPaths(sourceRoot.absolute(folder))
  }

  [Symbol.dispose](): void {
    for (const opened of this.#opened) opened.close()
  }

  /** Copies a file and returns its size. Throws StoreErrors. */
  file(name: Buffer): number {
    let fd: number
    try {
      fd = this.#open(name)
    } catch (error) {
      throw localError(error, 'source')
    }
    try {
      const { found, attributes } = locally(() => this.#look(fd), 'source')
      const fill = (to: number) => this.#fill(fd, to, found)
      const losses = this.#atTarget(() =>
        replaceFile(this.#target, this.#names(name), attributes, fill, this.#lookOfNew),
      )
      this.#told.losses(losses)
      this.#told.names(found.nlink)
      return found.size
    } catch (error) {
      throw writingError(error)
    } finally {
      closeEntry(fd)
    }
  }

  /**
   * Copies what need not be opened: an empty file, which a look at it tells all about, and a link. Returns a file's size,
   * undefined for a link. Throws StoreErrors.
   */
  other(name: Buffer): number | undefined {
    let found: EntryStats
    let link: Buffer | undefined
    try {
      found = this.#source.look(name) ?? gone()
      if (found.isSymbolicLink() && !this.#options.follow) link = readLink(this.#source.path(name))
    } catch (error) {
      throw localError(error, 'source')
    }
    const isFile = found.isFile() || (found.isSymbolicLink() && link === undefined)
    if (link === undefined && !isFile) throw unsupported()
    // A followed link, an empty file's extended attributes: both must be opened.
    if (isFile && (found.size > 0 || this.#options.extended)) return this.file(name)
    try {
      if (link === undefined) return this.#emptyFile(name, found)
      const attributes = this.#attributesOf(found)
      const target = link
      const losses = this.#atTarget(() =>
        replaceLink(
          Buffer.from(this.#target.path(temporaryName(this.#options.tag))),
          this.#target.path(name),
          target,
          attributes,
        ),
      )
      this.#told.losses(losses)
      return undefined
    } catch (error) {
      throw targetError(localError(error))
    }
  }

  look(name: Buffer): Entry | undefined {
    try {
      const stat = lstatSync(this.#named.of(name), { throwIfNoEntry: false })
      return stat === undefined ? undefined : statEntry(name, stat)
    } catch (error) {
      if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return undefined
      throw localError(error, 'source')
    }
  }

  #look(fd: number): { readonly found: Stats; readonly attributes: FileAttributes } {
    const found = fstatSync(fd)
    if (!found.isFile()) throw new StoreError('unsupported', 'this is no longer a file')
    if (found.size > 0 && freshMs(found.ctimeMs) > 0) throw changed()
    return { found, attributes: this.#attributesOf(found, fd) }
  }

  #open(name: Buffer): number {
    return this.#options.follow
      ? openSource(this.#sourceRoot, joinPath(this.#folder, name), this.#source.path(name), true)
      : reading(() => openEntry(this.#source, name))
  }

  #fill(from: number, to: number, found: Stats): void {
    const { size } = found
    if (isSparse(size, found.blocks)) {
      copySparseRange(from, to, [0, size], size, this.#options.checkStop)
      // Nobody else writes to this file.
      ftruncateSync(to, size)
    } else {
      copyRange(from, to, 0, size, this.#options.checkStop)
    }
    checkUnchanged(from, found)
  }

  #emptyFile(name: Buffer, found: EntryStats): number {
    const attributes = this.#attributesOf(found)
    const losses = this.#atTarget(
      () =>
        makeEmptyFile(this.#target, name, attributes, this.#lookOfNew) ??
        replaceFile(this.#target, this.#names(name), attributes, () => undefined, this.#lookOfNew),
    )
    this.#told.losses(losses)
    this.#told.names(found.nlink)
    return 0
  }

  /** @param fd for extended attributes, if they are wanted */
  #attributesOf(found: EntryStats, fd?: number): FileAttributes {
    const { mtimeMs: modifiedMs, mode } = found
    const all = { modifiedMs, mode, owner: ownerOf(found) }
    const withExtended = fd !== undefined && this.#options.extended
    return this.#options.carried(withExtended ? { ...all, extended: readExtended(fd) } : all)
  }

  readonly #lookOfNew = (fd: number, attributes: FileAttributes): Present =>
    (this.#born ??= bornWith(fd, attributes))

  #atTarget<T>(work: () => T): T {
    return withTemporaryAccess(this.#targetRoot, this.#there, work)
  }

  #names(name: Buffer): FileNames {
    return { name, temporary: temporaryName(this.#options.tag) }
  }
}

function gone(): never {
  throw new StoreError('gone', 'it is no longer there')
}
