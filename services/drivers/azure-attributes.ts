import type { Entry, FileAttributes } from './driver.ts'

/**
 * Metadata that keeps what a blob has no property for, under the names that other tools use:
 * `mtime`, RFC 3339 with fraction, is rclone's; `modtime`, nanoseconds since 1970, and `permissions`, st_mode in decimal
 * with the bits of the type, are AzCopy's (--preserve-posix-properties); `hdi_isfolder` is Hadoop's and Azure's own, all
 * tools hide such blobs. We write `mtime` and `permissions` and read all four.
 */
const metadataPrefix = 'x-ms-meta-'
const header = {
  mtime: `${metadataPrefix}mtime`,
  permissions: `${metadataPrefix}permissions`,
  folder: `${metadataPrefix}hdi_isfolder`,
}

const typeBits = { file: 0o100000, folder: 0o040000 }
const permissionBits = 0o7777

/** RFC 3339 has years of four digits only; a time outside of them is not kept, nor 0, which says that there is none. */
const earliestMs = Date.parse('0000-01-01T00:00:00Z')
const latestMs = Date.parse('9999-12-31T23:59:59Z')

/** Headers that store the attributes with a file. */
export function fileMetadata({ modifiedMs, mode }: FileAttributes): Record<string, string> {
  const metadata: Record<string, string> = {}
  if (modifiedMs !== 0 && modifiedMs >= earliestMs && modifiedMs <= latestMs)
    metadata[header.mtime] = formatTime(modifiedMs)
  if (mode !== undefined) metadata[header.permissions] = String(typeBits.file | (mode & permissionBits))
  return metadata
}

/** Headers that make an empty blob the marker of a folder. */
export function folderMetadata({ mode }: { readonly mode?: number }): Record<string, string> {
  const metadata: Record<string, string> = { [header.folder]: 'true' }
  if (mode !== undefined) metadata[header.permissions] = String(typeBits.folder | (mode & permissionBits))
  return metadata
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
  const { permissions } = metadata
  const mode =
    permissions !== undefined && /^\d{1,10}$/.test(permissions)
      ? Number(permissions) & permissionBits
      : undefined
  return { modifiedMs: Number.isNaN(modifiedMs) ? 0 : modifiedMs, ...(mode === undefined ? {} : { mode }) }
}

/** The store's own times of a blob, those that it told (HTTP dates). */
export type StoreTimes = Pick<Entry, 'createdMs' | 'writtenMs'>

export function storeTimes(created: string, lastModified: string): StoreTimes {
  const createdMs = Date.parse(created)
  const writtenMs = Date.parse(lastModified)
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
