import { closeSync, fdatasyncSync, fstatSync, lstatSync, renameSync } from 'node:fs'
import {
  nothingLost,
  StoreError,
  type Continuation,
  type FileAttributes,
  type Losses,
  type StorePath,
  type Upload,
} from '../../contract/driver.ts'
import { dress, presentOf } from '../attributes.ts'
import { isErrno } from '../errors.ts'
import { createFile, openForRewriting, removeFile } from '../file.ts'
import { beginParts, endParts, isShared, markPart, readParts, renameConstruction } from './parts.ts'
import { permitted } from '../rights.ts'
import { FolderPaths, type Pinned } from '../root.ts'
import { abandonedNames } from './temporary.ts'
import {
  constructionOf,
  digestOf,
  isTemporaryName,
  temporaryName,
  type Construction,
} from '../../paths/temporary-names.ts'
import { problemOfPath, nameOf, parentOf } from '../../paths/path-text.ts'

/**
 * A token is the path that the file will have (base64url), the name of the temporary file in the same folder, and the
 * number of its inode: that stays the file's when it gets its name, so that a commit knows its own work.
 */
const tokenPattern = /^([\w-]+):([\w.~-]+):(\d+)$/

/** Nobody but us reads a file under construction; its own mode comes with the commit. */
const modeUnderConstruction = 0o600

/** What an upload is of. */
export interface UploadPlan {
  readonly sizeBytes: number
  /** Whose it is. */
  readonly tag: string
  readonly partBytes: number
}

/**
 * Makes the temporary file, or takes over that of a writer that is dead. Throws system errors.
 * @param absolute of the path
 */
export function beginUpload(
  path: StorePath,
  absolute: Buffer,
  plan: UploadPlan,
  continuation: Continuation | undefined,
): Upload {
  const { sizeBytes, tag, partBytes } = plan
  const construction = continuation && constructionFor(path, plan, continuation.version)
  const name = temporaryName(tag, construction)
  const folder = parentOf(absolute)
  const temporary = new FolderPaths(folder).of(name)
  const { liveThreads } = continuation ?? {}
  const written =
    construction === undefined || liveThreads === undefined
      ? undefined
      : takeOver(folder, temporary, tag, { construction, liveThreads })
  const fd =
    written === undefined
      ? createConstruction(temporary, construction !== undefined)
      : openForRewriting(temporary)
  try {
    const upload = { token: tokenOf(path, name, fd), sizeBytes }
    const partCount = Math.ceil(sizeBytes / partBytes)
    return written === undefined
      ? upload
      : { ...upload, written: written.filter((index) => index < partCount) }
  } finally {
    closeSync(fd)
  }
}

/**
 * Makes a file under construction, or nothing of it, and returns its descriptor. Throws system errors.
 * @param hasParts whether it has an account of its parts
 */
export function createConstruction(temporary: Buffer, hasParts: boolean): number {
  const fd = createFile(temporary, modeUnderConstruction)
  try {
    if (hasParts) beginParts(temporary)
    return fd
  } catch (error) {
    closeSync(fd)
    removeConstruction(temporary)
    throw error
  }
}

/** @param fd of the temporary file, open */
export const tokenOf = (path: StorePath, name: Buffer, fd: number): string =>
  `${path.toString('base64url')}:${name.toString('latin1')}:${fstatSync(fd, { bigint: true }).ino}`

/** What the file under construction for a path is of, whatever its version. */
export const fileDigest = (path: StorePath): string => digestOf(nameOf(path))

/** What a file under construction is of: with all that a part depends on. */
export const constructionFor = (
  path: StorePath,
  { sizeBytes, partBytes }: UploadPlan,
  version: string,
): Construction => ({
  file: fileDigest(path),
  version: digestOf([sizeBytes, partBytes, version].join('\n')),
})

/**
 * Makes the construction of a dead writer ours and returns its parts, undefined when there is none. What else there is of
 * the file, of other versions or without an account, is removed.
 */
function takeOver(
  folder: Buffer,
  ours: Buffer,
  tag: string,
  { construction, liveThreads }: { construction: Construction; liveThreads: readonly number[] },
): number[] | undefined {
  const paths = new FolderPaths(folder)
  let parts: number[] | undefined
  for (const name of abandonedNames(folder, tag, liveThreads)) {
    const found = constructionOf(name)
    if (found?.file !== construction.file) continue
    const path = Buffer.from(paths.of(name))
    const isSame = found.version === construction.version && found.generation === undefined
    const isOurs = parts === undefined && !found.isParts && isSame
    if (isOurs) parts = takePartsOver(path, ours)
    else if (!found.isParts) removeConstruction(path)
  }
  // Accounts whose file has got its name, or was taken by somebody else.
  for (const name of abandonedNames(folder, tag, liveThreads)) {
    const found = constructionOf(name)
    if (found?.isParts === true && found.file === construction.file) removeFile(paths.of(name))
  }
  return parts
}

