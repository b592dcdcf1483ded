import { fstatSync, ftruncateSync, type Stats } from 'node:fs'
import { StoreError, type FileAttributes, type StorePath } from '../../drivers/contract/driver.ts'
import { bornWith, ownerOf, type Present } from '../../drivers/local/attributes.ts'
import { closeEntry, type EntryStats, FolderEntries } from '../../drivers/local/folder-entries.ts'
import { localError, locally } from '../../drivers/local/errors.ts'
import { readExtended } from '../../drivers/local/extended.ts'
import {
  checkUnchanged,
  copyRange,
  type FileNames,
  makeEmptyFile,
  openEntry,
  replaceFile,
  replaceLink,
} from '../../drivers/local/file.ts'
import { openSource, readLink } from '../../drivers/local/links.ts'
import { withTemporaryAccess, permitted } from '../../drivers/local/rights.ts'
import type { LocalRoot, Pinned } from '../../drivers/local/root.ts'
import { copySparseRange, isSparse } from '../../drivers/local/write/sparse.ts'
import { temporaryName } from '../../drivers/local/write/temporary.ts'
import type { Counts } from '../run/counts.ts'
import { targetPath } from '../run/mappings.ts'
import { carried, countLosses, countNames, readOptions } from '../run/metadata.ts'
import { targetError, writingError } from '../run/outcome.ts'
import { joinPath } from '../items/paths.ts'
import type { Run } from '../run/run.ts'

/**
 * Copies files of one folder from a folder of the host to another, all calls synchronous: three times as fast as
 * promises, and through the drivers' `open` and `put` every file would pay for promises and buffers of its own.
 */
export class LocalCopy implements Disposable {
  readonly #run: Run
  readonly #counts: Counts
  readonly #options: ReturnType<typeof readOptions>
  readonly #folder: StorePath
  readonly #sourceRoot: LocalRoot
  readonly #targetRoot: LocalRoot
  readonly #there: readonly [StorePath]
  readonly #opened: readonly [Pinned, Pinned]
  readonly #source: FolderEntries
  readonly #target: FolderEntries
  /** What new files of the target's folder are born with, once one was looked at. */
  #born: Present | undefined

  /**
   * Throws StoreErrors: `gone` when the folder is no longer at the source, `permission` when a symbolic link leads out of
   * a root on the way to it.
   * @param folder in the source
   * @param counts what is not kept is added to them
   */
  constructor(
    run: Run,
    [sourceRoot, targetRoot]: readonly [LocalRoot, LocalRoot],
    folder: StorePath,
    counts: Counts,
  ) {
    const there = targetPath(run, folder)
    const from = locally(() => sourceRoot.open(folder), 'source')
    let to: Pinned
    try {
      to = withTemporaryAccess(targetRoot, [there], () => permitted(() => targetRoot.open(there)))
    } catch (error) {
      from.close()
      throw targetError(localError(error))
    }
    this.#opened = [from, to]
    this.#run = run
    this.#counts = counts
    this.#options = readOptions(run.spec)
    this.#folder = folder
    this.#sourceRoot = sourceRoot
    this.#targetRoot = targetRoot
    this.#there = [there]
    this.#source = new FolderEntries(from)
    this.#target = new FolderEntries(to)
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
      countLosses(this.#counts, losses)
      countNames(this.#counts, found.nlink)
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
          Buffer.from(this.#target.path(temporaryName(this.#run.spec.id))),
          this.#target.path(name),
          target,
          attributes,
        ),
      )
      countLosses(this.#counts, losses)
      return undefined
    } catch (error) {
      throw targetError(localError(error))
    }
  }

  #look(fd: number): { readonly found: Stats; readonly attributes: FileAttributes } {
    const found = fstatSync(fd)
    if (!found.isFile()) throw new StoreError('unsupported', 'this is no longer a file')
    return { found, attributes: this.#attributesOf(found, fd) }
  }

  #open(name: Buffer): number {
    return this.#options.follow
      ? openSource(this.#sourceRoot, joinPath(this.#folder, name), this.#source.path(name), true)
      : openEntry(this.#source, name)
  }

  #fill(from: number, to: number, found: Stats): void {
    const { size } = found
    if (isSparse(size, found.blocks)) {
      copySparseRange(from, to, [0, size], size, this.#checkStop)
      // Nobody else writes to this file.
      ftruncateSync(to, size)
    } else {
      copyRange(from, to, 0, size, this.#checkStop)
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
    countLosses(this.#counts, losses)
    countNames(this.#counts, found.nlink)
    return 0
  }

  /** @param fd for extended attributes, if they are wanted */
  #attributesOf(found: EntryStats, fd?: number): FileAttributes {
    const { mtimeMs: modifiedMs, mode } = found
    const all = { modifiedMs, mode, owner: ownerOf(found) }
    const withExtended = fd !== undefined && this.#options.extended
    return carried(this.#run.spec, withExtended ? { ...all, extended: readExtended(fd) } : all)
  }

  readonly #lookOfNew = (fd: number, attributes: FileAttributes): Present =>
    (this.#born ??= bornWith(fd, attributes))

  #atTarget<T>(work: () => T): T {
    return withTemporaryAccess(this.#targetRoot, this.#there, work)
  }

  readonly #checkStop = () => this.#run.stop.check()

  #names(name: Buffer): FileNames {
    return { name, temporary: temporaryName(this.#run.spec.id) }
  }
}

function gone(): never {
  throw new StoreError('gone', 'it is no longer there')
}

/** The failure of what can be kept nowhere. */
export const unsupported = () =>
  new StoreError(
    'unsupported',
    'this is neither a file nor a folder nor a symbolic link (a pipe, socket or device)',
  )
