import { getSystemErrorMessage } from 'node:util'
import { shellArgument } from '../../../subjects/kit/shell-word.ts'
import { StoreError, targetError, type FailureClass, type StoreSide } from '../contract/store-error.ts'

/** What an error number of the operating system means to the engine; `io` for all that are not here. */
const failureByCode: Record<string, FailureClass> = {
  ENOENT: 'gone',
  EACCES: 'permission',
  EPERM: 'permission',
  EROFS: 'refused',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EFBIG: 'too-large',
  ENAMETOOLONG: 'name',
  EILSEQ: 'name',
  EINVAL: 'unsupported',
  EISDIR: 'unsupported',
  ENOTDIR: 'unsupported',
  EEXIST: 'unsupported',
  ENOTEMPTY: 'unsupported',
  ELOOP: 'unsupported',
  ENXIO: 'unsupported',
  ENODEV: 'unsupported',
  EXDEV: 'unsupported',
  ENOTCONN: 'unreachable',
  ETIMEDOUT: 'unreachable',
  EHOSTDOWN: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  ECONNREFUSED: 'unreachable',
}

/** Clearer than the system's own words, where those mislead or a fix is always the same. */
const wordsByCode: Record<string, string> = {
  EPERM:
    'operation not permitted: remove the immutable attribute if it is set (lsattr, chattr -i), or run Gantry as the owner',
  EACCES: 'permission denied: allow the user that runs Gantry to enter, read and write it',
  EROFS: 'read-only file system: mount it writable or choose another folder',
  ENOSPC: 'no space left: free space or enlarge the file system; the migration then continues by itself',
  EDQUOT: 'the disk quota is used up: free space or raise the quota; the migration then continues by itself',
  EIO: 'the disk or mount reports an input/output error: check it (dmesg), then retry',
  EISDIR: 'a folder stands where the file should go: rename or delete it, then retry',
  ENOTEMPTY: 'a folder stands where the file should go: rename or delete it, then retry',
  ENOTDIR: 'something that is no folder stands where a folder should be',
  ELOOP: 'a symbolic link stands here; links are not followed',
}

/** Of what is only read, as all of a source is. */
const wordsOfReading: Record<string, string> = {
  ...wordsByCode,
  EACCES: 'permission denied: allow the user that runs Gantry to read it and to enter its folder',
}

/** Of a folder that is only listed. */
const wordsOfListing: Record<string, string> = {
  ...wordsByCode,
  EACCES: 'permission denied: allow the user that runs Gantry to read and enter it',
}

/** Whether a thrown value is the operating system's error of this code. */
export const isErrno = (error: unknown, code: string): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === code

/**
 * The StoreError of an error that a file system call threw; a StoreError stays what it is, but for its side, and what is no
 * system error (a fault of ours) is handed back to be thrown as it is.
 * @param side which side of a copy it was
 */
export const localError = (error: unknown, side?: StoreSide): unknown =>
  saidError(error, side, side === 'source' ? wordsOfReading : wordsByCode)

/** The same of what was to be read, or a folder to be listed; at a target, more is wanted of it. */
export const readError = (error: unknown): unknown => saidError(error, undefined, wordsOfReading)
export const listError = (error: unknown): unknown => saidError(error, undefined, wordsOfListing)

/** Opens a file of which nothing but reading is wanted. Throws system errors; `permission` where that is denied, and says no more. */
export function reading<T>(open: () => T): T {
  try {
    return open()
  } catch (error) {
    throw isErrno(error, 'EACCES') ? saidError(error, undefined, wordsOfReading) : error
  }
}

function saidError(error: unknown, side: StoreSide | undefined, wordsOf: Record<string, string>): unknown {
  if (error instanceof StoreError)
    return side === undefined || error.side !== undefined
      ? error
      : new StoreError(error.failure, error.message, { cause: error, side })
  if (!(error instanceof Error)) return error
  const { code, errno, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || errno === undefined) return error
  const messageBy = (words: Record<string, string>) =>
    `${words[code] ?? getSystemErrorMessage(errno) ?? 'unknown error'} (${code}${syscall === undefined ? '' : ` in ${syscall}`})`
  return new StoreError(failureByCode[code] ?? 'io', messageBy(wordsOf), {
    cause: error,
    side,
    ...(wordsOf[code] === wordsByCode[code] ? {} : { targetMessage: messageBy(wordsByCode) }),
  })
}

/**
 * The result of a piece of synchronous file system work; its failures are StoreErrors.
 * @param side as of `localError`
 */
export function locally<T>(work: () => T, side?: StoreSide): T {
  try {
    return work()
  } catch (error) {
    throw localError(error, side)
  }
}

/**
 * The error of work that reads a file of the source that is open, and writes it: what is read says that it is the source's,
 * and nobody but the source changes.
 */
export const writingError = (error: unknown): StoreError =>
  error instanceof StoreError && (error.side === 'source' || error.failure === 'changed')
    ? error
    : targetError(localError(error))

/** What work comes to; the other thing where nothing is, as below what is not there, a file, or a link that is kept. */
export function orGone<T>(otherwise: T, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const isGone = error instanceof StoreError && error.failure === 'gone'
    if (isGone || isErrno(error, 'ENOENT') || isNoFolder(error)) return otherwise
    throw readError(error)
  }
}

/**
 * The error of a folder below a root. A handle that is stale (ESTALE: replaced on the file server) is that of one file or
 * folder, which is tried again; only where the root's is stale too, the store as a whole is out of reach.
 * @param look looks at the root, and throws what the system says of it
 */
export function belowRoot(error: unknown, look: () => void): unknown {
  if (!isErrno(error, 'ESTALE')) return error
  try {
    look()
    return error
  } catch (cause) {
    return isErrno(cause, 'ESTALE')
      ? new StoreError(
          'unreachable',
          "the root's file handle is stale (ESTALE); mount the filesystem again",
          { cause },
        )
      : error
  }
}

/** Whether something else than a folder is on the way: a file, or a symbolic link that leads to itself. */
export const isNoFolder = (error: unknown): boolean => isErrno(error, 'ENOTDIR') || isErrno(error, 'ELOOP')

/** Of a root that is a file. */
export const noFolder = 'this is not a folder'

/**
 * The error of a look at a root: that it is denied says something about all that is in it.
 * @param root as it was given: what the system says does not name it
 */
export function probeError(error: unknown, root: string): unknown {
  const known = listError(error)
  if (!(known instanceof StoreError)) return known
  const failures: Partial<Record<FailureClass, FailureClass>> = { gone: 'gone', permission: 'refused' }
  const failure = failures[known.failure] ?? 'unreachable'
  const isMissing = known.failure === 'gone' && known.message !== noFolder
  const fixes: Partial<Record<FailureClass, string>> = {
    gone: isMissing
      ? '; check the path on the host of the platform (in a container, the path inside it), and that it is mounted'
      : '; use the folder that it is in',
  }
  const what = `fsRoot ${root}: ${known.message}`
  const atTarget = known.targetMessage === undefined ? undefined : `fsRoot ${root}: ${known.targetMessage}`
  return new StoreError(failure, `${what}${fixes[known.failure] ?? ''}`, {
    cause: error,
    targetMessage: atTarget,
    ...(isMissing && {
      targetMessage: `${what}; check that it is mounted, or create it on the host of the platform (in a container, inside it): "mkdir -p ${shellArgument(root)}"`,
    }),
  })
}
