import { WatchError } from '../../feeds/feed.ts'
import { isErrno, localError } from '../errors.ts'

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
