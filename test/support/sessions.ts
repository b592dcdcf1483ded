import { createSealer } from '../../broker/identity/seal.ts'
import { openKeys, type StoredKey } from '../../services/access/keys/keys.ts'
import { CookieBrowser, signInAt } from './cookie-browser.ts'
import { connectInside } from './keys.ts'
import type { TestPlatform } from './platform.ts'
import type { TestProvider } from './provider.ts'

/** What a sign-in or a refresh answers of a session. */
export interface Lasting {
  readonly expires: string
  readonly refreshAfter?: string
}

const redirectUri = 'http://127.0.0.1:49152/callback'

/** Signs in as a program does, at a provider of the test. */
export async function signInByCode(
  platform: TestPlatform,
  { passwords }: TestProvider,
  name: 'administrator' | 'viewer' = 'viewer',
): Promise<Lasting & { token: string; user: { roles: string[] } }> {
  const post = async (path: string, body: object) =>
    (await platform.rest('platform', 'POST', path, { body, headers: {} })).body
  const begun = await post('/api/v1/sign-in', { client: 'cli', redirectUri })
  const { authorizationUrl, flow } = begun as { authorizationUrl: string; flow: string }
  const credentials = { name, password: passwords[name] }
  const { url } = await signInAt(new CookieBrowser(), authorizationUrl, credentials, redirectUri)
  const session = await post('/api/v1/sign-in/complete', { flow, callback: url.search.slice(1) })
  return session as Lasting & { token: string; user: { roles: string[] } }
}

/** Changes the record of a session as only the platform itself can. */
export async function changeSession(
  platform: TestPlatform,
  id: string,
  change: (session: StoredKey) => StoredKey | undefined,
): Promise<StoredKey> {
  const { connection } = await connectInside(platform)
  const changed = await (await openKeys(connection)).update(id, change)
  await connection.close()
  return changed
}

/** The refresh token of a session, which nobody outside the platform can read. */
export async function refreshTokenOf(platform: TestPlatform, id: string): Promise<string> {
  const { connection, identity } = await connectInside(platform)
  const { refresh } = (await (await openKeys(connection)).get(id))!
  await connection.close()
  return createSealer(identity, 'refresh token').open(refresh!.sealedToken)
}
