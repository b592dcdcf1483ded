import { lstatSync, readlinkSync, statSync, type Stats } from 'node:fs'
import { StoreError, type StorePath } from './driver.ts'
import { isErrno } from './local-errors.ts'
import { openForReading } from './local-file.ts'
import { contains, parentOf, realPath, type LocalRoot } from './local-root.ts'

/**
 * Links to folders on one path that are followed. Two folders that link to each other's neighbours, and those to theirs,
 * make more paths with every level than anybody has files.
 */
const maxFollowed = 8

/** The file or folder that a symbolic link leads to in the end. */
export interface Followed {
  /** Absolute, without links in it. */
  readonly real: Buffer
  readonly stat: Stats
}

/**
 * Follows a link. Throws `permission` when it leads out of the root, `unsupported` when it leads to nothing, to a folder
 * that it is in, or through too many links; and system errors.
 */
export function followLink(root: LocalRoot, path: StorePath): Followed {
  const real = realTarget(root, path)
  root.requireInside(real)
  const stat = statSync(real)
  if (stat.isDirectory()) requireNew(root, path, real)
  return { real, stat }
}

function realTarget(root: LocalRoot, path: StorePath): Buffer {
  try {
    return realPath(root.absolute(path))
  } catch (error) {
    if (isErrno(error, 'ELOOP')) throw refused('leads round in a circle', error)
    // The link itself was there a moment ago; if it is not, it has gone.
    if (isErrno(error, 'ENOENT') && lstatSync(root.absolute(path), { throwIfNoEntry: false }) !== undefined)
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

/** Opens a file for reading, through a link only if that is wanted. Throws StoreErrors and system errors. */
export function openSource(root: LocalRoot, path: StorePath, follow: boolean): number {
  try {
    return openForReading(root.absolute(path))
  } catch (error) {
    if (!follow || !isErrno(error, 'ELOOP')) throw error
    return openForReading(followLink(root, path).real)
  }
}

/** Target text of a symbolic link. */
export const readLink = (absolutePath: Buffer): Buffer => readlinkSync(absolutePath, { encoding: 'buffer' })
