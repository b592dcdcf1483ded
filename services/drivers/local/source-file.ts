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

/** The clock of file systems goes on in steps of up to 10 ms: two changes within one may have the same time. */
const tickMs = 20

/**
 * The version of what stands at a path and is no folder, and for how long a change might not make another one, in
 * milliseconds; not above 0 when it does. Throws system errors.
 */
export function lookAtVersion(absolutePath: Buffer): { version: string; freshMs: number } | undefined {
  const stat = lstatSync(absolutePath, { bigint: true, throwIfNoEntry: false })
  if (stat === undefined || stat.isDirectory()) return undefined
  const changedMs = Number(stat.ctimeNs / nsInMs)
  const isWhole = stat.ctimeNs % nsInMs === 0n
  const freshMs = changedMs + (isWhole ? tickAt(changedMs, tickMs) : tickMs) - Date.now()
  return { version: versionOf(stat), freshMs }
}

/**
 * All attributes of a file or folder that was looked at.
 * @param fd open, if extended ones are wanted
 */
export function attributesOf(stat: BigIntStats, fd?: number): FileAttributes {
  return {
    modifiedMs: Number(stat.mtimeNs / nsInMs) + Number(stat.mtimeNs % nsInMs) / Number(nsInMs),
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
