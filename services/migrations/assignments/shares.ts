import { openDriver } from '../../drivers/index.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import type { Place } from '../../drivers/contract/driver.ts'
import type { MoveSpec } from '../../engine/mover.ts'
import { sourcePlace } from '../../engine/run/places.ts'

/** What of a migration only those hosts reach that have the same folders. */
export interface HostFolders {
  /** Absolute paths of the folders that its stores are, as text. */
  readonly roots: readonly string[]
  /** Where its source is, if something else can take its place. */
  readonly source: Place | undefined
}

export async function hostFoldersOf(spec: MoveSpec, bounds?: StoreBounds): Promise<HostFolders> {
  const source = await openDriver(spec.source, 'source', bounds)
  try {
    const target = await openDriver(spec.target, 'source', bounds)
    const roots = [source, target].map(({ hostFolder }) => hostFolder).filter((path) => path !== undefined)
    await target.close()
    return { roots, source: sourcePlace(source, spec) }
  } finally {
    await source.close()
  }
}

/** Whether a folder is one of those that are shared, or in one of them. */
export const isShared = (folder: string, shares: readonly string[]): boolean =>
  shares.some((share) => share === '/' || folder === share || folder.startsWith(`${share}/`))
