import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectWithToken } from '../../../broker/rpc/connection.ts'
import { createSealer } from '../../../broker/identity/seal.ts'
import { sealFlow } from '../../../services/access/sign-in/flow.ts'
import { assignments } from '../../../subjects/access/assignments.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { files } from '../../../subjects/kit/names.ts'
import { signIn } from '../../../subjects/access/sign-in.ts'
import { CookieBrowser, signInAt } from '../../support/cookie-browser.ts'
import { connectInside } from '../../support/keys.ts'
import { recordingLog } from '../../support/log.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

// The development provider, as a first start runs it.
const logged = recordingLog()
let home: string
let platform: TestPlatform
let passwords: Record<string, string>
beforeAll(async () => {
  home = await createHome()
  platform = await startTestPlatform({ home, log: logged.log })
  passwords = platform.developmentPasswords!
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

const credentials = (name: string) => ({ name, password: passwords[name]! })
const redirectUri = 'http://127.0.0.1:49152/callback'
const begin = () => platform.call(signIn.begin, { client: 'cli', redirectUri })
const post = (path: string, body: object, headers = {}) =>
  platform.rest('platform', 'POST', path, { body, headers })
const complete = (flow: string, callback: string) => post('/api/v1/sign-in/complete', { flow, callback })
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** What the provider sends back to a loopback address when somebody has signed in. */
async function callbackFor(authorizationUrl: string, name = 'viewer'): Promise<string> {
  const { url } = await signInAt(new CookieBrowser(), authorizationUrl, credentials(name), redirectUri)
  return url.search.slice(1)
}

/** The whole flow, as a program goes through it. */
async function signInBy(name: string) {
  const { body } = await post('/api/v1/sign-in', { client: 'cli', redirectUri })
  const { authorizationUrl, flow } = body as { authorizationUrl: string; flow: string }
  return complete(flow, await callbackFor(authorizationUrl, name))
}

test('an administrator signs in and may do everything, over REST and NATS', async () => {
  const { status, body } = await signInBy('administrator')
  expect(status).toBe(200)
  const session = body as { token: string; expires: string; user: { subject: string } }
  expect(session).toMatchObject({
    user: { subject: 'development-administrator', name: 'Development administrator', roles: ['admin'] },
    narrowed: [],
  })
  expect(Date.parse(session.expires)).toBeGreaterThan(Date.now() + 11 * 3_600_000)
  const self = await platform.rest('platform', 'GET', '/api/v1/apikey', bearer(session.token))
  expect(self.body).toMatchObject({ kind: 'session', owner: 'development-administrator', roles: ['admin'] })
  const connection = await connectWithToken(platform.tcpUrl, session.token, { reconnect: false })
  expect((await connection.request('gantry.services.v1.users.self')).json()).toMatchObject(session.user)
  await connection.close()
})

test('the group of a viewer makes a viewer: the first start has assigned the role', async () => {
  expect(await platform.call(assignments.list, {})).toEqual([{ group: 'viewers', roles: ['viewer'] }])
  const { body } = await signInBy('viewer')
  const { token, user } = body as { token: string; user: object }
  expect(user).toMatchObject({ subject: 'development-viewer', groups: ['viewers'], roles: ['viewer'] })
  expect((await platform.rest('platform', 'GET', '/api/v1/filesystems', bearer(token))).status).toBe(200)
  expect((await platform.rest('platform', 'GET', '/api/v1/admin/users', bearer(token))).status).toBe(403)
})

test('the passwords are kept as hashes, for the owner of the folder alone', () => {
  const path = join(home, files.developmentProvider)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const text = readFileSync(path, 'utf8')
  for (const password of Object.values(passwords)) {
    expect(password.length).toBeGreaterThanOrEqual(16)
    expect(text).not.toContain(password)
  }
})

test.each([
  ['a wrong password', { name: 'administrator', password: 'wrong' }],
  ['no password', { name: 'administrator', password: '' }],
  ['an unknown name', { name: 'root', password: 'wrong' }],
  ['a name of JavaScript', { name: '__proto__', password: 'wrong' }],
])('the sign-in page refuses %s', async (_, wrong) => {
  const { authorizationUrl } = await begin()
  const reply = await signInAt(new CookieBrowser(), authorizationUrl, wrong)
  expect(reply.status).toBe(401)
  expect(reply.text).toContain('The user name or password is wrong.')
  expect(reply.text).toContain('For development only.')
  expect(reply.headers.get('content-security-policy')).toContain("default-src 'none'")
})

test('the provider answers to its own name alone', async () => {
  const { identityProvider } = (await platform.rest('platform', 'GET', '/api/v1/gantryinfo')).body as {
    identityProvider: { issuer: string }
  }
  const { port } = new URL(identityProvider.issuer)
  const reply = await fetch(`http://localhost:${port}/.well-known/openid-configuration`)
  expect(reply.status).toBe(421)
})

describe('begin', () => {
  test('asks for a code with PKCE, state and nonce, and tells nothing of the secrets', async () => {
    const first = await begin()
    const query = new URL(first.authorizationUrl).searchParams
    expect(Object.fromEntries(query)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      scope: 'openid profile email',
      client_id: 'gantry-cli',
      redirect_uri: redirectUri,
    })
    const second = new URL((await begin()).authorizationUrl).searchParams
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(query.get(name)!.length).toBeGreaterThanOrEqual(40)
      expect(second.get(name)).not.toBe(query.get(name))
    }
    expect(Buffer.from(first.flow, 'base64').toString()).not.toContain('verifier')
  })

  test.each([
    ['cli', 'http://127.0.0.1:1234/elsewhere'],
    ['cli', 'http://127.0.0.1:1234/callback?x=1'],
    ['cli', 'http://127.0.0.1:1234/callback#x'],
    ['cli', 'javascript:alert(1)'],
    ['cli', ''],
  ])('refuses to send the browser of a %s to %s, which can be no callback', async (client, redirectUri) => {
    const reply = await post('/api/v1/sign-in', { client, redirectUri })
    expect(reply.status).toBe(400)
    expect(reply.body).toMatchObject({ code: 'INVALID_INPUT' })
  })

  test.each([
    ['cli', 'https://evil.example/callback'],
    ['cli', 'http://evil.example/callback'],
    ['cli', 'http://localhost:1234/callback'],
    ['cli', 'http://user@127.0.0.1:1234/callback'],
    ['cli', 'http://127.0.0.1.evil.example/callback'],
    ['cli', 'https://127.0.0.1:1234/callback'],
    ['ui', redirectUri],
    ['ui', 'http://evil.example/login/callback'],
  ])(
    'refuses to send the browser of a %s to %s, the callback of somebody else',
    async (client, redirectUri) => {
      const reply = await post('/api/v1/sign-in', { client, redirectUri })
      expect(reply.status).toBe(409)
      expect(reply.body).toMatchObject({ code: 'NOT_ACCEPTED' })
    },
  )

  test.each(['http://127.0.0.1:1/callback', 'http://[::1]:65535/callback', 'http://127.0.0.1/callback'])(
    'sends that of the command line to %s',
    async (redirectUri) => {
      expect((await post('/api/v1/sign-in', { client: 'cli', redirectUri })).status).toBe(200)
    },
  )

  test('sends that of a page to the callback of the platform', async () => {
    const uri = `${platform.httpUrls.platform}/login/callback`
    const reply = await post('/api/v1/sign-in', { client: 'ui', redirectUri: uri })
    expect(reply.status).toBe(200)
  })
})

