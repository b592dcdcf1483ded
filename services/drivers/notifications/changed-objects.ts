import { type DirtyFolder, DirtyFolders } from '../feeds/dirty-folders.ts'

/** An object that was written or removed, and when. */
export interface ChangedObject {
  /** As latin1, a character a byte. */
  readonly key: string
  /** See `Notice`. */
  readonly isTree?: boolean
  /** When that was (`monotonicMs`). */
  readonly sinceMs: number
}

/** Names that no path can have: object stores allow them in keys. */
const isName = (segment: string): boolean => !['', '.', '..'].includes(segment)

/**
 * Where to look for what became of objects: under their names, and those of the folders that they are in, as those may have
 * come or gone with them.
 * @param root path of the folder whose changes count, as latin1; what is not below it is left out
 */
export function foldersOf(root: string, objects: Iterable<ChangedObject>): DirtyFolder[] {
  const dirty = new DirtyFolders(Number.POSITIVE_INFINITY)
  const above = root === '' ? '' : `${root}/`
  for (const { key, isTree = false, sinceMs } of objects) {
    // The folder itself, or one that it is in: another one may stand there.
    if (isTree && (key === '' || above.startsWith(`${key}/`))) dirty.addFolder('', 'content', sinceMs)
    if (!key.startsWith(above)) continue
    // A slash at the end marks a folder.
    const segments = key.slice(above.length).replace(/\/$/, '').split('/')
    const usable = segments.findIndex((segment) => !isName(segment))
    const names = usable === -1 ? segments : segments.slice(0, usable)
    for (const [index, name] of names.entries())
      dirty.addName(names.slice(0, index).join('/'), name, isTree && index === segments.length - 1, sinceMs)
  }
  return dirty.take()
}
