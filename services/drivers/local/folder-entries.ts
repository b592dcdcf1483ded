import { closeSync, constants, lstatSync, openSync, renameSync, type Stats } from 'node:fs'
import { FolderPaths, type Pinned } from './root.ts'
import { type FolderCalls, folderCalls } from './system-calls.ts'

/** What a look at an entry tells. */
export type EntryStats = Pick<
  Stats,
  | 'isFile'
  | 'isDirectory'
  | 'isSymbolicLink'
  | 'mode'
  | 'nlink'
  | 'uid'
  | 'gid'
  | 'size'
  | 'mtimeMs'
  | 'ctimeMs'
  | 'birthtimeMs'
>

/**
 * Calls through paths before a thread loads the system calls that take a folder and a name: some 300 files. Loading them
 * costs it 10 ms, which those who move a few files need not pay; each call saves 2 to 3 µs, and who moves 10,000 files
 * is done sooner the earlier they are loaded, as less code is compiled twice.
 */
export const usualNativeCallsAfter = 1_000

/** Files that a thread has open at once through system calls of its own; further ones are opened by Node. */
const maxHeld = 16

/**
 * Memory for the descriptors that a thread has open without Node's knowledge. Node closes the others when the thread ends,
 * wherever it was; these are left to who started the thread (`closeHeld`).
 */
export const createHeld = (): SharedArrayBuffer =>
  new SharedArrayBuffer(maxHeld * Int32Array.BYTES_PER_ELEMENT)

/** Closes what a thread had open when it ended. */
export function closeHeld(held: SharedArrayBuffer): void {
  const slots = new Int32Array(held)
  for (const fd of slots) if (fd !== free) closeSync(fd)
  slots.fill(free)
}

/** A slot without a descriptor; the number itself is that of a standard stream. */
const free = 0

/** From Linux's <fcntl.h>. */
const closeOnExec = 0o2000000
const noFollow = 0x100

/** STATX_BASIC_STATS and STATX_BTIME of <linux/stat.h>. */
const wantedFields = 0xfff
const statxBytes = 256

/** NAME_MAX of Linux. */
const maxNameBytes = 255
const slash = 0x2f

/**
 * System calls of this thread that take an open folder and a name. They are quicker than the same calls of Node, which take
 * a path through `/proc`: the system need not find the folder again for each name. Whatever they refuse is done once more
 * by Node, so that there is one kind of errors.
 */
class NativeCalls {
  readonly #calls: FolderCalls
  readonly #held: Int32Array
  readonly #names = [Buffer.alloc(maxNameBytes + 1), Buffer.alloc(maxNameBytes + 1)] as const
  readonly #stat = Buffer.alloc(statxBytes)
  readonly #words = new Uint32Array(this.#stat.buffer, this.#stat.byteOffset, statxBytes / 4)
  readonly #halves = new Uint16Array(this.#stat.buffer, this.#stat.byteOffset, statxBytes / 2)
  readonly #longs = new BigInt64Array(this.#stat.buffer, this.#stat.byteOffset, statxBytes / 8)

  constructor(calls: FolderCalls, held: SharedArrayBuffer) {
    this.#calls = calls
    this.#held = new Int32Array(held)
  }