describe('complete refuses', () => {
  const refused = async (flow: string, callback: string, reason: string) => {
    const reply = await complete(flow, callback)
    expect(reply.status).toBe(401)
    expect(reply.body).toMatchObject({
      code: 'UNAUTHENTICATED',
      message: 'the sign-in was rejected; find the reason in the platform’s log by the request id',
    })
    const { requestId } = reply.body as { requestId: string }
    const line = logged.lines.find(({ details }) => details['requestId'] === requestId)
    expect(line).toMatchObject({ level: 'warn', message: 'Refused a sign-in.' })
    expect(line?.details['reason']).toContain(reason)
  }

  test('a code that was used', async () => {
    const { authorizationUrl, flow } = await begin()
    const callback = await callbackFor(authorizationUrl)
    expect((await complete(flow, callback)).status).toBe(200)
    await refused(flow, callback, 'invalid_grant')
  })

  test('the callback of another flow', async () => {
    const [one, other] = [await begin(), await begin()]
    const callback = await callbackFor(one.authorizationUrl)
    await refused(other.flow, callback, 'state')
    // With the right state and the wrong verifier the provider refuses.
    const state = new URL(other.authorizationUrl).searchParams.get('state')!
    const forged = new URLSearchParams(callback)
    forged.set('state', state)
    await refused(other.flow, forged.toString(), 'invalid_grant')
  })

  test.each<[string, (callback: URLSearchParams) => void, string]>([
    ['a callback without state', (callback) => callback.delete('state'), 'state'],
    ['another code', (callback) => callback.set('code', 'x'), 'invalid_grant'],
    ['no code', (callback) => callback.delete('code'), 'code'],
    ['the answer of another issuer', (callback) => callback.set('iss', 'https://evil.example'), 'iss'],
    ['an error of the provider', (callback) => callback.set('error', 'access_denied'), 'access_denied'],
  ])('%s', async (_, change, reason) => {
    const { authorizationUrl, flow } = await begin()
    const callback = new URLSearchParams(await callbackFor(authorizationUrl))
    change(callback)
    await refused(flow, callback.toString(), reason)
  })

  test('a flow that was changed, made up, sealed for something else, or is over', async () => {
    const { flow } = await begin()
    await refused(`${flow.slice(0, -6)}AAAA==`, 'code=x', 'not issued by this platform')
    await refused('e30=', 'code=x', 'not issued by this platform')
    const { connection, identity } = await connectInside(platform)
    await connection.close()
    await refused(createSealer(identity).seal('{}'), 'code=x', 'not issued by this platform')
    await refused(createSealer(identity, 'flow').seal('{}'), 'code=x', 'another type')
    const old = { client: 'cli', redirectUri, verifier: 'x', state: 'x', nonce: 'x' } as const
    const over = sealFlow(createSealer(identity, 'flow'), { ...old, expires: Date.now() - 1 })
    await refused(over, 'code=x', 'its flow has expired')
  })
})

