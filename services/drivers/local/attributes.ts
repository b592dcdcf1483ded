import { fchmodSync, fchownSync, fstatSync, futimesSync, type Stats } from 'node:fs'
import { nothingLost, type FileAttributes, type Loss, type Losses, type Owner } from '../contract/driver.ts'
import { isErrno } from './errors.ts'
import { extendedNames, writeExtended } from './extended.ts'
import { permittedOn } from './rights.ts'

export const permissionBits = 0o777
/** Set-user-id, set-group-id and sticky. The first two mean nothing good without the owner that they belong to. */
export const specialBits = 0o7000
const stickyBit = 0o1000

/** What an open file or folder of ours has before it is given its attributes. */
export interface Present {
  readonly owner: Owner
  /** `as-asked`: a new file has the permission bits that it was made with; undefined: it may have others. */
  readonly mode: number | 'as-asked' | undefined
  /** Names of its extended attributes. */
  readonly extended: readonly string[]
  /** Owners that the operating system would not let us give to the like of it. */
  readonly refusedOwners: Set<string>
}

export const ownerOf = ({ uid, gid }: Pick<Stats, 'uid' | 'gid'>): Owner => ({ uid, gid })

/** A look at what there is; extended attributes are asked for only if some are to be given. */
export function presentOf(fd: number, { extended }: FileAttributes): Present {
  const { uid, gid, mode } = fstatSync(fd)
  return {
    owner: { uid, gid },
    mode: mode & (permissionBits | specialBits),
    extended: extended === undefined ? [] : extendedNames(fd),
    refusedOwners: new Set(),
  }
}

/**
 * What each new file of a folder is born with, which the first one tells: the folder may hand down its group, and access
 * control lists that take away from the mode.
 */
export function bornWith(fd: number, attributes: FileAttributes): Present {
  const present = presentOf(fd, attributes)
  return { ...present, mode: present.extended.length === 0 ? 'as-asked' : undefined }
}

/**
 * Gives an open file or folder its attributes, the time last; returns what it would not take. Throws system errors that say
 * something else than that.
 * @param isFolder folders keep the sticky bit whoever owns them: it protects what is in them
 */
export function dress(
  fd: number,
  { modifiedMs, mode, owner, extended }: FileAttributes,
  present: Present,
  isFolder = false,
): Losses {
  let losses = nothingLost
  const lose = (loss: Loss) => (losses = [...losses, loss])
  const isOwned = owner !== undefined && give(fd, owner, present)
  if (owner !== undefined && !isOwned) lose('owner')
  if (extended !== undefined) {
    const isWhole = permittedOn(
      fd,
      () => writeExtended(fd, extended, present.extended),
      (isDone) => !isDone,
    )
    if (!isWhole || !extended.isComplete) lose('attributes')
  }
  if (mode !== undefined) {
    const kept = mode & (isOwned ? permissionBits | specialBits : permissionBits | (isFolder ? stickyBit : 0))
    const has = present.mode === 'as-asked' ? mode & permissionBits : present.mode
    // A file that is given away loses set-user-id and set-group-id with that.
    const mayHaveLost = (kept & specialBits) !== 0 && isOwned
    const isTaken = (kept === has && !mayHaveLost) || attempt(() => fchmodSync(fd, kept))
    if (!isTaken || kept !== (mode & (permissionBits | specialBits))) lose('mode')
  }
  if (modifiedMs !== undefined && !attempt(() => setModified(fd, modifiedMs), isFolder)) lose('time')
  return losses
}

/** What was refused once is not tried again: an error for each of a million files would cost more than the copy. */
function give(fd: number, { uid, gid }: Owner, { owner, refusedOwners }: Present): boolean {
  if (uid === owner.uid && gid === owner.gid) return true
  const key = `${uid}:${gid}`
  if (refusedOwners.has(key)) return false
  if (attempt(() => fchownSync(fd, uid, gid))) return true
  refusedOwners.add(key)
  return false
}

const refusals = ['EPERM', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** Whether the operating system or the file system would do it. */
function attempt(change: () => void, mayRefuse = true): boolean {
  try {
    change()
    return true
  } catch (error) {
    if (mayRefuse && refusals.some((code) => isErrno(error, code))) return false
    throw error
  }
}

/** Sets the time of the last change, exact to a microsecond. */
export function setModified(fd: number, modifiedMs: number): void {
  const time = secondsOf(modifiedMs)
  futimesSync(fd, time, time)
}

/** Node takes a negative number (before 1970) for a mistake and sets the present; as text it is taken. */
export const secondsOf = (modifiedMs: number): number | string => {
  const seconds = modifiedMs / 1000
  return seconds < 0 ? `${seconds}` : seconds
}
