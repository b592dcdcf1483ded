import { pathFromText } from '../drivers/path-text.ts'
import { isWithin } from './engine/paths.ts'
import { type HostFolder, holds } from './host-folder.ts'
import type { PlaceDependencies } from './places.ts'

/** Where a path of a filesystem is, by what it really is. */
export interface StorePlace {
  /** Equal for equal stores, as far as that is known. */
  readonly store: string
  readonly path: Buffer
  /** Of this host, whatever leads to it. */
  readonly folder: HostFolder | undefined
}

type Asked = Pick<PlaceDependencies, 'localFolder' | 'storeName'>

export const storePlace = async (
  { localFolder, storeName }: Asked,
  fileSystemId: string,
  path: string,
): Promise<StorePlace> => ({
  store: (await storeName(fileSystemId)) ?? fileSystemId,
  path: pathFromText(path),
  folder: await localFolder(fileSystemId, path),
})

/** Whether one of two places is the other, or in it. */
export function areNested(one: StorePlace, other: StorePlace): boolean {
  if (one.folder !== undefined && other.folder !== undefined)
    return holds(one.folder, other.folder) || holds(other.folder, one.folder)
  return one.store === other.store && (isWithin(one.path, other.path) || isWithin(other.path, one.path))
}
