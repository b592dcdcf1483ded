import { trashFolder } from '../../../../subjects/plan-terms.ts'
import { GantryError } from '../../../../subjects/errors.ts'
import { nameOf, parentOf } from '../../../drivers/local-root.ts'
import type { Driver, Entry, StorePath } from '../../../drivers/driver.ts'
import { isWithin, joinPath } from '../items/paths.ts'
import { atTarget } from '../run/run.ts'

const folder = Buffer.from(trashFolder)

/** Whether a path of the target is the trash, or in it. */
export const isTrash = (there: StorePath): boolean => isWithin(folder, there)

/**
 * Moves what stands at a path of a store into its trash, where it keeps its path below a folder of this name. What is
 * there already under that path is left, and the newcomer gets another. Throws StoreErrors.
 */
async function moveToTrash(driver: Driver, path: StorePath, name: string): Promise<void> {
  if (driver.rename === undefined)
    throw new GantryError('UNSUPPORTED', 'the target has no way to keep what is deleted')
  const goal = joinPath(joinPath(folder, Buffer.from(name)), path)
  await makeFolders(driver, parentOf(goal))
  await driver.rename(path, await freeBeside(driver, goal))
}

/** A name that nothing has, in a few looks however many of these there are: names come and go in a live migration. */
async function freeBeside(driver: Driver, path: StorePath): Promise<StorePath> {
  const numbered = (number: number) =>
    number < 2 ? path : joinPath(parentOf(path), Buffer.concat([nameOf(path), Buffer.from(`~${number}`)]))
  const isFree = async (number: number) => (await driver.stat(numbered(number))) === undefined
  if (await isFree(1)) return path
  let taken = 1
  let free = 2
  while (!(await isFree(free))) [taken, free] = [free, 2 * free]
  while (free - taken > 1) {
    const middle = (taken + free) >> 1
    if (await isFree(middle)) free = middle
    else taken = middle
  }
  return numbered(free)
}

async function makeFolders(driver: Driver, path: StorePath): Promise<void> {
  if (path.length === 0 || (await driver.stat(path))?.type === 'folder') return
  await makeFolders(driver, parentOf(path))
  await driver.makeFolder(path, {})
}

/** For `removeTree`: what goes from a target goes into this folder of its trash, folders entry by entry if not whole. */
export const intoTrash =
  (driver: Driver, name: string, { goesWhole }: { readonly goesWhole: boolean }) =>
  async (path: StorePath, { type }: Pick<Entry, 'type'>): Promise<boolean> => {
    if (type === 'folder' && !goesWhole) return false
    await atTarget(moveToTrash(driver, path, name))
    return true
  }
