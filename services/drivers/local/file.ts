import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lchownSync,
  lutimesSync,
  openSync,
  readSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeSync,
  type Stats,
} from 'node:fs'
import {
  changed,
  StoreError,
  type FileAttributes,
  type Losses,
  nothingLost,
  type Owner,
} from '../contract/driver.ts'
import { closeEntry, type FolderEntries } from './folder-entries.ts'
import { dress, permissionBits, type Present, presentOf, secondsOf } from './attributes.ts'
import { isErrno, localError } from './errors.ts'
import { permitted } from './rights.ts'

/**
 * Content is read, written, read back and compared in chunks of this size: small enough to stay in the processor's caches
 * between those steps, large enough that system calls do not count.
 */
export const chunkBytes = 256 * 1024

// O_NONBLOCK: a named pipe that took the file's place must not block the thread for ever.
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const createFlags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const rewriteFlags = constants.O_RDWR | constants.O_NOFOLLOW

/** A worker thread cannot change the mask, which belongs to the process; it can only repair what it took away. */
const umask = process.umask()

// Each thread has its own, and everything here is synchronous, so that one of each is enough. Untouched pages cost nothing.
const chunk = Buffer.allocUnsafeSlow(chunkBytes)
const chunkBack = Buffer.allocUnsafeSlow(chunkBytes)

/** Opens for reading without following a link. Throws system errors, ELOOP for a symbolic link. */
export const openForReading = (path: Buffer): number => permitted(() => openSync(path, readFlags), path)

/** As `openForReading`; to be closed with `closeEntry`. */
export const openEntry = (folder: FolderEntries, name: Uint8Array): number =>
  permitted(
    () => folder.open(name, readFlags),
    () => folder.path(name),
  )

/** Opens what is pinned for reading: its path is a link of the system's own, which leads to nothing else. */
export const openPinned = (path: Buffer): number =>
  permitted(() => openSync(path, readFlags & ~constants.O_NOFOLLOW))

/** Opens a file of ours for writing and reading back. */
export const openForRewriting = (path: Buffer): number => permitted(() => openSync(path, rewriteFlags), path)

/** Makes a new file for writing and reading back, with exactly these permission bits, or with the process's usual ones. */
export const createFile = (path: Buffer, mode: number | undefined): number =>
  created(mode, (bits) => openSync(path, createFlags, bits))

/** As `createFile`; to be closed with `closeEntry`. */
const createEntry = (folder: FolderEntries, name: Uint8Array, mode: number | undefined): number =>
  created(mode, (bits) => folder.open(name, createFlags, bits))

function created(mode: number | undefined, open: (bits: number) => number): number {
  const fd = permitted(() => open((mode ?? 0o666) & permissionBits))
  if (mode !== undefined && (mode & umask & permissionBits) !== 0) fchmodSync(fd, mode & permissionBits)
  return fd
}

/** Whether two looks at a file saw the same content: the change time moves with every write, and nobody can set it. */
const isSameVersion = (a: Stats, b: Stats): boolean =>
  a.size === b.size &&
  a.mtimeMs === b.mtimeMs &&
  a.ctimeMs === b.ctimeMs &&
  a.ino === b.ino &&
  a.dev === b.dev

/** Throws `changed` unless the open file is still the version that was seen. */
export function checkUnchanged(fd: number, before: Stats): void {
  if (!isSameVersion(before, fstatSync(fd))) throw changed()
}

/** Fills the buffer from a place in the file; returns fewer bytes only at the file's end. */
export function readFully(fd: number, into: Buffer, length: number, position: number): number {
  let done = readSync(fd, into, 0, length, position)
  if (done === length) return done
  for (let count = done; count > 0 && done < length; done += count) {
    count = readSync(fd, into, done, length - done, position + done)
  }
  return done
}

/** Writes all bytes at a place in the file. */
function writeFully(fd: number, bytes: Buffer, length: number, position: number): void {
  for (let done = 0; done < length;) done += writeSync(fd, bytes, done, length - done, position + done)
}

/** How files of a folder are finished: what a new one has before it is given its attributes. */
export type Look = (fd: number, attributes: FileAttributes) => Present

/** Names in one folder: of a file, and of it while it is written. */
export interface FileNames {
  readonly name: Uint8Array
  readonly temporary: Uint8Array
  /** Gives it its name, where more than the renaming is to be done. */
  readonly give?: (rename: () => void) => void
}

/**
 * Makes or replaces a file: `fill` writes it under the temporary name, and only when that is done does it get its own.
 * What fails leaves nothing behind. Throws what `fill` throws, and system errors.
 */
