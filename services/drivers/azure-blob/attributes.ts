import type { Entry, FileAttributes } from '../contract/driver.ts'
import { formatTime, isInCalendar, parseId, parseTime } from '../contract/metadata-values.ts'

/**
 * Metadata that keeps what a blob has no property for, under the names that other tools use:
 * `mtime`, RFC 3339 with fraction, is rclone's; `modtime`, nanoseconds since 1970, and `permissions`, st_mode in decimal
 * with the bits of the type, are AzCopy's (--preserve-posix-properties), as are `posix_owner` and `posix_group`, numbers in
 * decimal; `hdi_isfolder` is Hadoop's and Azure's own, all tools hide such blobs. We read all of these and write all but
 * `modtime`.
 */
const metadataPrefix = 'x-ms-meta-'
const header = {
  mtime: `${metadataPrefix}mtime`,
  permissions: `${metadataPrefix}permissions`,
  uid: `${metadataPrefix}posix_owner`,
  gid: `${metadataPrefix}posix_group`,
  folder: `${metadataPrefix}hdi_isfolder`,
}

const typeBits = { file: 0o100000, folder: 0o040000 }
const permissionBits = 0o7777

/** Headers that store the attributes with a file. */
export const fileMetadata = (attributes: FileAttributes): Record<string, string> =>
  storedAttributes(attributes, typeBits.file)

/** Headers that make an empty blob the marker of a folder. */
export const folderMetadata = (attributes: FileAttributes): Record<string, string> => ({
  [header.folder]: 'true',
  ...storedAttributes(attributes, typeBits.folder),
})

function storedAttributes({ modifiedMs, mode, owner }: FileAttributes, type: number): Record<string, string> {
  const metadata: Record<string, string> = {}
  if (modifiedMs !== undefined && isInCalendar(modifiedMs)) metadata[header.mtime] = formatTime(modifiedMs)
  if (mode !== undefined) metadata[header.permissions] = String(type | (mode & permissionBits))
  if (owner !== undefined) {
    metadata[header.uid] = String(owner.uid)
    metadata[header.gid] = String(owner.gid)
  }
  return metadata
}

/** Whether the blob of these metadata is a folder; names in lower case. */
export const isFolderMarker = (metadata: Readonly<Record<string, string>>) =>
  metadata['hdi_isfolder'] === 'true'

/**
 * Whether the MD5 that the service keeps with a blob of this type may be that of its content. What is written to in place
 * keeps the one that it was made with; of a block blob each write makes another, or leaves none.
 */
export const mayHaveDigest = (blobType: unknown): boolean =>
  blobType !== 'PageBlob' && blobType !== 'AppendBlob'

/** What a hierarchical namespace keeps of a file or folder by itself; empty elsewhere. */
export interface Access {
  /** As text, such as `rwxr-x---`. */
  readonly permissions: string
  /** Ids of the directory. */
  readonly owner: string
  readonly group: string
}

export const noAccess: Access = { permissions: '', owner: '', group: '' }

/**
 * The attributes that the metadata keep; the time of the blob's last change (HTTP date) where they keep none. Permissions
 * are those that the service goes by, where it has some, and those of before in the metadata add what it does not keep.
 */
export function readAttributes(
  metadata: Readonly<Record<string, string>>,
  lastModified: string,
  access: Access = noAccess,
): FileAttributes {
  const modifiedMs =
    parseTime(metadata['mtime']) ?? parseNanoseconds(metadata['modtime']) ?? Date.parse(lastModified)
  const mode = modeOf(parseId(metadata['permissions']), parsePermissions(access.permissions))
  const uid = parseId(metadata['posix_owner'])
  const gid = parseId(metadata['posix_group'])
  return {
    ...(!Number.isNaN(modifiedMs) && { modifiedMs }),
    ...(mode !== undefined && { mode: mode & permissionBits }),
    ...(uid !== undefined && gid !== undefined
      ? { owner: { uid, gid } }
      : access.owner !== '' && { ownerNames: { user: access.owner, group: access.group } }),
  }
}

/** What the service keeps of a mode. */
export const serviceBits = 0o1777

const modeOf = (kept: number | undefined, its: number | undefined): number | undefined =>
  kept !== undefined && its !== undefined && (kept & serviceBits) === its ? kept : (its ?? kept)

/** Permission bits of a text such as `rwxr-x--T+`; undefined for any other. */
export function parsePermissions(text: string): number | undefined {
  const match = /^([r-][w-][x-])([r-][w-][x-])([r-][w-][xtT-])\+?$/.exec(text)
  if (match === null) return undefined
  const bits = Array.from(match.slice(1).join('')).reduce(
    (sum, letter, at) => sum + ('-T'.includes(letter) ? 0 : 1 << (8 - at)),
    0,
  )
  return /[tT]\+?$/.test(text) ? bits | 0o1000 : bits
}

/** The store's own times of a blob, those that it told (HTTP dates), by this host's clock. */
export type StoreTimes = Pick<Entry, 'createdMs' | 'writtenMs'>

export function storeTimes(created: string, lastModified: string, aheadMs: number): StoreTimes {
  const createdMs = Date.parse(created) - aheadMs
  const writtenMs = Date.parse(lastModified) - aheadMs
  return { ...(!Number.isNaN(createdMs) && { createdMs }), ...(!Number.isNaN(writtenMs) && { writtenMs }) }
}

/** Headers that store metadata. */
export const metadataHeaders = (metadata: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`${metadataPrefix}${name}`, value]))

/** Metadata from the headers of a blob, names in lower case without their prefix. */
export function headerMetadata(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const metadata: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(metadataPrefix) && typeof value === 'string')
      metadata[name.slice(metadataPrefix.length)] = value
  }
  return metadata
}

function parseNanoseconds(text: string | undefined): number | undefined {
  if (text === undefined || !/^-?\d{1,19}$/.test(text)) return undefined
  const nanoseconds = BigInt(text)
  return Number(nanoseconds / 1_000_000n) + Number(nanoseconds % 1_000_000n) / 1e6
}
