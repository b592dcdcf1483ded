import { closeSync, fstatSync, lstatSync, readlinkSync, type Stats } from 'node:fs'
import { StoreError, type FileAttributes, type StorePath } from '../../drivers/driver.ts'
import { localError } from '../../drivers/local-errors.ts'
import {
  checkUnchanged,
  copyRange,
  makeEmptyFile,
  openForReading,
  replaceFile,
  replaceLink,
} from '../../drivers/local-file.ts'
import { FolderPaths, type LocalRoot } from '../../drivers/local-root.ts'
import { temporaryName } from '../../drivers/local-temporary.ts'
import { targetPath } from './mappings.ts'
import { targetError } from './outcome.ts'
import type { Run } from './run.ts'

/**
 * Copies files of one folder from a folder of the host to another, all calls synchronous: three times as fast as
 * promises, and through the drivers' `open` and `put` every file would pay for promises and buffers of its own.
 */
export class LocalCopy {
  readonly #run: Run
  readonly #source: FolderPaths
  readonly #target: FolderPaths
  readonly #temporary: FolderPaths

  /**
   * Throws StoreErrors: `gone` when the folder is no longer at the source, `permission` when a symbolic link leads out of
   * a root on the way to it.
   * @param folder in the source
   */
  constructor(run: Run, sourceRoot: LocalRoot, targetRoot: LocalRoot, folder: StorePath) {
    const there = targetPath(run, folder)
    try {
      sourceRoot.confine(folder)
    } catch (error) {
      throw localError(error, 'source')
    }
    try {
      targetRoot.confine(there)
    } catch (error) {
      throw targetError(localError(error))
    }
    this.#run = run
    this.#source = new FolderPaths(sourceRoot.absolute(folder))
    this.#target = new FolderPaths(targetRoot.absolute(there))
    this.#temporary = new FolderPaths(targetRoot.absolute(there))
  }

  /** Copies a file and returns its size. Throws StoreErrors. */
  file(name: Buffer): number {
    let fd: number
    try {
      fd = openForReading(this.#source.of(name))
    } catch (error) {
      throw localError(error, 'source')
    }
    try {
      const found = fstatSync(fd)
      if (!found.isFile()) throw new StoreError('unsupported', 'source: this is no longer a file')
      replaceFile(this.#temporaryPath(), this.#target.of(name), attributesOf(found), (to) => {
        copyRange(fd, to, 0, found.size, this.#checkStop)
        checkUnchanged(fd, found)
      })
      return found.size
    } catch (error) {
      throw error instanceof StoreError ? error : targetError(localError(error))
    } finally {
      closeSync(fd)
    }
  }

  /**
   * Copies what need not be opened: an empty file, which a look at it tells all about, and a link. Returns a file's size,
   * undefined for a link. Throws StoreErrors.
   */
  other(name: Buffer): number | undefined {
    let found: Stats
    let link: Buffer | undefined
    try {
      found = lstatSync(this.#source.of(name))
      if (found.isSymbolicLink()) link = readlinkSync(this.#source.of(name), { encoding: 'buffer' })
    } catch (error) {
      throw localError(error, 'source')
    }
    if (link === undefined && !found.isFile()) throw unsupported()
    if (found.isFile() && found.size > 0) return this.file(name)
    try {
      if (link === undefined) return this.#emptyFile(name, attributesOf(found))
      replaceLink(this.#temporaryPath(), this.#target.of(name), link)
      return undefined
    } catch (error) {
      throw targetError(localError(error))
    }
  }

  #emptyFile(name: Buffer, attributes: FileAttributes): number {
    if (makeEmptyFile(this.#target.of(name), attributes)) return 0
    replaceFile(this.#temporaryPath(), this.#target.of(name), attributes, () => undefined)
    return 0
  }

  readonly #checkStop = () => this.#run.stop.check()

  #temporaryPath(): Buffer {
    return this.#temporary.of(temporaryName(this.#run.spec.id))
  }
}

const attributesOf = (stat: Stats): FileAttributes => ({ modifiedMs: stat.mtimeMs, mode: stat.mode })

/** The failure of what can be kept nowhere. */
export const unsupported = () =>
  new StoreError(
    'unsupported',
    'this is neither a file nor a folder nor a symbolic link (a pipe, socket or device)',
  )
