import { LocalRoot, realPath } from './root.ts'
import { type Area, type Mount, mountOf, mountTable, parseMounts } from './mounts.ts'
import { isWithin, joinPath, relativePath, nameOf, parentOf } from '../paths/path-text.ts'

/**
 * Where a folder of this host is on its file systems, whatever path leads to it: a part of a file system can be mounted at
 * several places (`mount --bind`), and then a name says nothing about what lies in what.
 */
export interface HostFolder {
  readonly own: Area
  /** What is mounted somewhere in it. */
  readonly mounted: readonly Area[]
}

/** The folder at an absolute path without symbolic links; it need not be there yet. */
export function hostFolder(absolute: Buffer, table = mountTable()): HostFolder {
  const path = absolute.subarray(1)
  const mounts = parseMounts(table)
  const mount = mountOf(mounts, path)
  const mounted = mounts.filter(({ at }) => at.length > path.length && isWithin(path, at))
  return { own: areaAt(mount, path), mounted: mounted.map(({ area }) => area) }
}

/** The folder at any absolute path, symbolic links resolved as far as it is there. */
export const hostFolderAt = (path: Buffer): HostFolder => hostFolder(resolved(path))

/** An absolute path with all symbolic links resolved, as far as it is there. */
export function resolved(path: Buffer): Buffer {
  try {
    return realPath(path)
  } catch {
    // What is not there yet will be made in its parent.
    const parent = parentOf(path)
    return parent.length === 0 ? path : new LocalRoot(resolved(parent)).absolute(nameOf(path))
  }
}

/** Whether one of two folders is the other, or has it in it. */
export const holds = (folder: HostFolder, other: HostFolder): boolean =>
  areasOf(folder).some((area) => isIn(area, other.own))

/** Everything that can be reached below a folder: its own file system, and what is mounted in it. */
export const areasOf = ({ own, mounted }: HostFolder): readonly Area[] => [own, ...mounted]

/** Whether one of two areas is the other, or has it in it. */
export const isIn = (area: Area, other: Area): boolean =>
  area.device === other.device && isWithin(area.path, other.path)

function areaAt(mount: Mount | undefined, path: Buffer): Area {
  if (mount === undefined) return { device: '', path, type: '' }
  const { area, at } = mount
  return { ...area, path: joinPath(area.path, relativePath(at, path)) }
}
