import { lstatSync, readdirSync, statfsSync } from 'node:fs'
import { tickAt, type StorePath } from '../contract/driver.ts'
import { joinPath, nameOf, parentOf } from '../paths/path-text.ts'

/**
 * File systems that may take two names for one if they differ only by case, by the number that Linux knows them by. Behind
 * FUSE, SMB and 9P may be any.
 */
const mayFold: ReadonlySet<number> = new Set([
  0x4d44, // vfat
  0x2011bab0, // exFAT
  0x5346544e, // NTFS
  0x7366746e, // ntfs3
  0x482b, // HFS+
  0x517b, // SMB
  0xfe534d42, // SMB 2 and newer
  0xff534d42, // CIFS
  0x65735546, // FUSE
  0x01021997, // 9P
])

/** Throws system errors. @param folder absolute */
export const mayFoldCase = (folder: Buffer): boolean =>
  process.platform === 'darwin' || mayFold.has(statfsSync(folder).type >>> 0)

/**
 * The same for all names that a file system may take for one, and for some more.
 * @param name bytes, each as one character
 */
export const folded = (name: string): string =>
  Buffer.from(name, 'latin1')
    .toString()
    .normalize('NFD')
    .toUpperCase()
    .toLowerCase()
    // Those of Windows leave dots and spaces at the end out.
    .replace(/[. ]+$/, '')

/** Between two ticks of the kernel's clock a file that is written to twice keeps one time. */
export const kernelTickMs = 10

/** Folders whose names are remembered: those that a few items are in. */
const maxFolders = 64

/**
 * Tells names that are there from those that only lead to something because the file system folds case: a look by name finds
 * either, a listing has the one that was given.
 */
export class ExactNames {
  readonly #absolute: (path: StorePath) => Buffer
  readonly #isOurs: boolean
  /** By path as latin1, the longest unused first. */
  readonly #folders = new Map<
    string,
    { readonly stamp: string | undefined; readonly names: ReadonlySet<string> }
  >()

  /**
   * @param absolute of a path of the filesystem
   * @param isOurs whether others hardly write to it. What they do within a tick of the clock, as long as two seconds, does not
   * show in the time of a folder; to list one that is written to again for each name would take too long where we do that
   */
  constructor(absolute: (path: StorePath) => Buffer, isOurs: boolean) {
    this.#absolute = absolute
    this.#isOurs = isOurs
  }

  /**
   * What stands in the way of a path, at it or above it, under another name; undefined where nothing does. Throws system
   * errors.
   */
  other(path: StorePath): StorePath | undefined {
    return path.length === 0 ? undefined : (this.other(parentOf(path)) ?? this.alike(path))
  }

  /** The same at the path alone, its folder being named as it is there. */
  alike(path: StorePath): StorePath | undefined {
    if (lstatSync(this.#absolute(path), { throwIfNoEntry: false }) === undefined) return undefined
    const name = this.#folded(parentOf(path), nameOf(path).toString('latin1'))
    return name === undefined ? undefined : joinPath(parentOf(path), Buffer.from(name, 'latin1'))
  }

  /** The names of a folder may be others now, at a time at which it had others. */
  forget(folder: StorePath): void {
    this.#folders.delete(folder.toString('latin1'))
  }

  /** What a look finds and no listing has, under whatever case, was removed a moment ago: the system remembers it for a while. */
  #folded(folder: StorePath, name: string): string | undefined {
    const key = folder.toString('latin1')
    const absolute = this.#absolute(folder)
    const { ino, mtimeNs, mtimeMs, ctimeNs } = lstatSync(absolute, { bigint: true })
    const isQuiet = this.#isOurs || Date.now() > Number(mtimeMs) + tickAt(Number(mtimeMs), kernelTickMs)
    const stamp = isQuiet ? `${ino} ${mtimeNs} ${ctimeNs}` : undefined
    const known = this.#folders.get(key)
    if (stamp !== undefined && known?.stamp === stamp && known.names.has(name)) return undefined
    const names = new Set(readdirSync(absolute, 'latin1'))
    this.#folders.delete(key)
    this.#folders.set(key, { stamp, names })
    for (const oldest of this.#folders.keys()) {
      if (this.#folders.size <= maxFolders) break
      this.#folders.delete(oldest)
    }
    if (names.has(name)) return undefined
    const plain = folded(name)
    return [...names].find((one) => folded(one) === plain)
  }
}
