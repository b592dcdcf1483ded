import { notAccepted } from '../../../subjects/kit/errors.ts'
import { pathFromText } from '../../drivers/paths/path-text.ts'
import { isWithin } from '../../engine/items/paths.ts'
import { type HostFolder, holds } from '../../drivers/local/host-folder.ts'
import type { PlaceDependencies } from './places.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'

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
): Promise<StorePlace> => {
  const [store = fileSystemId, folder] = await Promise.all([
    storeName(fileSystemId),
    localFolder(fileSystemId, path),
  ])
  return { store, path: pathFromText(path), folder }
}

/** Whether one of two places is the other, or in it. */
export const areNested = (one: StorePlace, other: StorePlace): boolean => relation(one, other) !== undefined

/** What the first of two places is to the other, in words; undefined when they are apart. */
function relation(
  one: StorePlace,
  other: StorePlace,
): 'is the same folder as' | 'lies inside' | 'contains' | undefined {
  const [isIn, contains] = [hasIn(other, one), hasIn(one, other)]
  if (isIn && contains) return 'is the same folder as'
  return isIn ? 'lies inside' : contains ? 'contains' : undefined
}

const hasIn = (one: StorePlace, other: StorePlace): boolean =>
  one.folder !== undefined && other.folder !== undefined
    ? holds(one.folder, other.folder)
    : one.store === other.store && isWithin(one.path, other.path)

/**
 * A migration into its own source would find what it has written, and copy that again and again.
 * @param asked `targets`: the folders that it writes to
 * @throws GantryError NOT_ACCEPTED when one of the two folders lies in the other
 */
export async function requireApart(
  dependencies: Asked,
  asked: Pick<MigrationRecord, 'path' | 'source' | 'target'> & { readonly targets: readonly string[] },
): Promise<void> {
  const { path, source, target, targets } = asked
  const [from, ...folders] = await Promise.all([
    storePlace(dependencies, source, path),
    ...targets.map((there) => storePlace(dependencies, target, there)),
  ])
  for (const [index, there] of targets.entries()) {
    const found = relation(folders[index]!, from)
    if (found === undefined) continue
    const problem = `must be apart from the source: ${there} in ${target} ${found} ${path} in ${source}`
    throw notAccepted('target', problem)
  }
}