  open(folder: number, name: Uint8Array, flags: number, mode: number): number | undefined {
    const slot = this.#held.indexOf(free)
    if (slot === -1 || !isNamed(name, this.#names[0])) return undefined
    const fd = this.#calls.openat(folder, this.#names[0], flags | closeOnExec, mode)
    if (fd <= 0) return undefined
    this.#held[slot] = fd
    return fd
  }

  /** Whether it was one of these. */
  close(fd: number): boolean {
    const slot = this.#held.indexOf(fd)
    if (slot === -1) return false
    // First: the number may be given to another thread as soon as it is closed.
    this.#held[slot] = free
    this.#calls.close(fd)
    return true
  }

  rename(folder: number, from: Uint8Array, to: Uint8Array): boolean {
    const [first, second] = this.#names
    if (!isNamed(from, first) || !isNamed(to, second)) return false
    return this.#calls.renameat(folder, first, folder, second) === 0
  }

  look(folder: number, name: Uint8Array): EntryStats | undefined {
    if (!isNamed(name, this.#names[0])) return undefined
    if (this.#calls.statx(folder, this.#names[0], noFollow, wantedFields, this.#stat) !== 0) return undefined
    return new NativeStats(this.#words, this.#halves, this.#longs)
  }
}

/** Copies a name with a NUL at its end; false for what is more than one name. */
function isNamed(name: Uint8Array, into: Buffer): boolean {
  const { length } = name
  if (length === 0 || length > maxNameBytes) return false
  for (let i = 0; i < length; i++) {
    const byte = name[i]!
    if (byte === slash || byte === 0) return false
    into[i] = byte
  }
  into[length] = 0
  return true
}

/** A `struct statx`, in words of 4, 2 and 8 bytes. */
class NativeStats implements EntryStats {
  readonly mode: number
  readonly nlink: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly birthtimeMs: number

  constructor(words: Uint32Array, halves: Uint16Array, longs: BigInt64Array) {
    const timeAt = (byte: number) => Number(longs[byte / 8]) * 1e3 + words[byte / 4 + 2]! / 1e6
    this.nlink = words[4]!
    this.uid = words[5]!
    this.gid = words[6]!
    this.mode = halves[14]!
    this.size = Number(longs[5])
    this.birthtimeMs = timeAt(80)
    this.ctimeMs = timeAt(96)
    this.mtimeMs = timeAt(112)
  }

  isFile(): boolean {
    return (this.mode & constants.S_IFMT) === constants.S_IFREG
  }

  isDirectory(): boolean {
    return (this.mode & constants.S_IFMT) === constants.S_IFDIR
  }

  isSymbolicLink(): boolean {
    return (this.mode & constants.S_IFMT) === constants.S_IFLNK
  }
}

let native: NativeCalls | undefined
let held: SharedArrayBuffer | undefined
let callsLeft = 0

/**
 * Allows this thread system calls of its own, after so many that went through paths. Without this there are none.
 * @param memory of `createHeld`; who gave it closes what is in it when the thread has ended
 */
export function useNativeCalls(memory: SharedArrayBuffer, after: number): void {
  held = memory
  callsLeft = after
  native = undefined
}

function nativeCalls(): NativeCalls | undefined {
  if (native !== undefined || held === undefined || callsLeft > 0) return native
  const calls = folderCalls()
  if (calls !== undefined) native = new NativeCalls(calls, held)
  held = undefined
  return native
}

/** The entries of an open folder, by their names. Throws system errors. */
export class FolderEntries {
  readonly #folder: number | undefined
  readonly #paths: FolderPaths
  readonly #native: NativeCalls | undefined

  /** @param folder stays open meanwhile */
  constructor(folder: Pinned) {
    this.#folder = folder.descriptor
    this.#paths = new FolderPaths(folder.path)
    this.#native = this.#folder === undefined ? undefined : nativeCalls()
  }

  /** Absolute; valid until the next path is asked for, and anything else is done with these entries. */
  path(name: Uint8Array): Buffer {
    return this.#paths.of(name)
  }

  /** To be closed with `closeEntry`. */
  open(name: Uint8Array, flags: number, mode = 0): number {
    const fd = this.#native?.open(this.#folder!, name, flags, mode)
    if (fd !== undefined) return fd
    callsLeft--
    return openSync(this.path(name), flags, mode)
  }

  rename(from: Uint8Array, to: Uint8Array): void {
    if (this.#native?.rename(this.#folder!, from, to) === true) return
    callsLeft--
    const path = Buffer.from(this.path(from))
    renameSync(path, this.path(to))
  }

  /** A look at the entry itself, if it is a link; undefined when it is gone. */
  look(name: Uint8Array): EntryStats | undefined {
    const found = this.#native?.look(this.#folder!, name)
    if (found !== undefined) return found
    callsLeft--
    return lstatSync(this.path(name), { throwIfNoEntry: false })
  }
}

/** Closes what `open` has opened, or Node. */
export function closeEntry(fd: number): void {
  if (native?.close(fd) !== true) closeSync(fd)
}
