import { nothingLost, type FileAttributes, type Losses } from '../contract/driver.ts'
import { parseId } from '../contract/metadata-values.ts'

/**
 * Metadata that keep what an object has no property for, under the names that other tools use: `mtime`, seconds since 1970
 * with fraction, is rclone's; `file-permissions` (octal), `file-owner` and `file-group` are those of Amazon's DataSync and
 * file systems, which write `file-mtime` with its unit. We read all of these and write all but `file-mtime`.
 */
const prefix = 'x-amz-meta-'
const permissionBits = 0o7777
const nanosPerMs = 1_000_000n
const nanosPerSecond = 1_000_000_000n

/** Headers that store the attributes with an object. */
export function metadataOf({ modifiedMs, mode, owner }: FileAttributes): Record<string, string> {
  const metadata: Record<string, string> = {}
  if (modifiedMs !== undefined) metadata[`${prefix}mtime`] = formatTime(modifiedMs)
  if (mode !== undefined)
    metadata[`${prefix}file-permissions`] = (mode & permissionBits).toString(8).padStart(4, '0')
  if (owner !== undefined) {
    metadata[`${prefix}file-owner`] = String(owner.uid)
    metadata[`${prefix}file-group`] = String(owner.gid)
  }
  return metadata
}

/** What of attributes no metadata keep. */
export const lossesOf = ({ extended }: FileAttributes): Losses =>
  extended !== undefined && (extended.all.length > 0 || !extended.isComplete) ? ['attributes'] : nothingLost

/** The attributes of an object by its headers; the time of its last upload where its metadata have none. */
export function attributesOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): FileAttributes {
  const value = (name: string) => {
    const found = headers[`${prefix}${name}`]
    return typeof found === 'string' ? found : undefined
  }
  const modifiedMs =
    parseSeconds(value('mtime')) ??
    parseUnit(value('file-mtime')) ??
    Date.parse(String(headers['last-modified'] ?? ''))
  const permissions = value('file-permissions')
  const mode =
    permissions !== undefined && /^[0-7]{3,7}$/.test(permissions) ? parseInt(permissions, 8) : undefined
  const [uid, gid] = [parseId(value('file-owner')), parseId(value('file-group'))]
  return {
    ...(!Number.isNaN(modifiedMs) && { modifiedMs }),
    ...(mode !== undefined && { mode: mode & permissionBits }),
    ...(uid !== undefined && gid !== undefined && { owner: { uid, gid } }),
  }
}

/** Headers without the attributes that are stored in them. */
export const withoutOwn = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ownNames.has(name)))

const ownNames = new Set(
  ['mtime', 'file-mtime', 'file-permissions', 'file-owner', 'file-group'].map((name) => `${prefix}${name}`),
)

/** Whether the metadata have a time. */
export const hasOwnTime = (headers: Readonly<Record<string, unknown>>): boolean =>
  headers[`${prefix}mtime`] !== undefined || headers[`${prefix}file-mtime`] !== undefined

/** With nine digits, so that the same number comes back: a double near today's milliseconds steps by 244 ns. */
function formatTime(ms: number): string {
  const wholeMs = Math.floor(ms)
  const nanos = BigInt(wholeMs) * nanosPerMs + BigInt(Math.min(Math.round((ms - wholeMs) * 1e6), 999_999))
  const [sign, positive] = nanos < 0n ? ['-', -nanos] : ['', nanos]
  return `${sign}${positive / nanosPerSecond}.${String(positive % nanosPerSecond).padStart(9, '0')}`
}

function parseSeconds(text: string | undefined): number | undefined {
  const [, sign, seconds, fraction = ''] =
    (text === undefined ? null : /^(-?)(\d{1,15})(?:\.(\d{1,9})\d*)?$/.exec(text)) ?? []
  if (seconds === undefined) return undefined
  const nanos = BigInt(seconds) * nanosPerSecond + BigInt(fraction.padEnd(9, '0'))
  return msOf(sign === '-' ? -nanos : nanos)
}

function parseUnit(text: string | undefined): number | undefined {
  const [, digits, unit] = (text === undefined ? null : /^(-?\d{1,19})(ns|ms)$/.exec(text)) ?? []
  if (digits === undefined) return undefined
  return unit === 'ms' ? Number(digits) : msOf(BigInt(digits))
}

const msOf = (nanos: bigint): number => Number(nanos / nanosPerMs) + Number(nanos % nanosPerMs) / 1e6
