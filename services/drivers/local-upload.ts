import { closeSync, fchmodSync, fstatSync, lstatSync, renameSync } from 'node:fs'
import { StoreError, type FileAttributes, type StorePath, type Upload } from './driver.ts'
import { isErrno } from './local-errors.ts'
import {
  createFile,
  fileModeMask,
  openForRewriting,
  removeFile,
  setModified,
  writeVerified,
} from './local-file.ts'
import { parentOf, type LocalRoot } from './local-root.ts'
import { isTemporaryName, temporaryName } from './local-temporary.ts'
import { problemOfPath } from './path-text.ts'

/**
 * A token is the path that the file will have (base64url), the name of the temporary file in the same folder, and the
 * number of its inode: that stays the file's when it gets its name, so that a commit knows its own work.
 */
const tokenPattern = /^([\w-]+):([\w.~-]+):(\d+)$/

/** Nobody but us reads a file under construction; its own mode comes with the commit. */
const modeUnderConstruction = 0o600

/** Makes the temporary file. Throws system errors. */
export function beginUpload(root: LocalRoot, path: StorePath, sizeBytes: number, tag: string): Upload {
  const temporary = temporaryName(tag)
  const fd = createFile(root.absolute(join(parentOf(path), temporary)), modeUnderConstruction)
  try {
    const inode = fstatSync(fd, { bigint: true }).ino.toString()
    return { token: `${path.toString('base64url')}:${temporary.toString('latin1')}:${inode}`, sizeBytes }
  } finally {
    closeSync(fd)
  }
}

interface UploadPaths {
  /** Absolute, as the file will be named. */
  readonly path: Buffer
  /** Absolute, as it is named while it is written. */
  readonly temporary: Buffer
  readonly inode: string
}

/** Throws `unsupported` for a token that is none of ours. */
export function uploadPaths(root: LocalRoot, upload: Upload): UploadPaths {
  const paths = readToken(root, upload.token)
  if (paths === undefined) throw new StoreError('unsupported', 'this is no token of an upload')
  return paths
}

function readToken(root: LocalRoot, token: string): UploadPaths | undefined {
  const [, pathText = '', name = '', inode = ''] = tokenPattern.exec(token) ?? []
  const path = Buffer.from(pathText, 'base64url')
  const temporary = Buffer.from(name, 'latin1')
  // Whoever could change a token must not get a file of the user's written over or removed.
  if (!isTemporaryName(temporary) || path.length === 0 || problemOfPath(path) !== undefined) return undefined
  return { path: root.absolute(path), temporary: root.absolute(join(parentOf(path), temporary)), inode }
}

const join = (folder: Buffer, name: Buffer) =>
  folder.length === 0 ? name : Buffer.concat([folder, Buffer.from('/'), name])

/** Opens the file under construction. Throws `io`, which is worth another try with a new upload, when it is gone. */
export function openUpload(temporary: Buffer): number {
  try {
    return openForRewriting(temporary)
  } catch (error) {
    throw isErrno(error, 'ENOENT') ? lost() : error
  }
}

const lost = () => new StoreError('io', 'the file under construction is no longer there')

export function writePart(root: LocalRoot, upload: Upload, offset: number, bytes: Buffer): void {
  const fd = openUpload(uploadPaths(root, upload).temporary)
  try {
    writeVerified(fd, bytes, offset)
  } finally {
    closeSync(fd)
  }
}

/**
 * Gives the file its mode, time and name. Repeated, it finds the temporary file gone and its inode under the name.
 * Throws `corrupt` for a wrong size, `io` when the file under construction is gone, and system errors.
 */
export function commitUpload(root: LocalRoot, upload: Upload, attributes: FileAttributes): void {
  const { path, temporary, inode } = uploadPaths(root, upload)
  let fd: number
  try {
    fd = openForRewriting(temporary)
  } catch (error) {
    if (isErrno(error, 'ENOENT') && isCommitted(path, inode, upload.sizeBytes)) return
    throw isErrno(error, 'ENOENT') ? lost() : error
  }
  try {
    if (fstatSync(fd).size !== upload.sizeBytes) {
      throw new StoreError('corrupt', 'the file has another size than the sum of its parts')
    }
    fchmodSync(fd, (attributes.mode ?? 0o666 & ~process.umask()) & fileModeMask)
    setModified(fd, attributes.modifiedMs)
  } finally {
    closeSync(fd)
  }
  renameSync(temporary, path)
}

function isCommitted(path: Buffer, inode: string, sizeBytes: number): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false, bigint: true })
  return (
    stat !== undefined && stat.isFile() && stat.ino.toString() === inode && stat.size === BigInt(sizeBytes)
  )
}

/** Removes the temporary file; does nothing for what is no upload of ours or is gone. */
export function abortUpload(root: LocalRoot, upload: Upload): void {
  const paths = readToken(root, upload.token)
  if (paths !== undefined) removeFile(paths.temporary)
}