function takePartsOver(theirs: Buffer, ours: Buffer): number[] | undefined {
  const parts = readParts(theirs)
  try {
    if (parts === undefined) throw new Error('nobody knows what is in it')
    renameConstruction(theirs, ours)
    return parts
  } catch {
    removeConstruction(theirs)
    removeConstruction(ours)
    return undefined
  }
}

/** Removes a file under construction with its account. */
export function removeConstruction(temporary: Buffer): void {
  removeFile(temporary)
  endParts(temporary)
}

/** Absolute paths of an upload, through its folder. */
export interface UploadPaths {
  /** As the file will be named. */
  readonly path: Buffer
  /** As it is named while it is written. */
  readonly temporary: Buffer
  readonly inode: string
}

/**
 * What an upload is of, relative to the root, and where it is in its folder once that is open. Throws `unsupported` for a
 * token that is none of ours.
 */
export function uploadOf({ token }: Upload): {
  readonly path: StorePath
  readonly pathsIn: (opened: Pinned) => UploadPaths
} {
  const [, pathText = '', name = '', inode = ''] = tokenPattern.exec(token) ?? []
  const path = Buffer.from(pathText, 'base64url')
  const temporary = Buffer.from(name, 'latin1')
  // Whoever could change a token must not get a file of the user's written over or removed.
  if (!isTemporaryName(temporary) || path.length === 0 || problemOfPath(path) !== undefined)
    throw new StoreError('unsupported', 'this is no token of an upload')
  const pathsIn = (opened: Pinned) => ({
    path: opened.entry(nameOf(path)),
    temporary: opened.entry(temporary),
    inode,
  })
  return { path, pathsIn }
}

/** Opens the file under construction. Throws `io`, which is worth another try with a new upload, when it is gone. */
export function openUpload(temporary: Buffer): number {
  try {
    return openForRewriting(temporary)
  } catch (error) {
    throw isErrno(error, 'ENOENT') ? lost() : error
  }
}

const lost = () => new StoreError('io', 'the file under construction is no longer there')

/** All of a part is written and verified. @param fd of the file under construction */
export function endPart(temporary: Buffer, fd: number, index: number): void {
  if (isShared(temporary)) fdatasyncSync(fd)
  markPart(temporary, index)
}

/** Parts of an upload that are written; undefined when it is over. */
export function writtenParts(temporary: Buffer): readonly number[] | undefined {
  const stat = permitted(() => lstatSync(temporary, { throwIfNoEntry: false }))
  return stat === undefined ? undefined : (readParts(temporary) ?? [])
}

/**
 * Gives the file its mode, time and name. Repeated, it finds the temporary file gone and its inode under the name.
 * Throws `corrupt` for a wrong size, `io` when the file under construction is gone, and system errors.
 */
export function commitUpload(
  { path, temporary, inode }: UploadPaths,
  upload: Upload,
  attributes: FileAttributes,
): Losses {
  let fd: number
  try {
    fd = openForRewriting(temporary)
  } catch (error) {
    if (isErrno(error, 'ENOENT') && isCommitted(path, inode, upload.sizeBytes)) return nothingLost
    throw isErrno(error, 'ENOENT') ? lost() : error
  }
  let losses: Losses
  try {
    if (fstatSync(fd).size !== upload.sizeBytes) {
      throw new StoreError('corrupt', 'the file has another size than the sum of its parts')
    }
    const usual = attributes.mode === undefined ? { mode: 0o666 & ~process.umask() } : {}
    losses = dress(fd, { ...attributes, ...usual }, presentOf(fd, attributes))
  } finally {
    closeSync(fd)
  }
  permitted(() => renameSync(temporary, path))
  endParts(temporary)
  return losses
}

function isCommitted(path: Buffer, inode: string, sizeBytes: number): boolean {
  const stat = permitted(() => lstatSync(path, { throwIfNoEntry: false, bigint: true }))
  return (
    stat !== undefined && stat.isFile() && stat.ino.toString() === inode && stat.size === BigInt(sizeBytes)
  )
}
