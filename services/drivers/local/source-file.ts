import { closeSync, fstatSync, lstatSync, type BigIntStats } from 'node:fs'
import { StoreError, tickAt, type FileAttributes, type SourceFile } from '../contract/driver.ts'
import { permissionBits, specialBits } from './attributes.ts'
import { locally } from './errors.ts'
import { readExtended } from './extended.ts'
import { readFully } from './file.ts'
import { changed } from '../contract/store-error.ts'

/**
 * The change time moves with every write, mode or link count, and cannot be set; the device's number is left out, because
 * it differs between hosts that have mounted the same store.
 */
export const versionOf = (stat: BigIntStats) => `${stat.ino}-${stat.size}-${stat.mtimeNs}-${stat.ctimeNs}`

const nsInMs = 1_000_000n
const msOf = (ns: bigint): number => Number(ns / nsInMs) + Number(ns % nsInMs) / Number(nsInMs)

/**
 * For how long a change may make no other version of a file, in milliseconds; not above 0 when it does. What is read
 * meanwhile nobody can prove to be of one version.
 * @param ownTickMs default: none, as a file that is written to in the very tick in which it is read is not worth a wait
 */
export function freshMs(changedMs: number, ownTickMs = 0): number {
  const nowMs = Date.now()
  // The clock of another host may be ahead of ours.
  return changedMs > nowMs ? ownTickMs : changedMs + tickAt(changedMs, ownTickMs) - nowMs
}

/** The clock of file systems goes on in steps of up to 10 ms: two changes within one may have the same time. */
const tickMs = 20

/**
 * The version of what stands at a path and is no folder, and for how long a change might not make another one, in
 * milliseconds; not above 0 when it does. Throws system errors.
 */
export function lookAtVersion(absolutePath: Buffer): { version: string; freshMs: number } | undefined {
  const stat = lstatSync(absolutePath, { bigint: true, throwIfNoEntry: false })
  if (stat === undefined || stat.isDirectory()) return undefined
  return { version: versionOf(stat), freshMs: freshMs(msOf(stat.ctimeNs), tickMs) }
}

/**
 * All attributes of a file or folder that was looked at.
 * @param fd open, if extended ones are wanted
 */
export function attributesOf(stat: BigIntStats, fd?: number): FileAttributes {
  return {
    modifiedMs: msOf(stat.mtimeNs),
    mode: Number(stat.mode) & (permissionBits | specialBits),
    owner: { uid: Number(stat.uid), gid: Number(stat.gid) },
    ...(fd !== undefined && { extended: readExtended(fd) }),
  }
}

/** An open file of the host; all of its work is synchronous. */
export class LocalSourceFile implements SourceFile {
  readonly sizeBytes: number
  readonly attributes: FileAttributes
  readonly version: string
  readonly nameCount: number
  /** See `freshMs`, when it was opened. */
  readonly freshMs: number
  readonly #fd: number
  #buffer = Buffer.alloc(0)

  /** @param fd closed with this; also when it is no file, which throws `unsupported` */
  constructor(fd: number, withExtended: boolean) {
    this.#fd = fd
    try {
      const stat = fstatSync(this.#fd, { bigint: true })
      if (!stat.isFile()) throw new StoreError('unsupported', 'this is no file')
      this.sizeBytes = Number(stat.size)
      this.attributes = attributesOf(stat, withExtended ? fd : undefined)
      this.version = versionOf(stat)
      this.nameCount = Number(stat.nlink)
      this.freshMs = freshMs(msOf(stat.ctimeNs))
    } catch (error) {
      closeSync(this.#fd)
      throw error
    }
  }

  async read(offset: number, length: number): Promise<Buffer> {
    return locally(() => {
      // Between the reads of a large file the buffer is kept: new memory for every part costs page faults.
      if (this.#buffer.length < length) this.#buffer = Buffer.allocUnsafe(length)
      const bytes = this.#buffer.subarray(0, length)
      if (readFully(this.#fd, bytes, length, offset) !== length) throw changed()
      this.#check()
      return bytes
    })
  }

  async verifyUnchanged(): Promise<void> {
    locally(() => this.#check())
  }

  async close(): Promise<void> {
    closeSync(this.#fd)
  }

  #check(): void {
    if (versionOf(fstatSync(this.#fd, { bigint: true })) !== this.version) throw changed()
  }
}
