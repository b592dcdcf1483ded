import { closeSync, constants, lstatSync, openSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { type Confinement, StoreError, type StorePath } from '../contract/driver.ts'
import { belowRoot, isErrno } from './errors.ts'
import { isWithin, problemOfPath } from '../paths/path-text.ts'

const slash = 0x2f
const slashBytes = Buffer.of(slash)
const dotByte = 0x2e
const dot = Buffer.of(dotByte)

/** Longest path that Linux takes, with its closing NUL. */
const maxPathBytes = 4096

/** From Linux's <fcntl.h>: opens what may not be read, to look at it or go on from it, and never another thing. */
export const pathOnly = 0o10000000

/** A path that leads to what a descriptor has open, whatever names that has by now. */
export const throughDescriptor = (fd: number): string => `${descriptors}/${fd}`

/** With the number that this process has there: the link `self` costs each path half a microsecond. */
const descriptors = ownDescriptors()

function ownDescriptors(): string {
  try {
    return `/proc/${readlinkSync('/proc/self')}/fd`
  } catch {
    // What is below is not there either, and nobody asks for it.
    return '/proc/self/fd'
  }
}

/**
 * Something of the host, mostly a folder, that stays the same one until it is closed, whatever takes its place. Only who
 * holds it may use its path: the number in it is given to something else later.
 */
export class Pinned implements Disposable {
  /** Absolute, and leads to what was pinned; entries of a folder are reached through it. */
  readonly path: Buffer
  #fd: number | undefined

  private constructor(path: Buffer, fd: number | undefined) {
    this.path = path
    this.#fd = fd
  }

  /** Throws system errors. */
  static at(absolute: Buffer, flags = 0): Pinned {
    const fd = openSync(absolute, pathOnly | flags)
    return new Pinned(Buffer.from(throughDescriptor(fd), 'latin1'), fd)
  }

  /** What a path leads to in the end. Throws system errors. */
  static endOf(absolute: Buffer): Pinned {
    return hasDescriptors ? Pinned.at(absolute) : new Pinned(realPath(absolute), undefined)
  }

  /** By its name alone, where the system has no descriptors to go on from. */
  static named(absolute: Buffer): Pinned {
    return new Pinned(absolute, undefined)
  }

  /** Undefined where the system has none to go on from, and once it is closed. */
  get descriptor(): number | undefined {
    return this.#fd
  }

  /** Where it is by now, without symbolic links: the system's own knowledge. Throws system errors. */
  place(): Buffer {
    return this.#fd === undefined ? realPath(this.path) : readlinkSync(this.path, { encoding: 'buffer' })
  }

  /** Absolute path of an entry, or of the folder by `.`. Throws `name` for what leads elsewhere. */
  entry(name: Uint8Array): Buffer {
    const isUp = name.length === 2 && name[0] === dotByte && name[1] === dotByte
    if (name.length === 0 || isUp || name.includes(slash) || name.includes(0))
      throw new StoreError('name', 'a name that no entry of a folder has')
    return below(this.path, name)
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

const below = (folder: Buffer, path: Uint8Array): Buffer =>
  Buffer.concat(folder.length === 1 ? [folder, path] : [folder, slashBytes, path])

/** Whether the system has such paths: Linux with /proc. */
const hasDescriptors = isReachable()

function isReachable(): boolean {
  if (process.platform !== 'linux') return false
  try {
    using root = Pinned.at(Buffer.from('/'))
    return root.place().equals(Buffer.from('/')) && lstatSync(root.entry(dot)).isDirectory()
  } catch {
    return false
  }
}

/** The folder of the host that is a filesystem's root: absolute paths, and the guard that nothing leaves it. */
export class LocalRoot {
  /** Absolute, without a slash at its end unless it is `/` itself. */
  readonly folder: Buffer
  /** Whether we may give ourselves rights to what is ours in it (`local-rights.ts`): never at a source. */
  readonly mayGrantAccess: boolean
  readonly #confinement: Confinement
  readonly #prefix: Buffer
  readonly #requirePlace: ((place: Buffer) => void) | undefined
  /** Places of folders by their absolute paths, as latin1: of the root, and of those that it is confined to. */
  readonly #places = new Map<string, Buffer>()

  /** @param requirePlace throws when the root may not be where its path leads to by now */
  constructor(
    folder: Buffer,
    mayGrantAccess = false,
    confinement: Confinement = { below: [], links: 'refused' },
    requirePlace?: (place: Buffer) => void,
  ) {
    this.mayGrantAccess = mayGrantAccess
    this.#requirePlace = requirePlace
    this.#confinement = confinement
    let end = folder.length
    while (end > 1 && folder[end - 1] === slash) end--
    this.folder = Buffer.from(folder.subarray(0, end))
    this.#prefix = this.folder.length === 1 ? this.folder : Buffer.concat([this.folder, Buffer.from('/')])
  }

  /** Absolute path of a path of this filesystem. Throws `name` for what is none, and would lead out of it. */
  absolute(path: StorePath): Buffer {
    const problem = problemOfPath(path)
    if (problem !== undefined) throw new StoreError('name', `a path ${problem}`)
    return path.length === 0 ? this.folder : Buffer.concat([this.#prefix, path])
  }

  /** Whether the operating system would refuse the absolute path, or one in it as long as `moreBytes`, for its length. */
  isTooLong(path: StorePath, moreBytes: number): boolean {
    return this.#prefix.length + path.length + moreBytes >= maxPathBytes
  }

  /**
   * Opens a folder to work on its entries. What is opened is checked, not its path: whoever may write in the filesystem can
   * replace a folder by a symbolic link at any moment, also between a check of the path and its use.
   *
   * Throws `permission` when a symbolic link on the way leads out of the root, or is below a folder that the work is
   * confined to; there it is `gone` where links are kept. Throws system errors, ENOENT when there is no such folder.
   * Elsewhere links that stay inside of the root are followed: a migration may begin at one.
   *
   * The last segment of each name in the folder is not covered: it is opened with O_NOFOLLOW, and replaced by rename, which
   * does not follow.
   */
  open(folder: StorePath): Pinned {
    try {
      return this.#opened(folder)
    } catch (error) {
      throw belowRoot(error, () => statSync(this.folder))
    }
  }

  #opened(folder: StorePath): Pinned {
    const base = this.#baseOf(folder)
    if (!hasDescriptors) return this.#checkedByName(folder, base)
    if (base === undefined) return this.#openInside(folder)
    return this.#openAsNamed(base, folder) ?? this.#walk(base, folder)
  }

  /** Throws `permission` when a path without symbolic links in it lies outside of the root. */
  requireInside(real: Buffer): void {
    if (!this.#isInside(real)) throw leadsOut()
  }

  #isInside(real: Buffer): boolean {
    // Nothing lies outside of /.
    if (this.folder.length === 1) return true
    return contains(this.#placeOf(this.folder), real) || contains(this.#placeNow(this.folder), real)
  }

  /** The outermost of the folders that the work is confined to. */
  #baseOf(folder: StorePath): StorePath | undefined {
    let found: StorePath | undefined
    for (const base of this.#confinement.below)
      if (isWithin(base, folder) && (found === undefined || base.length < found.length)) found = base
    return found
  }

  #openInside(folder: StorePath): Pinned {
    const opened = Pinned.at(this.absolute(folder), constants.O_DIRECTORY)
    try {
      if (this.folder.length > 1) this.requireInside(opened.place())
      return opened
    } catch (error) {
      opened.close()
      throw error
    }
  }

  /**
   * The usual case in two system calls, however long the path: the system says that what was opened is where the path says.
   * Undefined when it does not, for whatever reason.
   */
  #openAsNamed(base: StorePath, folder: StorePath): Pinned | undefined {
    let opened: Pinned | undefined
    try {
      opened = Pinned.at(this.absolute(folder), constants.O_DIRECTORY)
      const place = opened.place()
      const top = this.absolute(base)
      const rest = base.length === 0 ? folder : folder.subarray(base.length + 1)
      for (const from of [() => this.#placeOf(top), () => this.#placeNow(top)]) {
        const itsPlace = from()
        if (!this.#isInside(itsPlace)) break
        if (place.equals(rest.length === 0 ? itsPlace : below(itsPlace, rest))) return opened
      }
    } catch {
      // The walk finds out what is wrong.
    }
    opened?.close()
    return undefined
  }

  /** Goes down from folder to folder: also where the system writes names in another way, as without regard to case. */
  #walk(base: StorePath, folder: StorePath): Pinned {
    let at = this.#openInside(base)
    for (let done = base.length === 0 ? 0 : base.length + 1; done < folder.length;) {
      const next = folder.indexOf(slash, done)
      const end = next === -1 ? folder.length : next
      const path = below(at.path, folder.subarray(done, end))
      using _above = at
      at = this.#openBelow(path)
      done = end + 1
    }
    return at
  }

  #openBelow(path: Buffer): Pinned {
    try {
      return Pinned.at(path, constants.O_DIRECTORY | constants.O_NOFOLLOW)
    } catch (error) {
      const isLink =
        isErrno(error, 'ENOTDIR') && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
      throw isLink ? this.#refusedLink() : error
    }
  }

  /** Where the system has no descriptors to go on from: a link that is put there after this is followed. */
  #checkedByName(folder: StorePath, base: StorePath | undefined): Pinned {
    const absolute = this.absolute(folder)
    const real = realPath(absolute)
    if (base !== undefined) {
      for (let end = base.length; end < folder.length;) {
        const next = folder.indexOf(slash, end + 1)
        end = next === -1 ? folder.length : next
        if (lstatSync(this.absolute(folder.subarray(0, end))).isSymbolicLink()) throw this.#refusedLink()
      }
    }
    this.requireInside(real)
    return Pinned.named(absolute)
  }

  #refusedLink(): StoreError {
    return this.#confinement.links === 'gone'
      ? new StoreError('gone', 'a symbolic link took the place of a folder on this path')
      : new StoreError(
          'permission',
          'a symbolic link took the place of a folder on this path, and links are not followed here; replace it by a folder',
        )
  }

  #placeOf(absolute: Buffer): Buffer {
    return this.#places.get(absolute.toString('latin1')) ?? this.#placeNow(absolute)
  }

  #placeNow(absolute: Buffer): Buffer {
    const place = realPath(absolute)
    if (absolute === this.folder) this.#requirePlace?.(place)
    this.#places.set(absolute.toString('latin1'), place)
    return place
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
  folder.length === 1 || isWithin(folder, path)

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
