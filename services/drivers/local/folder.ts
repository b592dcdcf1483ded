import { chmodSync, closeSync, lstatSync, mkdirSync, type Stats, statSync } from 'node:fs'
import { StoreError, type FileAttributes, type Losses } from '../contract/driver.ts'
import { dress, presentOf } from './attributes.ts'
import { isErrno, noFolder } from './errors.ts'
import { openForReading } from './file.ts'

/** Permission bits that a folder keeps: the sticky bit protects what is in it; the others need the owner they belong to. */
const folderModeMask = 0o1777

/**
 * We put files into every folder that we make, now and when the migration goes on after a stop. Root may do so whatever
 * the mode says; anybody else keeps the right to until the folder is finished, so that it need not be granted
 * (`local-rights.ts`).
 */
const ownMode = process.getuid?.() === 0 ? 0 : 0o700

/**
 * Makes the folder, or gives the one that is there the mode; without a mode it is left as it is. Throws `unsupported`
 * when something that is no folder stands there (a symbolic link is none), and system errors.
 * @param check of one that is there already, before anything is done to it
 */
export function makeFolder(
  absolutePath: Buffer,
  mode: number | undefined,
  check: (found: Stats) => void = () => undefined,
): void {
  if (mode === undefined) return void mkdirOrFind(absolutePath, 0o777, check)
  const wanted = (mode & folderModeMask) | ownMode
  const isNew = mkdirOrFind(absolutePath, wanted, check)
  const found = lstatSync(absolutePath).mode & 0o7777
  if (found === wanted) return
  try {
    chmodSync(absolutePath, wanted)
  } catch (error) {
    // A folder of somebody else, which was there before: its content can be migrated all the same.
    if (isNew || !isErrno(error, 'EPERM')) throw error
  }
}

/** Whether the folder is new. */
function mkdirOrFind(absolutePath: Buffer, mode: number, check: (found: Stats) => void): boolean {
  try {
    mkdirSync(absolutePath, { mode })
    return true
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
  const found = lstatSync(absolutePath)
  if (!found.isDirectory()) {
    throw new StoreError(
      'unsupported',
      'something that is no folder stands where the folder should go: rename or delete it, then retry',
    )
  }
  check(found)
  return false
}

/**
 * Gives the folder that is there its attributes, the mode as it is: whoever puts something into it later makes it first.
 * What its owner does not allow is lost. Throws system errors.
 */
export function applyAttributes(absolutePath: Buffer, attributes: FileAttributes): Losses {
  const fd = openForReading(absolutePath)
  try {
    return dress(fd, attributes, presentOf(fd, attributes), true)
  } finally {
    closeSync(fd)
  }
}

/** Throws `gone` unless a folder is there. A link to one is one: the root of a filesystem is where its owner says. */
export function checkRootFolder(absolutePath: Buffer): void {
  const stat = statSync(absolutePath, { throwIfNoEntry: false })
  if (stat === undefined) throw new StoreError('gone', 'there is no such folder')
  if (!stat.isDirectory()) throw new StoreError('gone', noFolder)
}
