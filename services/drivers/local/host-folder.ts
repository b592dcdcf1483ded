import { LocalRoot, realPath } from './root.ts'
import { type Mount, type MountedArea, mountOf, mountTable, parseMounts } from './mounts.ts'
import type { Location } from '../contract/location.ts'
import { isWithin, joinPath, relativePath, nameOf, parentOf } from '../paths/path-text.ts'

/** The folder at an absolute path without symbolic links; it need not be there yet. */
export function hostFolder(absolute: Buffer, table = mountTable()): Location<MountedArea> {
  const path = absolute.subarray(1)
  const mounts = parseMounts(table)
  const mount = mountOf(mounts, path)
  const mounted = mounts.filter(({ at }) => at.length > path.length && isWithin(path, at))
  return { own: areaAt(mount, path), mounted: mounted.map(({ area }) => area) }
}

/** The folder at any absolute path, symbolic links resolved as far as it is there. */
export const hostFolderAt = (path: Buffer): Location<MountedArea> => hostFolder(resolved(path))

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

function areaAt(mount: Mount | undefined, path: Buffer): MountedArea {
  if (mount === undefined) return { device: '', path, type: '' }
  const { area, at } = mount
  return { ...area, path: joinPath(area.path, relativePath(at, path)) }
}
