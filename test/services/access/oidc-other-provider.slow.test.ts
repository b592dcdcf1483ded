import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { assignments } from '../../../subjects/access/assignments.ts'
import { CookieBrowser } from '../../support/cookie-browser.ts'
import { confidential, type Habits, startOtherProvider } from '../../support/other-provider.ts'
import { createHome, startTestPlatform } from '../../support/platform.ts'
import { configure } from '../../support/provider.ts'

const redirectUri = 'http://127.0.0.1:49152/callback'

test.each<Habits>([
  { authentication: 'client_secret_basic', groupsIn: 'userinfo' },
  { authentication: 'client_secret_post', groupsIn: 'access token' },
])('a provider with $authentication, RS256 and groups in the $groupsIn', async (habits) => {
  const home = await createHome()
  await using provider = await startOtherProvider([redirectUri], habits)
  await configure(home, {
    'oidc.issuer': provider.issuer,
    'oidc.clientid': confidential.id,
    'oidc.clientsecret': confidential.secret,
    'oidc.scopes': 'openid profile',
  })
  await using platform = await startTestPlatform({ home })
  await platform.call(assignments.put, { group: 'readers', roles: ['viewer'] })
  const post = async (path: string, body: object) =>
    (await platform.rest('platform', 'POST', path, { body, headers: {} })).body
  const begun = await post('/api/v1/sign-in', { client: 'cli', redirectUri })
  const { authorizationUrl, flow } = begun as { authorizationUrl: string; flow: string }
  const { url } = await new CookieBrowser().open(authorizationUrl, { until: redirectUri })
  const session = await post('/api/v1/sign-in/complete', { flow, callback: url.search.slice(1) })
  const { token } = session as { token: string }
  const headers = { authorization: `Bearer ${token}` }
  expect(await platform.rest('platform', 'POST', '/api/v1/sign-in/refresh', { headers })).toMatchObject({
    status: 200,
    body: { refreshAfter: expect.any(String) },
  })
  expect(session).toMatchObject({
    user: { subject: 'ada', name: 'Ada', groups: ['readers'], roles: ['viewer'] },
  })
  rmSync(home, { recursive: true, force: true })
})
