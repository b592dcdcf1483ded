import { lstatSync, readdirSync, statfsSync } from 'node:fs'
import type { StorePath } from '../contract/driver.ts'
import { nameOf, parentOf } from '../paths/path-text.ts'

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

/** @param name bytes, each as one character */
const folded = (name: string): string =>
  Buffer.from(name, 'latin1').toString().normalize('NFD').toUpperCase().toLowerCase()

/** Folders whose names are remembered: those that a few items are in. */
const maxFolders = 64

/**
 * Tells names that are there from those that only lead to something because the file system folds case: a look by name finds
 * either, a listing has the one that was given.
 */
export class ExactNames {
  readonly #absolute: (path: StorePath) => Buffer
  /** By path as latin1, the longest unused first. */
  readonly #folders = new Map<string, { readonly stamp: string; readonly names: ReadonlySet<string> }>()

  /** @param absolute of a path of the filesystem */
  constructor(absolute: (path: StorePath) => Buffer) {
    this.#absolute = absolute
  }

  /** Whether something that is named otherwise stands at a path, or at one above it. Throws system errors. */
  isOther(path: StorePath): boolean {
    if (path.length === 0) return false
    if (this.isOther(parentOf(path))) return true
    if (lstatSync(this.#absolute(path), { throwIfNoEntry: false }) === undefined) return false
    return this.#isFolded(parentOf(path), nameOf(path).toString('latin1'))
  }

  /** What a look finds and no listing has, under whatever case, was removed a moment ago: the system remembers it for a while. */
  #isFolded(folder: StorePath, name: string): boolean {
    const key = folder.toString('latin1')
    const absolute = this.#absolute(folder)
    const { ino, mtimeNs, ctimeNs } = lstatSync(absolute, { bigint: true })
    const stamp = `${ino} ${mtimeNs} ${ctimeNs}`
    const known = this.#folders.get(key)
    if (known?.stamp === stamp && known.names.has(name)) return false
    const names = new Set(readdirSync(absolute, 'latin1'))
    this.#folders.delete(key)
    this.#folders.set(key, { stamp, names })
    for (const oldest of this.#folders.keys()) {
      if (this.#folders.size <= maxFolders) break
      this.#folders.delete(oldest)
    }
    if (names.has(name)) return false
    const plain = folded(name)
    return [...names].some((one) => folded(one) === plain)
  }
}
