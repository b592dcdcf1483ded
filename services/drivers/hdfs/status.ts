import type { Entry, FileAttributes, FileLayout } from '../contract/driver.ts'
import { field } from './client.ts'
import type { HostUsers } from './host-users.ts'

/** What a cluster tells of a file or folder. */
export interface FileStatus {
  /** Last segment of the path; empty where one path was asked for. */
  readonly name: string
  readonly type: 'FILE' | 'DIRECTORY' | 'SYMLINK'
  readonly sizeBytes: number
  readonly modifiedMs: number
  readonly mode: number
  readonly user: string
  readonly group: string
  /** Number of the inode: another file of the same name has another one. */
  readonly fileId: number
  /** Whether it has an access control list. */
  readonly hasAcl: boolean
  readonly isEncrypted: boolean
  /** Of a file. */
  readonly layout?: FileLayout
}

/** Undefined for what is no status. */
export function fileStatus(json: unknown): FileStatus | undefined {
  const [name, type, length, modified, permission, user, group, fileId = 0] = [
    'pathSuffix',
    'type',
    'length',
    'modificationTime',
    'permission',
    'owner',
    'group',
    'fileId',
  ].map((one) => field(json, one))
  if (type !== 'FILE' && type !== 'DIRECTORY' && type !== 'SYMLINK') return undefined
  if (typeof name !== 'string' || typeof user !== 'string' || typeof group !== 'string') return undefined
  if (!Number.isSafeInteger(length) || !Number.isSafeInteger(modified) || !Number.isSafeInteger(fileId))
    return undefined
  if (typeof permission !== 'string' || !/^[0-7]{1,4}$/.test(permission)) return undefined
  return {
    name,
    type,
    sizeBytes: type === 'FILE' ? (length as number) : 0,
    modifiedMs: modified as number,
    mode: parseInt(permission, 8),
    user,
    group,
    fileId: fileId as number,
    hasAcl: field(json, 'aclBit') === true,
    isEncrypted: field(json, 'encBit') === true,
    ...layoutIn(json, type),
  }
}

function layoutIn(json: unknown, type: FileStatus['type']): Pick<FileStatus, 'layout'> {
  const [replication, blockBytes] = [field(json, 'replication'), field(json, 'blockSize')]
  const isTold = Number.isSafeInteger(replication) && Number.isSafeInteger(blockBytes)
  if (type !== 'FILE' || !isTold) return {}
  return { layout: { replication: replication as number, blockBytes: blockBytes as number } }
}

/** Two statuses of one path are of the same content when this is equal: appending moves the time, replacing the number. */
export const versionOf = ({ fileId, modifiedMs, sizeBytes }: FileStatus): string =>
  `${fileId}.${modifiedMs}.${sizeBytes}`

/** @param users who has which number on this host */
export function attributesOf(
  { modifiedMs, mode, user, group }: FileStatus,
  users: HostUsers,
): FileAttributes {
  const [uid, gid] = [users.uidOf(user), users.gidOf(group)]
  return {
    modifiedMs,
    mode,
    ownerNames: { user, group },
    ...(uid !== undefined && gid !== undefined && { owner: { uid, gid } }),
  }
}

const typeOf = { FILE: 'file', DIRECTORY: 'folder', SYMLINK: 'other' } as const

export const entryOf = (status: FileStatus, name: Buffer, users: HostUsers): Entry => ({
  name,
  type: typeOf[status.type],
  sizeBytes: status.sizeBytes,
  ...attributesOf(status, users),
})
