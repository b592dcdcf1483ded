import { hash } from 'bcryptjs'
import { decodeJwt, SignJWT } from 'jose'
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Identity } from '../../../broker/identity/identity.ts'
import { parseToken } from '../../../broker/identity/token.ts'
import type { Session } from '../../../services/access/roles/people.ts'
import { WebTokens } from '../../../services/access/web-tokens.ts'
import { audit } from '../../../subjects/access/audit.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { rawRequest } from '../../support/http.ts'
import { connectInside } from '../../support/keys.ts'
import { recordingLog } from '../../support/log.ts'
import { askAs, authenticate, startGuarded } from '../../support/passwords.ts'
import { createHome, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

// The JSON Web Tokens that a password is exchanged for.
const password = 'of ann'
const recorded = recordingLog()
let properties: Record<string, string>
let home: string
let platform: TestPlatform
let identity: Identity
beforeAll(async () => {
  properties = { type: 'basic', 'basic.user': 'ann', 'basic.password': `{bcrypt}${await hash(password, 4)}` }
  home = await createHome()
  platform = await startGuarded(properties, { home, log: recorded.log })
  const inside = await connectInside(platform)
  identity = inside.identity
  await inside.connection.close()
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

async function signIn(of = platform): Promise<string> {
  const { status, body } = await authenticate(of, 'ann', password)
  expect(status).toBe(200)
  return body['token'] as string
}
const bearer = (token: string, of = platform) => askAs(of, `Bearer ${token}`)
const sessions = async () => (await platform.call(keys.list, {})).filter(({ kind }) => kind === 'session')

test('a token and its end come back, and it opens the migrator for that long', async () => {
  const { body } = await authenticate(platform, 'ann', password)
  expect(Object.keys(body).toSorted()).toEqual(['expires', 'token'])
  const { exp, sub, iss } = decodeJwt(body['token'] as string)
  expect({ sub, iss }).toEqual({ sub: 'basic:ann', iss: platform.instance })
  const end = Date.parse(body['expires'] as string)
  expect(exp).toBe(Math.floor(end / 1_000))
  expect(end - Date.now()).toBeGreaterThan(11 * 3_600_000)
  expect(await bearer(body['token'] as string)).toMatchObject({ status: 200, text: '[]' })
})

test('nothing in it can be read that opens another door', async () => {
  const token = await signIn()
  for (const part of token.split('.')) {
    expect(Buffer.from(part, 'base64url').toString()).not.toMatch(/gantry\.[\w-]+\.k/)
  }
  const elsewhere = await rawRequest(platform, 'platform', {
    path: '/api/v1/apikey',
    headers: { authorization: `Bearer ${token}` },
  })
  expect(elsewhere.status).toBe(401)
})

/** A session whose token ends at a moment; the API token in it is one that works. */
const sessionUntil = (ms: number) => {
  const session = {
    token: platform.operatorToken,
    key: { expires: new Date(ms).toISOString() },
    user: { subject: 'basic:ann' },
  }
  return session as unknown as Session
}

test('an expired one is refused, though its key is not', async () => {
  const tokens = new WebTokens(identity)
  const valid = await tokens.issue(sessionUntil(Date.now() + 60_000))
  expect((await bearer(valid.token)).status).toBe(200)
  const expired = await tokens.issue(sessionUntil(Date.now() - 1_000))
  expect((await bearer(expired.token)).status).toBe(401)
})

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

test('a changed one is refused, whatever was changed', async () => {
  const [header, payload, signature] = (await signIn()).split('.') as [string, string, string]
  const claims = decodeJwt(`${header}.${payload}.${signature}`)
  const later = encode({ ...claims, exp: claims.exp! + 3_600 })
  const flipped = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
  const changed = [
    `${header}.${later}.${signature}`,
    `${header}.${payload}.${flipped}`,
    `${header}.${payload}.`,
    `${header}.${payload}`,
    `${encode({ alg: 'none' })}.${payload}.`,
    `${encode({ alg: 'none' })}.${later}.`,
    `${encode({ alg: 'None', typ: 'JWT' })}.${payload}.${signature}`,
    `${encode({ alg: 'HS512' })}.${payload}.${signature}`,
    `${header}.${payload}.${signature}.x`,
    '..',
    'x.y.z',
  ]
  for (const token of changed) expect((await bearer(token)).status, token).toBe(401)
})

test('one that is signed with another key, or made for something else, is refused', async () => {
  const claims = decodeJwt(await signIn())
  const sign = (payload: object, key: Uint8Array) =>
    new SignJWT({ ...payload }).setProtectedHeader({ alg: 'HS256' }).sign(key)
  const key = identity.derive('migrator web tokens')
  expect((await bearer(await sign(claims, key))).status).toBe(200)
  const { exp: _exp, ...endless } = claims
  const wrong = [
    await sign(claims, identity.derive('something else')),
    await sign(claims, new TextEncoder().encode('secret')),
    await sign({ ...claims, aud: 'another' }, key),
    await sign({ ...claims, iss: 'another' }, key),
    await sign({ ...claims, session: platform.operatorToken }, key),
    await sign(endless, key),
  ]
  for (const token of wrong) expect((await bearer(token)).status).toBe(401)
})

test('that of another instance is refused', async () => {
  await using other = await startGuarded(properties)
  expect((await bearer(await signIn(other), platform)).status).toBe(401)
  expect((await bearer(await signIn(), other)).status).toBe(401)
})

test('it ends when the key of its session is revoked', async () => {
  const before = new Set((await sessions()).map(({ id }) => id))
  const token = await signIn()
  expect((await bearer(token)).status).toBe(200)
  const made = (await sessions()).filter(({ id }) => !before.has(id))
  expect(made).toHaveLength(1)
  await platform.call(keys.revoke, { id: made[0]!.id })
  expect((await bearer(token)).status).toBe(401)
})

test('it outlives a restart', async () => {
  const token = await signIn()
  expect((await bearer(token)).status).toBe(200)
  await platform[Symbol.asyncDispose]()
  platform = await startGuarded({}, { home, log: recorded.log })
  expect((await bearer(token)).status).toBe(200)
})

test('what is no request to sign in is told which field is wrong, and not what is in it', async () => {
  for (const body of [
    { userName: 'ann' },
    { userName: 'ann', password: [7] },
    { password: 'x'.repeat(2_000) },
  ]) {
    const answer = await askAs(platform, undefined, {
      method: 'POST',
      path: '/authentication/authenticate',
      body: JSON.stringify(body),
    })
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_INPUT' } })
    expect(answer.text).not.toContain('xxx')
  }
})

test('passwords and tokens are in no log', async () => {
  const token = await signIn()
  await bearer(token)
  const text = recorded.text()
  const { secret } = parseToken(platform.operatorToken)!
  for (const hidden of [password, token, token.split('.')[2]!, secret]) expect(text).not.toContain(hidden)
})

test('a wrong one is recorded, and asked for once in a while; nobody else waits for that', async () => {
  const right = await signIn()
  for (let n = 0; n < 60; n++) expect((await bearer(`${right.slice(0, -6)}${100_000 + n}`)).status).toBe(401)
  const again = `${right.slice(0, -6)}100000`
  expect((await bearer(again)).status).toBe(401)
  expect((await bearer('a.b')).status).toBe(401)
  expect((await bearer(await signIn())).status).toBe(200)
  const reasons = ['wrong JSON Web Token', 'refused just before', 'malformed token']
  await until('all are recorded', async () => {
    const { records } = await platform.call(audit.list, { what: 'connect', limit: 1_000 })
    return reasons.every((reason) => records.some((record) => record.reason === reason))
  })
})
