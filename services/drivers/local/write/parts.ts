import { closeSync, constants, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { isErrno } from '../errors.ts'
import { removeFile } from '../file.ts'
import { permitted } from '../rights.ts'
import { nameOf } from '../../paths/path-text.ts'
import { bootId, constructionOf, partsName } from '../../paths/temporary-names.ts'

/**
 * Which parts of a file under construction are written and verified, in a file beside it: the boot of the host, then a
 * byte for each part. What a process wrote before it was killed the operating system still has; what it wrote before the
 * host went down may be lost, so that marks of another boot say nothing.
 */
const header = headerOf(bootId.trim())
/** Of a file that several hosts write: each part is on the disk before it is marked, so that marks hold for ever. */
const sharedHeader = headerOf('stored')
const written = Buffer.from('w')

/** What only we read. */
const mode = 0o600

/** Of one length, as the marks stand behind it. */
function headerOf(text: string): Buffer {
  return Buffer.from(`${text.padEnd(36)}\n`, 'latin1')
}

/** Whether several processes write to a file under construction. */
export const isShared = (temporary: Buffer): boolean =>
  constructionOf(nameOf(temporary))?.generation !== undefined

/** Begins the account of a file under construction without any part. Throws system errors. */
export function beginParts(temporary: Buffer): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL
  const fd = permitted(() => openSync(partsName(temporary), flags, mode))
  try {
    writeSync(fd, isShared(temporary) ? sharedHeader : header, 0, header.length, 0)
  } finally {
    closeSync(fd)
  }
}

/** Notes that a part is written and verified; does nothing for a file without an account. Throws system errors. */
export function markPart(temporary: Buffer, index: number): void {
  let fd: number
  try {
    fd = permitted(() => openSync(partsName(temporary), constants.O_WRONLY | constants.O_NOFOLLOW))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return
    throw error
  }
  try {
    writeSync(fd, written, 0, written.length, header.length + index)
  } finally {
    closeSync(fd)
  }
}

/** Indices of the parts that are written; undefined when that is not known. */
export function readParts(temporary: Buffer): number[] | undefined {
  const bytes = contentOf(partsName(temporary))
  if (bytes === undefined) return undefined
  const isKnown = isShared(temporary)
    ? bytes.subarray(0, header.length).equals(sharedHeader)
    : bootId !== '' && bytes.subarray(0, header.length).equals(header)
  if (!isKnown) return undefined
  const marks = bytes.subarray(header.length)
  return [...marks.keys()].filter((index) => marks[index] === written[0])
}

function contentOf(path: Buffer): Buffer | undefined {
  try {
    return permitted(() => readFileSync(path))
  } catch {
    return undefined
  }
}

/** Gives a file under construction, with its account, the name of another writer. Throws system errors. */
export function renameConstruction(from: Buffer, to: Buffer): void {
  permitted(() => renameSync(from, to))
  permitted(() => renameSync(partsName(from), partsName(to)))
}

/** Removes the account; what cannot be removed is found by a sweep later. */
export const endParts = (temporary: Buffer): void => removeFile(partsName(temporary))
