import { nothingLost, type Entry, type FileAttributes, type Loss, type Losses } from '../contract/driver.ts'

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

/** RFC 3339 has years of four digits only; a time outside of them is not kept. */
const earliestMs = Date.parse('0000-01-01T00:00:00Z')
const latestMs = Date.parse('9999-12-31T23:59:59Z')
const isInCalendar = (ms: number): boolean => ms >= earliestMs && ms <= latestMs

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

/** What of attributes no metadata keep. */
export function lossesOf({ modifiedMs, extended }: FileAttributes): Losses {
  const losses: Loss[] = []
  if (modifiedMs !== undefined && !isInCalendar(modifiedMs)) losses.push('time')
  if (extended !== undefined && (extended.all.length > 0 || !extended.isComplete)) losses.push('attributes')
  return losses.length === 0 ? nothingLost : losses
}

/** Whether the blob of these metadata is a folder; names in lower case. */
export const isFolderMarker = (metadata: Readonly<Record<string, string>>) =>
  metadata['hdi_isfolder'] === 'true'

/** The attributes that the metadata keep; the time of the blob's last change (HTTP date) where they keep none. */
export function readAttributes(
  metadata: Readonly<Record<string, string>>,
  lastModified: string,
): FileAttributes {
  const modifiedMs =
    parseTime(metadata['mtime']) ?? parseNanoseconds(metadata['modtime']) ?? Date.parse(lastModified)
  const mode = parseNumber(metadata['permissions'])
  const uid = parseNumber(metadata['posix_owner'])
  const gid = parseNumber(metadata['posix_group'])
  return {
    ...(!Number.isNaN(modifiedMs) && { modifiedMs }),
    ...(mode !== undefined && { mode: mode & permissionBits }),
    ...(uid !== undefined && gid !== undefined && { owner: { uid, gid } }),
  }
}

/** Up to the 32 bits that Linux has for each of them. */
function parseNumber(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined
  const value = Number(text)
  return value < 2 ** 32 ? value : undefined
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

/** With nine digits, so that the same number comes back: a double near today's milliseconds steps by 244 ns. */
function formatTime(ms: number): string {
  const wholeMs = Math.floor(ms)
  const nanoseconds = Math.min(Math.round((ms - wholeMs) * 1e6), 999_999)
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(nanoseconds).padStart(6, '0')}Z`
}

function parseTime(text: string | undefined): number | undefined {
  const match =
    text === undefined
      ? null
      : /^(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/.exec(text)
  if (match === null) return undefined
  const [, seconds, fraction = '', zone] = match
  const ms = Date.parse(`${seconds}${zone}`.toUpperCase())
  return Number.isNaN(ms) ? undefined : ms + Number(fraction.padEnd(9, '0')) / 1e6
}

function parseNanoseconds(text: string | undefined): number | undefined {
  if (text === undefined || !/^-?\d{1,19}$/.test(text)) return undefined
  const nanoseconds = BigInt(text)
  return Number(nanoseconds / 1_000_000n) + Number(nanoseconds % 1_000_000n) / 1e6
}
