import { rmSync } from 'node:fs'
import { generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { assignments } from '../../../subjects/access/assignments.ts'
import { recordingLog } from '../../support/log.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { algorithms, TestProvider, type TokenShape } from '../../support/provider.ts'
import { until } from '../../support/until.ts'

// Tokens made by the test under the keys of a real provider, and under others.
const logged = recordingLog()
let home: string
let provider: TestProvider
let platform: TestPlatform
beforeAll(async () => {
  home = await createHome()
  provider = await TestProvider.forHome(home, {
    'rbac.groups_claim': 'realm_access.roles',
    'oidc.clockskew': 20,
    admin_subject: undefined,
    admin_group: 'admins',
  })
  platform = await startTestPlatform({ home, log: logged.log })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

const exchange = (token: string) =>
  platform.rest('platform', 'GET', '/api/v1/usertoken', { headers: { authorization: `Bearer ${token}` } })
const seconds = () => Math.floor(Date.now() / 1_000)

/** The token is refused, its bearer learns nothing of why, and the log says it, without the token. */
async function refuses(token: string, reason: string): Promise<void> {
  const reply = await exchange(token)
  expect(reply.status).toBe(401)
  expect(reply.headers.get('www-authenticate')).toBe('Bearer')
  const { code, message, requestId, ...rest } = reply.body as Record<string, string>
  expect({ code, message, ...rest }).toEqual({
    code: 'UNAUTHENTICATED',
    message: 'the sign-in was rejected; find the reason in the platform’s log by the request id',
  })
  const line = logged.lines.find(({ details }) => details['requestId'] === requestId)
  expect(line?.details['reason']).toContain(reason)
  expect(logged.text()).not.toContain(token)
}

describe('is exchanged for a session:', () => {
  test.each(algorithms)('an ID token signed with %s', async (algorithm) => {
    const reply = await exchange(await provider.token({ sub: 'ada', name: 'Ada' }, { algorithm }))
    expect(reply.status).toBe(200)
    const { token, user } = reply.body as { token: string; user: object }
    expect(user).toMatchObject({ subject: 'ada', name: 'Ada', groups: [], roles: [] })
    const headers = { authorization: `Bearer ${token}` }
    expect((await platform.rest('platform', 'GET', '/api/v1/userinfo', { headers })).body).toMatchObject({
      subject: 'ada',
    })
  })

  test.each<[string, () => JWTPayload, TokenShape]>([
    ['for the client of the pages', () => ({ aud: provider.config.uiClientId }), {}],
    ['for several, ours among them', () => ({ aud: ['other', provider.config.clientId] }), {}],
    ['that names us as the one it was issued to', () => ({ azp: provider.config.clientId }), {}],
    ['for access', () => ({}), { type: 'at+jwt' }],
    ['for access, its type in full', () => ({}), { type: 'application/at+JWT' }],
    ['of the type JWT', () => ({}), { type: 'JWT' }],
    ['that ended within the clock skew', () => ({ exp: seconds() - 10 }), {}],
    ['that begins within the clock skew', () => ({ nbf: seconds() + 10 }), {}],
  ])('one %s', async (_, claims, shape) => {
    expect((await exchange(await provider.token(claims(), shape))).status).toBe(200)
  })
})

describe('is refused:', () => {
  test.each<[string, () => JWTPayload, string]>([
    ['for another client', () => ({ aud: 'other' }), 'aud'],
    ['for nobody', () => ({ aud: undefined as never }), 'aud'],
    ['for a client whose name begins as ours', () => ({ aud: `${provider.config.clientId}-2` }), 'aud'],
    ['issued to another client, for us too', () => ({ azp: 'other' }), 'issued to another client'],
    ['of another issuer', () => ({ iss: 'https://evil.example' }), 'iss'],
    ['of an issuer that looks like ours', () => ({ iss: `${provider.config.issuer}/` }), 'iss'],
    ['without issuer', () => ({ iss: undefined as never }), 'iss'],
    ['that has expired', () => ({ exp: seconds() - 60 }), 'exp'],
    ['that never expires', () => ({ exp: undefined as never }), 'exp'],
    ['that does not hold yet', () => ({ nbf: seconds() + 60 }), 'nbf'],
    ['without subject', () => ({ sub: undefined as never }), 'sub'],
    ['with an empty subject', () => ({ sub: '' }), 'subject is empty'],
    [
      'with a subject like those of another source',
      () => ({ sub: 'local:operator' }),
      'another identity source',
    ],
    ['that is bound to a key', () => ({ cnf: { jkt: 'x' } }), 'bound'],
    ['that tells of a sign-out', () => ({ events: {} }), 'events'],
  ])('a token %s', async (_, claims, reason) => refuses(await provider.token(claims()), reason))

  test.each(['logout+jwt', 'dpop+jwt', 'oauth-authz-req+jwt'])('a token of the type %s', async (type) =>
    refuses(await provider.token({}, { type }), 'type'),
  )

  test('a token of alg none', async () => {
    const { issuer, clientId } = provider.config
    const claims = { sub: 'ada', iss: issuer, aud: clientId }
    const unsigned = new UnsecuredJWT(claims).setIssuedAt().setExpirationTime('5 min').encode()
    await refuses(unsigned, 'alg')
    const [, body] = (await provider.token()).split('.')
    for (const alg of ['none', 'None', 'nOnE']) {
      const head = Buffer.from(JSON.stringify({ alg, kid: 'x' })).toString('base64url')
      await refuses(`${head}.${body}.`, 'alg')
      await refuses(`${head}.${body}.AAAA`, 'alg')
    }
  })

  test.each(['HS256', 'HS384', 'HS512'])('a token of %s, whatever it was signed with', async (alg) => {
    const { issuer, clientId } = provider.config
    const jwks = await (await fetch(`${issuer}/jwks`)).text()
    for (const secret of [jwks, clientId, 'x'.repeat(64)]) {
      const token = await new SignJWT({ sub: 'ada' })
        .setProtectedHeader({ alg })
        .setIssuer(issuer)
        .setAudience(clientId)
        .setIssuedAt()
        .setExpirationTime('5 min')
        .sign(new TextEncoder().encode(secret.padEnd(64)))
      await refuses(token, 'alg')
    }
  })

  test.each(algorithms)('a token signed with %s and another key', async (algorithm) => {
    const { privateKey: key } = await generateKeyPair(algorithm)
    await refuses(await provider.token({}, { algorithm, key }), 'signature')
  })

  test('a token that brings its own key', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
    const { issuer, clientId } = provider.config
    const { exportJWK } = await import('jose')
    const token = await new SignJWT({ sub: 'ada', iss: issuer, aud: clientId })
      .setProtectedHeader({ alg: 'ES256', jwk: await exportJWK(publicKey), jku: 'http://127.0.0.1:1/jwks' })
      .setIssuedAt()
      .setExpirationTime('5 min')
      .sign(privateKey)
    await refuses(token, 'signature')
  })

  test('a token that was tampered with', async () => {
    const [head, body, signature] = (await provider.token({ sub: 'ada' })).split('.') as [
      string,
      string,
      string,
    ]
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object
    const forged = Buffer.from(JSON.stringify({ ...claims, sub: 'eve' })).toString('base64url')
    await refuses(`${head}.${forged}.${signature}`, 'signature')
    await refuses(`${head}.${body}.${signature.slice(0, -4)}`, 'signature')
    await refuses(`${head}.${body}.`, '')
  })

  test.each(['letmein', 'let.me', 'let.me.in', 'e30.e30.e30', 'l.e.t.m.e'])('what is no token: %s', (text) =>
    refuses(text, ''),
  )

  test('a token of Gantry itself', () => refuses(platform.operatorToken, ''))

  test('no token, or one in another place', async () => {
    for (const headers of [{}, { authentication: 'Bearer x' }, { authorization: 'Basic x' }]) {
      const reply = await platform.rest('platform', 'GET', '/api/v1/usertoken', { headers })
      expect(reply).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
    }
    const inQuery = await platform.rest('platform', 'GET', '/api/v1/usertoken?oidcToken=x')
    expect(inQuery).toMatchObject({ status: 400, body: { code: 'INVALID_INPUT' } })
  })
})

describe('groups', () => {
  const userOf = async (claims: JWTPayload) => {
    const reply = await exchange(await provider.token(claims))
    return (reply.body as { user: { groups: string[]; roles: string[] } }).user
  }

  test('of a claim inside another give roles; the group of administrators makes one', async () => {
    await platform.call(assignments.put, { group: 'readers', roles: ['viewer'] })
    expect(await userOf({ realm_access: { roles: ['readers', 'others'] } })).toMatchObject({
      groups: ['readers', 'others'],
      roles: ['viewer'],
    })
    expect((await userOf({ realm_access: { roles: ['admins'] } })).roles).toEqual(['admin'])
    expect((await userOf({ realm_access: { roles: ['Admins'] } })).roles).toEqual([])
  })

  test.each<[string, JWTPayload, string[]]>([
    ['one as a text', { realm_access: { roles: 'readers' } }, ['readers']],
    ['a claim with the very name', { 'realm_access.roles': ['readers'] }, ['readers']],
    ['not all texts', { realm_access: { roles: ['readers', 7, null, { admins: true }] } }, ['readers']],
    ['no list', { realm_access: { roles: { admins: true } } }, []],
    ['no object', { realm_access: 'admins' }, []],
    ['another claim', { roles: ['admins'], groups: ['admins'] }, []],
    ['none', {}, []],
  ])('%s', async (_, claims, groups) => {
    expect((await userOf(claims)).groups).toEqual(groups)
  })
})

test('the provider changes its keys: new tokens are taken, old ones are not', async () => {
  const old = await provider.token()
  await provider.rotateKeys()
  const fresh = await provider.token()
  await until('the new keys are known', async () => (await exchange(fresh)).status === 200)
  await refuses(old, 'key')
})
