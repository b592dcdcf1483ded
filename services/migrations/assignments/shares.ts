import { realpathSync } from 'node:fs'
import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import { openDriver } from '../../drivers/index.ts'
import { textFromPath } from '../../drivers/paths/path-text.ts'

/** The folder of a host that a store is, as text; undefined for a store that any host reaches. */
export async function localRootOf(spec: FilesystemSpec, bounds?: StoreBounds): Promise<string | undefined> {
  const driver = await openDriver(spec, 'source', bounds)
  try {
    const { localRoot } = driver.features
    return localRoot === undefined ? undefined : textOf(localRoot)
  } finally {
    await driver.close()
  }
}

/** An absolute path of a host as text. */
export const textOf = (absolute: Buffer): string => textFromPath(absolute.subarray(1))

/** A folder of this host as an agent offers it, symbolic links resolved. Throws system errors when it is not there. */
export const shareOf = (path: string): string => textOf(realpathSync.native(path, { encoding: 'buffer' }))

/** Whether a folder is one of those that are shared, or in one of them. */
export const isShared = (folder: string, shares: readonly string[]): boolean =>
  shares.some((share) => share === '/' || folder === share || folder.startsWith(`${share}/`))
