import { lstatSync, realpathSync } from 'node:fs'
import { StoreError, type StorePath } from './driver.ts'

const slash = 0x2f

/** Longest path that Linux takes, with its closing NUL. */
const maxPathBytes = 4096

/** Everything up to the last slash; empty for an entry of the root. */
export const parentOf = (path: StorePath): StorePath => path.subarray(0, Math.max(0, path.lastIndexOf(slash)))

/** The last segment. */
export const nameOf = (path: StorePath): Buffer => path.subarray(path.lastIndexOf(slash) + 1)

/** The folder of the host that is a filesystem's root: absolute paths, and the guard that nothing leaves it. */
export class LocalRoot {
  /** Absolute, without a slash at its end unless it is `/` itself. */
  readonly folder: Buffer
  /** Whether we may give ourselves rights to what is ours in it (`local-rights.ts`): never at a source. */
  readonly mayLend: boolean
  readonly #linksKeptBelow: StorePath | undefined
  readonly #prefix: Buffer

  /** @param linksKeptBelow of a source: the path below which links are kept as links, so that nothing is behind them */
  constructor(folder: Buffer, mayLend = false, linksKeptBelow?: StorePath) {
    this.mayLend = mayLend
    this.#linksKeptBelow = linksKeptBelow
    let end = folder.length
    while (end > 1 && folder[end - 1] === slash) end--
    this.folder = Buffer.from(folder.subarray(0, end))
    this.#prefix = this.folder.length === 1 ? this.folder : Buffer.concat([this.folder, Buffer.from('/')])
  }

  /** Absolute path of a path of this filesystem. */
  absolute(path: StorePath): Buffer {
    return path.length === 0 ? this.folder : Buffer.concat([this.#prefix, path])
  }

  /** Whether the operating system would refuse the absolute path, or one in it as long as `moreBytes`, for its length. */
  isTooLong(path: StorePath, moreBytes: number): boolean {
    return this.#prefix.length + path.length + moreBytes >= maxPathBytes
  }

  /**
   * Throws `permission` when the folder lies outside the root because a symbolic link on the way to it leads there, and
   * `gone` when there is no such folder, or one that is kept took the place of a folder above it. Links that stay inside
   * are allowed: a migration may begin at one.
   *
   * It is asked once for a batch of names in a folder, not for each name: resolving costs a system call for every
   * segment, and between the question and the use of its answer a link can be put there either way. The last segment of
   * each name is not covered by this: it is opened with O_NOFOLLOW, and replaced by rename, which does not follow.
   */
  confine(folder: StorePath): void {
    // Nothing lies outside of /.
    if (this.folder.length === 1) return
    const real = realPath(this.absolute(folder))
    if (this.#isInside(real)) return
    if (this.#isBehindKept(folder))
      throw new StoreError('gone', 'a symbolic link took the place of a folder on this path')
    throw leadsOut()
  }

  /** Throws `permission` when a path without symbolic links in it lies outside of the root. */
  requireInside(real: Buffer): void {
    if (!this.#isInside(real)) throw leadsOut()
  }

  #isInside(real: Buffer): boolean {
    return contains(realPath(this.folder), real)
  }

  /** Whether a link that is kept is on the way to a folder. Looks from above, so that nothing behind it is looked at. */
  #isBehindKept(folder: StorePath): boolean {
    if (this.#linksKeptBelow === undefined) return false
    for (let end = this.#linksKeptBelow.length; end < folder.length;) {
      const next = folder.indexOf(slash, end + 1)
      end = next === -1 ? folder.length : next
      if (lstatSync(this.absolute(folder.subarray(0, end))).isSymbolicLink()) return true
    }
    return false
  }
}

const leadsOut = () =>
  new StoreError(
    'permission',
    'a symbolic link on this path leads out of the root of the filesystem; such paths are refused',
  )

/** The path with all symbolic links resolved. Throws system errors. */
export const realPath = (path: Buffer): Buffer => realpathSync.native(path, { encoding: 'buffer' })

/** Whether a path without symbolic links is a folder, or lies in it. */
export const contains = (folder: Buffer, path: Buffer): boolean =>
  folder.length === 1 ||
  path.equals(folder) ||
  (path[folder.length] === slash && path.subarray(0, folder.length).equals(folder))

/** Absolute paths of the entries of one folder, all in one buffer: a path is valid until the next is asked for. */
export class FolderPaths {
  #buffer: Buffer
  readonly #prefixLength: number

  constructor(absoluteFolder: Buffer) {
    const slashes = absoluteFolder.at(-1) === slash ? 0 : 1
    this.#prefixLength = absoluteFolder.length + slashes
    // Names of up to 255 bytes, the most that Linux has, fit without growing.
    this.#buffer = Buffer.allocUnsafeSlow(this.#prefixLength + 256)
    absoluteFolder.copy(this.#buffer)
    this.#buffer[this.#prefixLength - 1] = slash
  }

  of(name: Uint8Array): Buffer {
    const length = this.#prefixLength + name.length
    if (length > this.#buffer.length) {
      this.#buffer = Buffer.concat([this.#buffer.subarray(0, this.#prefixLength)], length)
    }
    this.#buffer.set(name, this.#prefixLength)
    return this.#buffer.subarray(0, length)
  }
}