describe('out', () => {
  test('ends the session and its connections, and says where to end that at the provider', async () => {
    const { token } = (await signInBy('viewer')).body as { token: string }
    const live = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
    const reply = await post('/api/v1/sign-in/out', {}, bearer(token).headers)
    expect(reply.status).toBe(200)
    expect((reply.body as { endSessionUrl: string }).endSessionUrl).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/session\/end\?post_logout_redirect_uri=http%3A%2F%2F127\.0\.0\.1%3A\d+%2F&client_id=gantry-ui$/,
    )
    await live.closed()
    await until('REST refuses', async () => {
      const { status } = await platform.rest('platform', 'GET', '/api/v1/userinfo', bearer(token))
      // A call on a connection that is being taken away has no answer: 503.
      return status === 401
    })
  })

  test('a key is no session', async () => {
    const reply = await platform.rest('platform', 'POST', '/api/v1/sign-in/out', { body: {} })
    expect(reply).toMatchObject({ status: 409, body: { code: 'NOT_ALLOWED_IN_STATE' } })
  })
})

test('keys that could do more than their owner may now are named at the next sign-in', async () => {
  const { token } = (await signInBy('viewer')).body as { token: string }
  const capabilities = { pub: { allow: ['gantry.services.v1.filesystems.list'] }, sub: { allow: [] } }
  const made = await post('/api/v1/keys', { name: 'mine', capabilities }, bearer(token).headers)
  expect(made.status).toBe(201)
  const { id } = made.body as { id: string }
  await platform.call(assignments.delete, { group: 'viewers' })
  expect((await signInBy('viewer')).body).toMatchObject({
    user: { roles: [] },
    narrowed: [{ id, name: 'mine', became: 'narrowed' }],
  })
  expect(await platform.call(keys.get, { id })).toMatchObject({ capabilities: { pub: { allow: [] } } })
})

test('no log has a code, a token, a password or a verifier', async () => {
  const { authorizationUrl, flow } = await begin()
  const callback = await callbackFor(authorizationUrl)
  const { token } = (await complete(flow, callback)).body as { token: string }
  await complete(flow, callback)
  const secrets = [token, flow, new URLSearchParams(callback).get('code')!, ...Object.values(passwords)]
  for (const secret of secrets) expect(logged.text()).not.toContain(secret)
})
