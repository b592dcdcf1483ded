import { rmSync } from 'node:fs'
import { decodeJwt, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, expect } from 'vitest'
import { assignments } from '../../subjects/access/assignments.ts'
import { CookieBrowser } from '../support/cookie-browser.ts'
import { hasKeycloak, type Keycloak, keycloakTest, startKeycloak } from '../support/keycloak.ts'
import {
  clients,
  people,
  type PersonName,
  realmFor,
  signInAtKeycloak,
  submitForm,
} from '../support/keycloak-realm.ts'
import { recordingLog } from '../support/log.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { configure, publicUrlOf } from '../support/provider.ts'
import { until } from '../support/until.ts'

const realm = 'main'
const logged = recordingLog()
let home: string
let keycloak: Keycloak
let platform: TestPlatform
beforeAll(async () => {
  if (!hasKeycloak) return
  home = await createHome()
  keycloak = await startKeycloak()
  for (const name of [realm, 'another']) await keycloak.admin('POST', '', realmFor(name, publicUrlOf(home)))
  await configure(home, {
    'oidc.issuer': `${keycloak.url}/realms/${realm}`,
    'oidc.clientid': clients.cli,
    'oidc.uiclientid': clients.ui.id,
    'oidc.uiclientsecret': clients.ui.secret,
    'oidc.clockskew': 0,
    admin_group: 'administrators',
  })
  platform = await startTestPlatform({ home, log: logged.log })
  await platform.call(assignments.put, { group: people.ada.group, roles: ['viewer'] })
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  await keycloak?.[Symbol.asyncDispose]()
  if (home !== undefined) rmSync(home, { recursive: true, force: true })
})

const redirectUri = 'http://127.0.0.1:49152/callback'
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const get = (path: string, token: string) => platform.rest('platform', 'GET', path, bearer(token))
const post = (path: string, body: object, headers = {}) =>
  platform.rest('platform', 'POST', path, { body, headers })
const exchange = (token: string) => get('/api/v1/usertoken', token)

/** Tokens that Keycloak gives to a client for somebody's password. */
const tokensOf = (name: PersonName, { of = realm, client = clients.cli } = {}) => {
  const { username, password } = people[name]
  const fields = { grant_type: 'password', client_id: client, scope: 'openid', username, password }
  return keycloak.token(of, fields) as Promise<{ id_token: string; access_token: string }>
}

/** The code flow, as a program goes through it. */
async function signInBy(name: PersonName, change: (callback: URLSearchParams) => void = () => undefined) {
  const { body } = await post('/api/v1/sign-in', { client: 'cli', redirectUri })
  const { authorizationUrl, flow } = body as { authorizationUrl: string; flow: string }
  const { url } = await signInAtKeycloak(new CookieBrowser(), authorizationUrl, name, redirectUri)
  change(url.searchParams)
  return post('/api/v1/sign-in/complete', { flow, callback: url.searchParams.toString() })
}

/** The request is refused, and the log says why. */
function refused({ status, body }: { status: number; body: unknown }, reason: string) {
  expect({ status, body }).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
  const { requestId } = body as { requestId: string }
  const line = logged.lines.find(({ details }) => details['requestId'] === requestId)
  expect(line?.details['reason']).toContain(reason)
}

keycloakTest('the platform finds the provider by its issuer alone', async () => {
  const info = await platform.rest('platform', 'GET', '/api/v1/gantryinfo', { headers: {} })
  const issuer = `${keycloak.url}/realms/${realm}`
  expect(info.body).toMatchObject({ identityProvider: { issuer }, bootstrap: false })
  const { body } = await platform.rest('platform', 'GET', '/api/v1/health', { headers: {} })
  const { components } = body as { components: object[] }
  expect(components).toContainEqual({ name: 'identity provider', healthy: true })
})

