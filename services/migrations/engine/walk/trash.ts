import { trashFolder } from '../../../../subjects/plan-terms.ts'
import { GantryError } from '../../../../subjects/errors.ts'
import { nameOf, parentOf } from '../../../drivers/local-root.ts'
import type { Driver, StorePath } from '../../../drivers/driver.ts'
import { isWithin, joinPath } from '../paths.ts'

const folder = Buffer.from(trashFolder)

/** Whether a path of the target is the trash, or in it. */
export const isTrash = (there: StorePath): boolean => isWithin(folder, there)

/**
 * Moves what stands at a path of a store into its trash, where it keeps its path below a folder of this name. What is
 * there already under that path is left, and the newcomer gets another. Throws StoreErrors.
 */
export async function moveToTrash(driver: Driver, path: StorePath, name: string): Promise<void> {
  if (driver.rename === undefined)
    throw new GantryError('UNSUPPORTED', 'the target has no way to keep what is deleted')
  const goal = joinPath(joinPath(folder, Buffer.from(name)), path)
  await makeFolders(driver, parentOf(goal))
  let free = goal
  for (let number = 2; (await driver.stat(free)) !== undefined; number++)
    free = joinPath(parentOf(goal), Buffer.concat([nameOf(goal), Buffer.from(`~${number}`)]))
  await driver.rename(path, free)
}

async function makeFolders(driver: Driver, path: StorePath): Promise<void> {
  if (path.length === 0 || (await driver.stat(path))?.type === 'folder') return
  await makeFolders(driver, parentOf(path))
  await driver.makeFolder(path, {})
}
