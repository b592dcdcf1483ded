import { closeSync, openSync } from 'node:fs'
import type { ExtendedAttribute } from '../../services/drivers/contract/driver.ts'
import { readExtended, writeExtended } from '../../services/drivers/local/extended.ts'
import { systemCalls } from '../../services/drivers/local/system-calls.ts'
import { createFolder } from './migrations.ts'

/** An access control list as the kernel keeps it: version 2, then entries of tag, permissions and id, little-endian. */
export function accessList(
  entries: readonly (readonly [tag: number, permissions: number, id?: number])[],
): Buffer {
  const noId = 0xffffffff
  const bytes = Buffer.alloc(4 + 8 * entries.length)
  bytes.writeUInt32LE(2)
  for (const [index, [tag, permissions, id = noId]] of entries.entries()) {
    const at = 4 + 8 * index
    bytes.writeUInt16LE(tag, at)
    bytes.writeUInt16LE(permissions, at + 2)
    bytes.writeUInt32LE(id, at + 4)
  }
  return bytes
}

/** Owner, a user by number, group, mask, others. */
export const listWithUser = (uid: number, permissions: number): Buffer =>
  accessList([
    [0x01, 6],
    [0x02, permissions, uid],
    [0x04, 4],
    [0x10, permissions | 4],
    [0x20, 0],
  ])

function withOpen<T>(path: string | Buffer, work: (fd: number) => T): T {
  const fd = openSync(path, 'r')
  try {
    return work(fd)
  } finally {
    closeSync(fd)
  }
}

/** Gives a file or folder these attributes beside those that it has. */
export function setExtended(
  path: string | Buffer,
  attributes: Readonly<Record<string, Buffer | string>>,
): void {
  const all: ExtendedAttribute[] = Object.entries(attributes).map(([name, value]) => ({
    name,
    value: Buffer.from(value),
  }))
  const isWhole = withOpen(path, (fd) => writeExtended(fd, { all, isComplete: true }, []))
  if (!isWhole) throw new Error(`${String(path)} does not take ${Object.keys(attributes).join(', ')}`)
}

/** All extended attributes of a file or folder, values as hexadecimal text. */
export const extendedOf = (path: string | Buffer): Record<string, string> =>
  withOpen(path, (fd) =>
    Object.fromEntries(
      readExtended(fd).all.map(({ name, value }) => [name, Buffer.from(value).toString('hex')]),
    ),
  )

/** Why the folder for temporary files has no extended attributes, or undefined when it has them. */
export function whyNoExtended(): string | undefined {
  if (systemCalls() === undefined) return 'koffi is not installed, or this is not Linux'
  using folder = createFolder('data')
  try {
    setExtended(folder.data, { 'user.test': 'x', 'system.posix_acl_access': listWithUser(1, 4) })
    return undefined
  } catch {
    return 'the file system has no extended attributes or no access control lists'
  }
}
