import { pathFromText } from '../drivers/path-text.ts'
import { isWithin } from './engine/paths.ts'
import type { PlaceDependencies } from './places.ts'

/** Where a path of a filesystem is, by what it really is. */
export interface StorePlace {
  /** Equal for equal stores, as far as that is known. */
  readonly store: string
  readonly path: Buffer
  /** Of a host, links resolved. */
  readonly folder: Buffer | undefined
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
  const either = (a: Buffer, b: Buffer) => isWithin(a, b) || isWithin(b, a)
  if (one.folder !== undefined && other.folder !== undefined)
    return either(one.folder.subarray(1), other.folder.subarray(1))
  return one.store === other.store && either(one.path, other.path)
}