keycloakTest(
  'a program signs in by code and PKCE: groups give a role, the role what is allowed',
  async () => {
    const { status, body } = await signInBy('ada')
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        user: {
          name: 'ada Example',
          email: 'ada@example.org',
          groups: ['migration-viewers'],
          roles: ['viewer'],
        },
      },
    })
    const { token } = body as { token: string }
    expect((await get('/api/v1/filesystems', token)).status).toBe(200)
    expect(await get('/api/v1/admin/users', token)).toMatchObject({
      status: 403,
      body: { code: 'DENIED' },
    })

    const without = (await signInBy('eve')).body as { token: string; user: object }
    expect(without.user).toMatchObject({ groups: ['others'], roles: [] })
    expect((await get('/api/v1/filesystems', without.token)).status).toBe(403)
    expect((await get('/api/v1/userinfo', without.token)).status).toBe(200)
  },
)

keycloakTest('a browser signs in, and signs out here and at Keycloak', async () => {
  const origin = platform.httpUrls.platform
  const browser = new CookieBrowser()
  expect((await signInAtKeycloak(browser, `${origin}/login`, 'ada')).url.pathname).toBe('/login/callback')
  const first = await browser.open(origin)
  expect(first.text).toContain('Signed in as <strong id="who">ada Example</strong> (viewer)')
  const token = browser.cookies.get('gantry-session')!

  const out = () => browser.open(`${origin}/logout`, { form: {}, headers: { origin } })
  await out()
  await until('the session is over', async () => (await get('/api/v1/userinfo', token)).status === 401)
  // Keycloak forgets who has signed in there with the last token that it has given out.
  await until('the token is revoked', () =>
    logged.lines.some(({ message }) => message.includes('revoked the token')),
  )
  const loginPage = 'id="kc-form-login"'
  expect((await browser.open(`${origin}/login`)).text).toContain(loginPage)

  await signInAtKeycloak(browser, `${origin}/login`, 'ada')
  expect((await browser.open(`${origin}/login`)).url.pathname).toBe('/login/callback')
  // Nobody is asked: the ID token says whose session it is.
  const [, endSession] = /content="0; url=([^"]*\/logout\?[^"]*)"/.exec((await out()).text)!
  expect(endSession).toContain('id_token_hint=')
  const ended = await browser.open(endSession!.replaceAll('&#38;', '&'))
  expect(ended.status).toBe(200)
  expect(ended.text).not.toContain('confirmLogout')
  expect((await browser.open(`${origin}/login`)).text).toContain(loginPage)
})

keycloakTest('a device code that is entered in a browser signs in', async () => {
  const { body } = await post('/api/v1/sign-in/device', {})
  const { flow, verificationUriComplete } = body as { flow: string; verificationUriComplete: string }
  const browser = new CookieBrowser()
  const consent = await signInAtKeycloak(browser, verificationUriComplete, 'ada')
  await submitForm(browser, consent, { accept: 'Yes' })
  expect((await post('/api/v1/sign-in/device/poll', { flow })).body).toMatchObject({
    session: { user: { email: 'ada@example.org', roles: ['viewer'] } },
  })
})

keycloakTest(
  'a session is refreshed before Keycloak’s token ends, until somebody is shut out there',
  async () => {
    const refresh = (token: string) => post('/api/v1/sign-in/refresh', {}, bearer(token).headers)
    const { token, refreshAfter } = (await signInBy('eve')).body as { token: string; refreshAfter: string }
    // Keycloak takes it for half an hour, if it is not used before.
    expect((Date.parse(refreshAfter) - Date.now()) / 60_000).toBeCloseTo(20, 0)
    expect(await refresh(token)).toMatchObject({ status: 200, body: { refreshAfter: expect.any(String) } })
    expect((await refresh(token)).status).toBe(200)

    const [eve] = (await keycloak.admin('GET', `/${realm}/users?username=eve&exact=true`)) as { id: string }[]
    await keycloak.admin('PUT', `/${realm}/users/${eve!.id}`, { enabled: false })
    expect(await refresh(token)).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
    await until('the session is over', async () => (await get('/api/v1/userinfo', token)).status === 401)
    await keycloak.admin('PUT', `/${realm}/users/${eve!.id}`, { enabled: true })
  },
)

