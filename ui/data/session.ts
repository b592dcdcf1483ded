import { connectPage, type PageConnection } from '../../client/page.ts'
import { type User, users } from '../../subjects/access/users.ts'
import type { Output } from '../../subjects/kit/contract.ts'
import { errorOf } from '../../subjects/kit/errors.ts'
import { sessionPath } from '../../subjects/kit/names.ts'
import { platform } from '../../subjects/platform/platform.ts'

/** Of the person who is signed in, on a connection to the broker like that of any other client. */
export interface Session extends PageConnection {
  readonly person: User
  readonly about: Output<(typeof platform)['info']>
  /** Whether a token is the session's: somebody else may have signed in in the same browser. */
  isOwn(token: string): boolean
}

/** The token of the session. @throws GantryError UNAUTHENTICATED when nobody is signed in */
export const ownToken = async (): Promise<string> =>
  (await answer<{ readonly token: string }>(sessionPath)).token

/** @throws GantryError UNAUTHENTICATED when nobody is signed in */
export async function openSession(): Promise<Session> {
  const [token, about] = await Promise.all([
    ownToken(),
    answer<Session['about']>(platform.info.http[0]!.path),
  ])
  const connection = await connectPage({ token, servers: about.broker.websocket, name: 'web interface' })
  const person = await connection.call(users.self, {})
  return { ...connection, person, about, isOwn: (other) => other === token }
}

/** Of what is asked before there is a connection. */
async function answer<T>(path: string): Promise<T> {
  const response = await fetch(path)
  const body: unknown = await response.json()
  if (!response.ok) throw errorOf(body, response.statusText)
  return body as T
}