export function replaceFile(
  folder: FolderEntries,
  { name, temporary, give = (rename) => rename() }: FileNames,
  attributes: FileAttributes,
  fill: (fd: number) => void,
  look: Look = presentOf,
): Losses {
  const fd = createEntry(folder, temporary, attributes.mode)
  try {
    let losses: Losses
    try {
      fill(fd)
      losses = dress(fd, attributes, look(fd, attributes))
    } finally {
      closeEntry(fd)
    }
    give(() => permitted(() => folder.rename(temporary, name)))
    return losses
  } catch (error) {
    removeFile(folder.path(temporary))
    throw error
  }
}

/**
 * Makes an empty file under its own name; undefined when something is there already. It is whole from its first moment, so
 * that it needs no temporary name: renaming costs as much as making it. Throws system errors.
 */
export function makeEmptyFile(
  folder: FolderEntries,
  name: Uint8Array,
  attributes: FileAttributes,
  look: Look,
): Losses | undefined {
  let fd: number
  try {
    fd = createEntry(folder, name, attributes.mode)
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return undefined
    throw error
  }
  try {
    return dress(fd, attributes, look(fd, attributes))
  } finally {
    closeEntry(fd)
  }
}

/** Makes or replaces a symbolic link the same way. Throws system errors. */
export function replaceLink(
  temporary: Buffer,
  path: Buffer,
  target: Buffer,
  { owner, modifiedMs }: FileAttributes = {},
): Losses {
  permitted(() => symlinkSync(target, temporary))
  try {
    let losses = nothingLost
    if (owner !== undefined && !isLinkGiven(temporary, owner)) losses = ['owner']
    if (modifiedMs !== undefined) {
      const time = secondsOf(modifiedMs)
      permitted(() => lutimesSync(temporary, time, time))
    }
    permitted(() => renameSync(temporary, path))
    return losses
  } catch (error) {
    removeFile(temporary)
    throw error
  }
}

function isLinkGiven(path: Buffer, { uid, gid }: Owner): boolean {
  try {
    permitted(() => lchownSync(path, uid, gid))
    return true
  } catch (error) {
    if (isErrno(error, 'EPERM') || isErrno(error, 'EINVAL')) return false
    throw error
  }
}

/** Gives a file other attributes. Throws system errors, ELOOP for a symbolic link. */
export function setFileAttributes(path: Buffer, attributes: FileAttributes): Losses {
  const fd = openForReading(path)
  try {
    return dress(fd, attributes, presentOf(fd, attributes))
  } finally {
    closeSync(fd)
  }
}

/** Removes a temporary file; what cannot be removed is found by a sweep later. */
export function removeFile(path: Buffer): void {
  try {
    permitted(() => unlinkSync(path))
  } catch {
    // The failure that led here is the one to report.
  }
}

/** Writes bytes at a place, reads them back and compares them. Throws `corrupt`, and system errors. */
export function writeVerified(fd: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; done += chunkBytes) {
    const size = Math.min(chunkBytes, bytes.length - done)
    writeChunkVerified(fd, bytes.subarray(done, done + size), size, position + done)
  }
}

/**
 * Copies a range from one open file to another; every byte that is read back from the target must be that which was read
 * from the source. Throws `changed` when the source ends early, `corrupt` when a byte differs, StoreErrors of the source,
 * and system errors of the target.
 * @param beforeChunk called between the chunks of a long range; may throw to end the work
 */
export function copyRange(
  from: number,
  to: number,
  position: number,
  length: number,
  beforeChunk: () => void = () => undefined,
): void {
  for (let done = 0; done < length; done += chunkBytes) {
    const size = Math.min(chunkBytes, length - done)
    if (done > 0) beforeChunk()
    readSource(from, size, position + done)
    writeChunkVerified(to, chunk, size, position + done)
  }
}

function readSource(fd: number, length: number, position: number): void {
  let count: number
  try {
    count = readFully(fd, chunk, length, position)
  } catch (error) {
    throw localError(error, 'source')
  }
  if (count !== length) throw changed()
}

/** @param bytes `length` of them, and maybe more; no more than a chunk */
function writeChunkVerified(fd: number, bytes: Buffer, length: number, position: number): void {
  writeFully(fd, bytes, length, position)
  const count = readFully(fd, chunkBack, length, position)
  if (count === length && bytes.compare(chunkBack, 0, length, 0, length) === 0) return
  throw new StoreError('corrupt', 'what was read back from the target is not what was written')
}
