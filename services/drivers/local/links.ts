import { lstatSync, readlinkSync, statSync, type Stats } from 'node:fs'
import { StoreError, type StorePath } from '../contract/driver.ts'
import { isErrno, reading } from './errors.ts'
import { openForReading, openPinned } from './file.ts'
import { contains, Pinned, realPath, type LocalRoot } from './root.ts'
import { parentOf } from '../paths/path-text.ts'

/**
 * Links to folders on one path that are followed. Two folders that link to each other's neighbours, and those to theirs,
 * make more paths with every level than anybody has files.
 */
const maxFollowed = 8

/** The file or folder that a symbolic link leads to in the end. */
export interface Followed {
  /** Leads to it, and to nothing else, while the work on it goes on. */
  readonly path: Buffer
  readonly stat: Stats
}

/**
 * Work on what a link leads to. Throws `permission` when that is outside of the root, `unsupported` when it is nothing, a
 * folder that the link is in, or behind too many links; and system errors.
 * @param absolute of the path
 */
export function following<T>(
  root: LocalRoot,
  path: StorePath,
  absolute: Buffer,
  work: (followed: Followed) => T,
): T {
  const at = led(absolute, () => Pinned.endOf(absolute))
  try {
    const place = at.place()
    root.requireInside(place)
    const stat = statSync(at.path)
    if (stat.isDirectory()) requireNew(root, path, place)
    return work({ path: at.path, stat })
  } finally {
    at.close()
  }
}

function led<T>(absolute: Buffer, follow: () => T): T {
  try {
    return follow()
  } catch (error) {
    if (isErrno(error, 'ELOOP')) throw refused('leads round in a circle', error)
    // The link itself was there a moment ago; if it is not, it has gone.
    if (isErrno(error, 'ENOENT') && lstatSync(absolute, { throwIfNoEntry: false }) !== undefined)
      throw refused('leads to nothing', error)
    throw error
  }
}

/** A folder is scanned once under each path that leads to it, and no path may lead into itself. */
function requireNew(root: LocalRoot, path: StorePath, real: Buffer): void {
  let followed = 1
  for (let folder = parentOf(path); ; folder = parentOf(folder)) {
    const absolute = root.absolute(folder)
    if (contains(real, realPath(absolute))) throw refused('leads to a folder that it is in')
    if (folder.length === 0) return
    if (lstatSync(absolute).isSymbolicLink() && ++followed > maxFollowed)
      throw refused(`is behind ${maxFollowed} other links to folders`)
  }
}

const refused = (why: string, cause?: unknown) =>
  new StoreError('unsupported', `the symbolic link ${why}; it is not followed`, { cause })

/**
 * Opens a file for reading, through a link only if that is wanted. Throws StoreErrors and system errors.
 * @param absolute of the path
 */
export function openSource(root: LocalRoot, path: StorePath, absolute: Buffer, follow: boolean): number {
  try {
    return reading(() => openForReading(absolute))
  } catch (error) {
    if (!follow || !isErrno(error, 'ELOOP')) throw error
    return following(root, path, absolute, (followed) => reading(() => openPinned(followed.path)))
  }
}

/** Target text of a symbolic link. */
export const readLink = (absolutePath: Buffer): Buffer => readlinkSync(absolutePath, { encoding: 'buffer' })
