import { isGantryError } from '../../subjects/kit/errors.ts'
import { refreshAgainMs, signIn } from '../../subjects/access/sign-in.ts'
import type { Session } from './session.ts'
import { writeRefreshAfter } from './user-session.ts'

/**
 * Refreshes the session of `login`, which is in a file.
 * @throws GantryError UNAUTHENTICATED when the identity provider has ended it; while it is away, the session is used as it is
 */
export async function refresh(session: Session, path: string): Promise<void> {
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
