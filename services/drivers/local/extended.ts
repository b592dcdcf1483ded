import { constants } from 'node:os'
import { StoreError, type ExtendedAttribute, type FileAttributes } from '../contract/driver.ts'
import { permittedOn } from './rights.ts'
import { systemCalls } from './system-calls.ts'

/** XATTR_LIST_MAX and XATTR_SIZE_MAX of Linux: no list and no value is longer. */
const maxBytes = 64 * 1024
const buffer = Buffer.allocUnsafeSlow(maxBytes)

const { ENOTSUP, ENODATA, EPERM, EACCES } = constants.errno

/** Labels and signatures that a host's own policy gives to its files; another host's are wrong there. */
const ofTheHost: readonly string[] = ['security.selinux', 'security.evm']

type Extended = NonNullable<FileAttributes['extended']>

const none: Extended = { all: [], isComplete: true }
const unreadable: Extended = { all: [], isComplete: false }

/** The extended attributes of an open file or folder; one system call where there are none. Throws StoreErrors. */
export function readExtended(fd: number): Extended {
  if (systemCalls() === undefined) return unreadable
  const names = extendedNames(fd)
  if (names.length === 0) return none
  return permittedOn(
    fd,
    () => valuesOf(fd, names),
    ({ isComplete }) => !isComplete,
  )
}

function valuesOf(fd: number, names: readonly string[]): Extended {
  const all: ExtendedAttribute[] = []
  let isComplete = true
  for (const name of names) {
    const value = valueOf(fd, name)
    if (value === 'refused') isComplete = false
    else if (value !== undefined) all.push({ name, value })
  }
  return { all, isComplete }
}

/** Names of the extended attributes of an open file or folder; none where they cannot be asked for. Throws StoreErrors. */
export function extendedNames(fd: number): string[] {
  const calls = systemCalls()
  if (calls === undefined) return []
  const length = calls.flistxattr(fd, buffer, maxBytes)
  if (length === 0) return []
  if (length < 0) {
    // The file system has no such thing.
    if (calls.errno() === ENOTSUP) return []
    throw failed('listed', calls.errno())
  }
  const names = buffer.toString('latin1', 0, length - 1).split('\0')
  return names.filter((name) => !ofTheHost.includes(name))
}

/** Undefined when it has gone since its name was read. */
function valueOf(fd: number, name: string): Buffer | 'refused' | undefined {
  const calls = systemCalls()
  if (calls === undefined) return 'refused'
  const length = calls.fgetxattr(fd, withNul(name), buffer, maxBytes)
  if (length >= 0) return Buffer.from(buffer.subarray(0, length))
  switch (calls.errno()) {
    case ENODATA:
      return undefined
    case EPERM:
    case EACCES:
    case ENOTSUP:
      return 'refused'
    default:
      throw failed('read', calls.errno())
  }
}

/**
 * Gives an open file or folder these extended attributes and no others; false when it did not take all.
 * @param present names that it has
 */
export function writeExtended(fd: number, { all }: Extended, present: readonly string[]): boolean {
  const calls = systemCalls()
  if (calls === undefined) return all.length === 0
  let isWhole = true
  for (const name of present) {
    if (all.some((attribute) => attribute.name === name)) continue
    if (calls.fremovexattr(fd, withNul(name)) < 0 && calls.errno() !== ENODATA) isWhole = false
  }
  for (const { name, value } of all) {
    if (calls.fsetxattr(fd, withNul(name), value, value.length, 0) < 0) isWhole = false
  }
  return isWhole
}

const withNul = (name: string) => Buffer.from(`${name}\0`, 'latin1')

const failed = (done: string, errno: number) =>
  new StoreError(
    'io',
    `the extended attributes could not be ${done} (error ${errno} of the operating system)`,
  )
