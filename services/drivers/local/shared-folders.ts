import { realpathSync } from 'node:fs'
import type { StoreBounds } from '../contract/bounds.ts'
import { LocalGuard } from './guard.ts'
import { type Witness, witnessOf } from './witness.ts'
import { textFromPath } from '../paths/path-text.ts'

/**
 * Folders that several hosts have, as whoever works elsewhere for a platform needs them: the drivers that it opens there
 * find the same files only if the folders are the same.
 */

export { isSameFolder, type Witness } from './witness.ts'

/** A folder of this host as it is shared, symbolic links resolved. Throws system errors when it is not there. */
export const shareOf = (path: string): string =>
  textFromPath(realpathSync.native(path, { encoding: 'buffer' }).subarray(1))

/**
 * Throws GantryError NOT_ACCEPTED for a folder that may not be shared.
 * @param field what it was given as, for messages
 */
export const requireShareable = (path: string, bounds: StoreBounds, field?: string): void =>
  new LocalGuard(Buffer.from(path), bounds, field).requireRoot()

/**
 * What shows another host that its folder is the same as this one. Throws GantryError NOT_ACCEPTED when the path leads to
 * where filesystems may not be by now, system errors of a folder that cannot be seen.
 */
export function seenFolder(
  path: string,
  bounds: StoreBounds | undefined,
): { path: string; witness: Witness } {
  if (bounds !== undefined) requireShareable(path, bounds)
  return { path, witness: witnessOf(path) }
}
