import { realpathSync } from 'node:fs'
import type { StoreBounds } from '../contract/bounds.ts'
import { pathFromText, textFromPath } from '../paths/path-text.ts'
import { LocalGuard } from './guard.ts'
import { hasWitness, type Witness, witnessOf } from './witness.ts'

/**
 * Folders that several hosts have, as whoever works elsewhere for a platform needs them: the drivers that it opens there
 * find the same files only if the folders are the same. They travel as text, with what is not printable escaped.
 */

export type { Witness } from './witness.ts'

/** The folder of this host that a text stands for. @throws GantryError INVALID_INPUT when it stands for none */
const folderOf = (text: string, field?: string): Buffer =>
  Buffer.concat([Buffer.from('/'), pathFromText(text, field)])

const shareAt = (path: string | Buffer): string =>
  textFromPath(realpathSync.native(path, { encoding: 'buffer' }).subarray(1))

/**
 * The text of a folder of this host as it is shared, symbolic links resolved. Throws system errors when it is not there.
 * @param path as programs of this host name it
 */
export const shareOf = (path: string): string => shareAt(path)

/** The same for a folder that is given as text. */
export const resolvedFolder = (text: string): string => shareAt(folderOf(text))

/**
 * Throws GantryError NOT_ACCEPTED for a folder that may not be shared.
 * @param text the folder as `shareOf` gives it
 * @param field what it was given as, for messages
 */
export const requireShareable = (text: string, bounds: StoreBounds, field?: string): void =>
  new LocalGuard(folderOf(text, field), bounds, field).requireRoot()

/**
 * What shows another host that its folder is the same as this one. Throws GantryError NOT_ACCEPTED when the path leads to
 * where filesystems may not be by now, system errors of a folder that cannot be seen.
 * @param path as text
 */
export function seenFolder(
  path: string,
  bounds: StoreBounds | undefined,
): { path: string; witness: Witness } {
  if (bounds !== undefined) requireShareable(path, bounds)
  return { path, witness: witnessOf(folderOf(path)) }
}

/** Whether a folder of this host, given as text, is the one that was looked at a moment ago. Throws system errors. */
export const isSameFolder = (path: string, witness: Witness): boolean => hasWitness(folderOf(path), witness)
