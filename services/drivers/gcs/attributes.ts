import type { FileAttributes } from '../contract/driver.ts'
import { formatTime, isInCalendar, parseId, parseTime } from '../contract/metadata-values.ts'

/**
 * Metadata that keep what an object has no property for, under the names that other tools use: `mtime`, RFC 3339 with
 * fraction, is rclone's; `goog-reserved-file-mtime`, whole seconds since 1970, and `goog-reserved-posix-` with `mode` (octal),
 * `uid` and `gid` are those of gsutil, gcloud storage and the Storage Transfer Service. We read and write all of these.
 */
const names = {
  time: 'mtime',
  seconds: 'goog-reserved-file-mtime',
  mode: 'goog-reserved-posix-mode',
  uid: 'goog-reserved-posix-uid',
  gid: 'goog-reserved-posix-gid',
} as const
const permissionBits = 0o7777
/** gsutil reads modes of three digits only: there are four where the first is not 0. */
const usualDigits = 3

export type Metadata = Readonly<Record<string, string>>

export function metadataOf({ modifiedMs, mode, owner }: FileAttributes): Metadata {
  const metadata: Record<string, string> = {}
  if (modifiedMs !== undefined && isInCalendar(modifiedMs)) {
    metadata[names.time] = formatTime(modifiedMs)
    metadata[names.seconds] = String(Math.floor(modifiedMs / 1_000))
  }
  if (mode !== undefined)
    metadata[names.mode] = (mode & permissionBits).toString(8).padStart(usualDigits, '0')
  if (owner !== undefined) {
    metadata[names.uid] = String(owner.uid)
    metadata[names.gid] = String(owner.gid)
  }
  return metadata
}

/** The attributes that metadata keep. */
export function attributesOf(metadata: Metadata): FileAttributes {
  const seconds = metadata[names.seconds]
  const secondsMs =
    seconds !== undefined && /^-?\d{1,12}$/.test(seconds) ? Number(seconds) * 1_000 : undefined
  const modifiedMs = parseTime(metadata[names.time]) ?? secondsMs
  const digits = metadata[names.mode]
  const mode = digits !== undefined && /^[0-7]{3,7}$/.test(digits) ? parseInt(digits, 8) : undefined
  const [uid, gid] = [parseId(metadata[names.uid]), parseId(metadata[names.gid])]
  return {
    ...(modifiedMs !== undefined && { modifiedMs }),
    ...(mode !== undefined && { mode: mode & permissionBits }),
    ...(uid !== undefined && gid !== undefined && { owner: { uid, gid } }),
  }
}
