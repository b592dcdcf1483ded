import { readFileSync } from 'node:fs'
import type { Area } from '../contract/location.ts'
import { isErrno } from './errors.ts'
import { isWithin } from '../paths/path-text.ts'

/** A folder and all that is in it, of one file system: the device is the number that the system has for it. */
export interface MountedArea extends Area {
  /** Type of the file system, such as `ext4`; empty where the system does not tell. */
  readonly type: string
}

/** A line of the system's table of mounts. */
export interface Mount {
  readonly id: string
  /** Id of the mount that it was made on. */
  readonly parent: string
  readonly area: MountedArea
  /** Where it is, without a slash at its beginning. */
  readonly at: Buffer
  /** What is mounted, as whoever mounted it said: a device, or a share of another host. */
  readonly source: string
}

/** The system’s table of mounts; empty where it has none. Throws system errors. */
export function mountTable(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'latin1')
  } catch (error) {
    // Only Linux has it; elsewhere paths have to do.
    if (isErrno(error, 'ENOENT')) return ''
    throw error
  }
}

/** The table changes seldom, and is read often. */
let parsed: { readonly table: string; readonly mounts: readonly Mount[] } | undefined

/** See proc_pid_mountinfo(5): id, parent, device, root within the file system, mount point, and more. */
export function parseMounts(table: string): readonly Mount[] {
  if (parsed?.table !== table) parsed = { table, mounts: mountsIn(table) }
  return parsed.mounts
}

const mountsIn = (table: string): Mount[] =>
  table
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [own = '', file = ''] = line.split(' - ')
      const [id = '', parent = '', device = '', root = '', at = ''] = own.split(' ')
      const [type = '', source = ''] = file.split(' ')
      return { id, parent, area: { device, path: pathOf(root), type }, at: pathOf(at), source }
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
export function mountOf(mounts: readonly Mount[], path: Buffer): Mount | undefined {
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

/**
 * The mounts below a folder that can be reached, but those that only mount others when somebody looks.
 * @param folder absolute, without symbolic links
 */
export function mountsBelow(mounts: readonly Mount[], folder: Buffer): Mount[] {
  const path = folder.subarray(1)
  return mounts
    .filter(({ at, area }) => at.length > path.length && isWithin(path, at) && area.type !== 'autofs')
    .filter((mount) => mountOf(mounts, mount.at) === mount)
}

/**
 * File systems that are the kernel's own interfaces: what is read there are secrets of all processes and states that change
 * while they are read, and what is written changes the host. Those in memory (tmpfs, ramfs) are for data.
 */
const kernelTypes = new Set([
  ...['proc', 'sysfs', 'devtmpfs', 'devpts', 'cgroup', 'cgroup2', 'cpuset', 'resctrl', 'mqueue', 'nfsd'],
  ...['debugfs', 'tracefs', 'securityfs', 'configfs', 'fusectl', 'bpf', 'pstore', 'efivarfs', 'binfmt_misc'],
  ...['selinuxfs', 'smackfs', 'xenfs', 'binder', 'functionfs'],
])

/** Where they are, for systems without a table of mounts. */
const kernelFolders = ['proc', 'sys', 'dev'].map((name) => Buffer.from(name))

/**
 * The interface of the kernel that a folder lies in, or the first of those below it: its type, and where it is.
 * @param folder see `mountsBelow`
 */
export function kernelInterfaceIn(
  mounts: readonly Mount[],
  folder: Buffer,
): { readonly type: string; readonly place: Buffer } | undefined {
  const path = folder.subarray(1)
  if (mounts.length === 0) {
    const at = kernelFolders.find((one) => isWithin(one, path))
    return at && { type: at.toString(), place: absolute(at) }
  }
  const isKernels = ({ area }: Mount) => kernelTypes.has(area.type)
  const own = mountOf(mounts, path)
  const found =
    own !== undefined && isKernels(own)
      ? own
      : mounts.find((one) => isKernels(one) && one.at.length > path.length && isWithin(path, one.at))
  return found && { type: found.area.type, place: placeOf(found) }
}

/** Where it is; absolute. */
export const placeOf = ({ at }: Mount): Buffer => absolute(at)

const absolute = (path: Buffer): Buffer => Buffer.concat([Buffer.from('/'), path])
