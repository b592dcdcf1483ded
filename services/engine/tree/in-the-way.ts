import { StoreError, type Entry } from '../../drivers/contract/driver.ts'
import { isOwn } from './live.ts'
import { takenAt } from '../run/mappings.ts'
import { targetError } from '../../drivers/contract/store-error.ts'
import { isName, joinPath } from '../items/paths.ts'
import { listThere, type MayRemove, mayRemoveOwn } from './remove-tree.ts'
import { atTarget, type Run } from '../run/run.ts'

/** Whether something of another type stands where an entry of the source belongs: one of the two is a folder. */
export const isInTheWay = (source: Entry, target: Entry | undefined): target is Entry =>
  target !== undefined && (source.type === 'folder') !== (target.type === 'folder')

/**
 * Which entries of the target may make room for something of another type: what came there after the migration began. So
 * did the content of a folder that is older if all that is in it may, and something is; an older folder that is empty was
 * somebody's. A folder is looked through again for each older one that it is in, which are few.
 */
export const mayReplace = (run: Run): MayRemove => {
  const isRemovable = mayRemoveOwn(run)
  const mayGo: MayRemove = async (at, entry) => {
    run.stop.check()
    const { path, origin } = at
    // It would be emptied, and still be in the way.
    if (takenAt(run, path, origin) !== undefined) return false
    if (entry.type !== 'folder') return isRemovable(at, entry)
    // Not every listing says when a folder was made.
    const isListed = run.target.capabilities.listsAttributes
    const folder = isListed ? entry : ((await atTarget(run.target.stat(path, run.stop.signal))) ?? entry)
    if (isOwn(run, folder)) return isRemovable(at, folder)
    let holdsSome = false
    for await (const { entries } of listThere(run, 'target', path)) {
      for (const one of entries) {
        const { name } = one
        const below = () => ({ path: joinPath(path, name), origin: joinPath(origin, name) })
        if (!isName(name) || !(await mayGo(below(), one))) return false
        holdsSome = true
      }
    }
    return holdsSome
  }
  return mayGo
}

/** The failure of what has no room, in the words of the drivers. @param there what the target has in its place */
export const inTheWay = ({ type }: Pick<Entry, 'type'>): StoreError => {
  const [what, other] = type === 'folder' ? ['a folder', 'file'] : ['something that is no folder', 'folder']
  const reason = 'what was there before the migration, or is excluded, stays: rename or delete it, then retry'
  return targetError(new StoreError('unsupported', `${what} stands where the ${other} should go; ${reason}`))
}
