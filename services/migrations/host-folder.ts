import { readFileSync } from 'node:fs'
import { isWithin, joinPath, relativePath } from './engine/items/paths.ts'

/**
 * Where a folder of this host is on its file systems, whatever path leads to it: a part of a file system can be mounted at
 * several places (`mount --bind`), and then a name says nothing about what lies in what.
 */
export interface HostFolder {
  readonly own: Area
  /** What is mounted somewhere in it. */
  readonly mounted: readonly Area[]
}

/** A folder and all that is in it, of one file system. */
interface Area {
  /** The file system, by the number of its device; empty where the system does not tell. */
  readonly device: string
  /** From the root of the file system, without a slash at its beginning. */
  readonly path: Buffer
}

/** A line of the system's table of mounts. */
interface Mount {
  readonly id: string
  /** Id of the mount that it was made on. */
  readonly parent: string
  readonly area: Area
  /** Where it is, without a slash at its beginning. */
  readonly at: Buffer
}

/** The folder at an absolute path without symbolic links; it need not be there yet. */
export function hostFolder(absolute: Buffer, table = mountTable()): HostFolder {
  const path = absolute.subarray(1)
  const mounts = parseMounts(table)
  const mount = mountOf(mounts, path)
  const mounted = mounts.filter(({ at }) => at.length > path.length && isWithin(path, at))
  return { own: areaAt(mount, path), mounted: mounted.map(({ area }) => area) }
}

/** Whether one of two folders is the other, or has it in it. */
export const holds = (folder: HostFolder, other: HostFolder): boolean =>
  [folder.own, ...folder.mounted].some(
    ({ device, path }) => device === other.own.device && isWithin(path, other.own.path),
  )

function mountTable(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'latin1')
  } catch {
    // Only Linux has it; elsewhere paths have to do.
    return ''
  }
}

/** See proc_pid_mountinfo(5): id, parent, device, root within the file system, mount point, and more. */
const parseMounts = (table: string): Mount[] =>
  table
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', parent = '', device = '', root = '', at = ''] = line.split(' ')
      return { id, parent, area: { device, path: pathOf(root) }, at: pathOf(at) }
    })

/** Spaces, line ends and backslashes are octal numbers in the table. */
const pathOf = (field: string): Buffer =>
  Buffer.from(
    field.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
      String.fromCodePoint(Number.parseInt(digits, 8)),
    ),
    'latin1',
  ).subarray(1)

/** The mount in which the system ends up on its way to a path; undefined when the table has none. */
function mountOf(mounts: readonly Mount[], path: Buffer): Mount | undefined {
  const ids = new Set(mounts.map(({ id }) => id))
  let found: Mount | undefined
  for (;;) {
    // On one mount the way comes first to the highest of those that are made on it, and does not get to others behind it.
    const [next] = mounts
      .filter((one) =>
        found === undefined ? !ids.has(one.parent) : one.parent === found.id && one !== found,
      )
      .filter(({ at }) => isWithin(at, path))
      .toSorted((a, b) => a.at.length - b.at.length)
    if (next === undefined) return found
    found = next
  }
}

function areaAt(mount: Mount | undefined, path: Buffer): Area {
  if (mount === undefined) return { device: '', path }
  const { area, at } = mount
  return { device: area.device, path: joinPath(area.path, relativePath(at, path)) }
}
