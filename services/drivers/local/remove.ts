import { lstatSync, rmdirSync, unlinkSync } from 'node:fs'
import { StoreError } from '../contract/driver.ts'
import { isErrno } from './errors.ts'
import { versionOf } from './source-file.ts'

/**
 * Removes what stands at a path, a folder only when it is empty; false when nothing does. Throws `unsupported` for a
 * folder that is not empty, `changed` when something else took the place meanwhile, and system errors.
 */
export function removeEntry(absolutePath: Buffer): boolean {
  const stat = lstatSync(absolutePath, { throwIfNoEntry: false })
  if (stat === undefined) return false
  try {
    if (stat.isDirectory()) rmdirSync(absolutePath)
    else unlinkSync(absolutePath)
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false
    if (isErrno(error, 'ENOTEMPTY') || isErrno(error, 'EEXIST')) throw notEmpty(error)
    if (isErrno(error, 'ENOTDIR') || isErrno(error, 'EISDIR')) throw replaced(error)
    throw error
  }
}

/**
 * Removes a file or link of a version (`versionOf`); false when nothing is there. Between the look and the removal are
 * microseconds: the system has no call that does both. Throws `changed` for another version, and system errors.
 */
export function removeVersion(absolutePath: Buffer, version: string): boolean {
  const stat = lstatSync(absolutePath, { bigint: true, throwIfNoEntry: false })
  if (stat === undefined) return false
  if (stat.isDirectory() || versionOf(stat) !== version)
    throw new StoreError('changed', 'it was changed, or something else took its place')
  return removeEntry(absolutePath)
}

const notEmpty = (cause: unknown) => new StoreError('unsupported', 'the folder is not empty', { cause })

const replaced = (cause: unknown) =>
  new StoreError('changed', 'something else took its place while it was removed', { cause })