keycloakTest('an ID token is exchanged for a session', async () => {
  const { id_token } = await tokensOf('ada')
  const { status, body } = await exchange(id_token)
  expect({ status, body }).toMatchObject({ status: 200, body: { user: { roles: ['viewer'] } } })
  const { token } = body as { token: string }
  expect((await get('/api/v1/apikey', token)).body).toMatchObject({ kind: 'session', roles: ['viewer'] })
})

keycloakTest(
  'tokens for others are refused: another client, the provider itself, another realm',
  async () => {
    const other = await tokensOf('ada', { client: clients.other })
    refused(await exchange(other.id_token), 'aud')
    // An access token of Keycloak is for the realm's own page about accounts.
    refused(await exchange((await tokensOf('ada')).access_token), 'aud')
    const elsewhere = await tokensOf('ada', { of: 'another' })
    refused(await exchange(elsewhere.id_token), 'key')
    const { iss } = decodeJwt((await tokensOf('ada')).id_token)
    refused(await exchange(changed(elsewhere.id_token, { iss })), 'key')
  },
)

keycloakTest('a callback that says to come from another realm is refused', async () => {
  const answer = await signInBy('ada', (callback) => {
    expect(callback.get('iss')).toBe(`${keycloak.url}/realms/${realm}`)
    callback.set('iss', `${keycloak.url}/realms/another`)
  })
  refused(answer, 'iss')
})

keycloakTest('a token that was tampered with is refused', async () => {
  const { id_token } = await tokensOf('eve')
  refused(await exchange(changed(id_token, { groups: ['administrators'] })), 'signature')
  const [head, body, signature] = id_token.split('.') as [string, string, string]
  refused(await exchange(`${head}.${body}.${signature.slice(0, -4)}AAAA`), 'signature')
})

keycloakTest('a token of alg none is refused', async () => {
  const unsigned = new UnsecuredJWT(decodeJwt((await tokensOf('ada')).id_token)).encode()
  refused(await exchange(unsigned), 'alg')
})

keycloakTest('a token that has expired is refused', async () => {
  await keycloak.admin('PUT', `/${realm}`, { accessTokenLifespan: 1 })
  const { id_token } = await tokensOf('ada')
  await keycloak.admin('PUT', `/${realm}`, { accessTokenLifespan: 300 })
  const endMs = decodeJwt(id_token).exp! * 1_000
  await until('it has ended', () => Date.now() > endMs)
  refused(await exchange(id_token), 'exp')
})

keycloakTest('Keycloak changes its keys: who signs in then gets in, without a restart', async () => {
  const keyOf = (token: string) =>
    (JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid
  const old = await tokensOf('ada')
  expect((await exchange(old.id_token)).status).toBe(200)
  const { id } = (await keycloak.admin('GET', `/${realm}`)) as { id: string }
  await keycloak.admin('POST', `/${realm}/components`, {
    name: 'newer',
    parentId: id,
    providerId: 'rsa-generated',
    providerType: 'org.keycloak.keys.KeyProvider',
    config: { priority: ['200'], algorithm: ['RS256'], keySize: ['2048'] },
  })
  const fresh = await tokensOf('ada')
  expect(keyOf(fresh.id_token)).not.toBe(keyOf(old.id_token))
  // Unknown keys make the platform ask, once in two seconds at most.
  await until('the new key is known', async () => (await exchange(fresh.id_token)).status === 200)
  expect((await signInBy('ada')).status).toBe(200)
  // The old one has not been withdrawn.
  expect((await exchange(old.id_token)).status).toBe(200)
})

/** A token with other claims under the same signature. */
function changed(token: string, claims: object): string {
  const [head, , signature] = token.split('.')
  const body = Buffer.from(JSON.stringify({ ...decodeJwt(token), ...claims })).toString('base64url')
  return `${head}.${body}.${signature}`
}
