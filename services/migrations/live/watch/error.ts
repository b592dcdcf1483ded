import { isErrno, localError } from '../../../drivers/local/errors.ts'

/** Why a folder is not watched (any longer). */
export class WatchError extends Error {
  /** Whether the system has no room for as many watches: to try again is of no use until somebody gives it more. */
  readonly isLimit: boolean

  constructor(message: string, isLimit: boolean, options?: ErrorOptions) {
    super(message, options)
    this.name = 'WatchError'
    this.isLimit = isLimit
  }
}

/** Codes of a system that has no room for another watch. */
const limitCodes = ['ENOSPC', 'EMFILE', 'ENFILE', 'ENOMEM']

/** The WatchError of whatever was thrown when a watch was set. */
export function watchError(error: unknown): WatchError {
  if (error instanceof WatchError) return error
  const isLimit = limitCodes.some((code) => isErrno(error, code))
  const said = localError(error)
  const message = said instanceof Error ? said.message : String(said)
  const fix = isLimit ? '; raise fs.inotify.max_user_watches and max_user_instances' : ''
  return new WatchError(`${message}${fix}`, isLimit, { cause: error })
}
