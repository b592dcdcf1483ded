import { trashFolder } from '../../../subjects/migrations/model/plan-terms.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import type { Driver, Entry, StorePath } from '../../drivers/contract/driver.ts'
import { isWithin, joinPath } from '../items/paths.ts'
import { atTarget } from '../run/run.ts'

const folder = Buffer.from(trashFolder)

/** Files come into it without the folders that kept them from others. */
const privateMode = 0o700

/** Whether a path of the target is the trash, or in it. */
export const isTrash = (there: StorePath): boolean => isWithin(folder, there)

/**
 * Moves what stands at a path of a store into its trash, where it keeps its path below a folder of this name. What is
 * there already under that path is left, and the newcomer gets another; so does a folder above it where the trash has a
 * file of its name from before. Throws StoreErrors.
 */
async function moveToTrash(driver: Driver, path: StorePath, name: string): Promise<void> {
  if (driver.rename === undefined)
    throw new GantryError('UNSUPPORTED', 'the target cannot keep deleted files')
  const root = joinPath(folder, Buffer.from(name))
  if (!(await isFolder(driver, root))) {
    if (!(await isFolder(driver, folder))) await driver.makeFolder(folder, { mode: privateMode })
    await driver.makeFolder(root, {})
  }
  const parent = await makeFolders(driver, root, parentOf(path))
  const goal = joinPath(parent, nameOf(path))
  await driver.rename(path, await freeBeside(goal, async (one) => (await typeAt(driver, one)) === undefined))
}

/** What has a path; `other` for what has a name that the store takes for the same. */
const typeAt = async (driver: Driver, path: StorePath): Promise<Entry['type'] | undefined> =>
  (await driver.stat(path))?.type ?? ((await driver.alike?.(path)) === undefined ? undefined : 'other')

/**
 * A path, or one beside it with a number, that is free: found in a few looks however many are not, as names come and go in
 * a live migration.
 */
async function freeBeside(
  path: StorePath,
  isFree: (path: StorePath) => Promise<boolean>,
): Promise<StorePath> {
  if (await isFree(path)) return path
  let taken = 1
  let free = 2
  while (!(await isFree(numbered(path, free)))) [taken, free] = [free, 2 * free]
  while (free - taken > 1) {
    const middle = (taken + free) >> 1
    if (await isFree(numbered(path, middle))) free = middle
    else taken = middle
  }
  return numbered(path, free)
}

/** Bytes of a name, at most, in the file systems of hosts. */
const maxNameBytes = 255

/** The end of a name that is too long for a number gives way to it. */
function numbered(path: StorePath, number: number): StorePath {
  const suffix = Buffer.from(`~${number}`)
  const name = nameOf(path).subarray(0, maxNameBytes - suffix.length)
  return joinPath(parentOf(path), Buffer.concat([name, suffix]))
}

/** Makes a folder below one that is there, under the names that are left for it and those above it. Returns it. */
async function makeFolders(driver: Driver, root: StorePath, path: StorePath): Promise<StorePath> {
  const goal = path.length === 0 ? root : joinPath(root, path)
  if (path.length === 0 || (await isFolder(driver, goal))) return goal
  const parent = await makeFolders(driver, root, parentOf(path))
  const made = await freeBeside(joinPath(parent, nameOf(path)), async (one) =>
    [undefined, 'folder'].includes(await typeAt(driver, one)),
  )
  await driver.makeFolder(made, {})
  return made
}

const isFolder = async (driver: Driver, path: StorePath): Promise<boolean> =>
  (await driver.stat(path))?.type === 'folder'

/** For `removeTree`: what goes from a target goes into this folder of its trash, folders entry by entry if not whole. */
export const intoTrash =
  (driver: Driver, name: string, { goesWhole }: { readonly goesWhole: boolean }) =>
  async (path: StorePath, { type }: Pick<Entry, 'type'>): Promise<boolean> => {
    if (type === 'folder' && !goesWhole) return false
    await atTarget(moveToTrash(driver, path, name))
    return true
  }
