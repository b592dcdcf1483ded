import { isGantryError } from '../../subjects/kit/errors.ts'
import { refreshAgainMs, signIn } from '../../subjects/access/sign-in.ts'
import type { Session } from './session.ts'
import { isRefreshDue, userSessionPath, writeRefreshAfter } from './user-session.ts'

/**
 * Refreshes the session of `login` when that is due.
 * @throws GantryError UNAUTHENTICATED when the identity provider has ended it; while it is away, the session is used as it is
 */
export async function refreshWhenDue(session: Session, env: NodeJS.ProcessEnv): Promise<void> {
  const path = userSessionPath(env)
  if (path === undefined || !isRefreshDue(path)) return
  writeRefreshAfter(path, await refreshed(session))
}

/** When to do so again; undefined: never. */
async function refreshed(session: Session): Promise<string | undefined> {
  try {
    return (await session.call(signIn.refresh, {})).refreshAfter
  } catch (error) {
    if (isGantryError(error, 'UNAUTHENTICATED')) throw error
    if (isGantryError(error, 'NOT_ALLOWED_IN_STATE')) return undefined
    return new Date(Date.now() + refreshAgainMs).toISOString()
  }
}
