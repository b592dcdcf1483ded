import { rmSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { connectWithToken } from '../../../broker/rpc/connection.ts'
import { keyIdOf } from '../../../broker/identity/token.ts'
import { assignments } from '../../../subjects/access/assignments.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { users } from '../../../subjects/access/users.ts'
import { recordingLog } from '../../support/log.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { TestProvider } from '../../support/provider.ts'
import { changeSession, type Lasting, refreshTokenOf, signInByCode } from '../../support/sessions.ts'
import { until } from '../../support/until.ts'

const hourMs = 3_600_000
const logged = recordingLog()
let home: string
let provider: TestProvider
let platform: TestPlatform
beforeAll(async () => {
  home = await createHome()
  provider = await TestProvider.forHome(home, { admin_group: 'administrators' })
  platform = await startTestPlatform({ home, log: logged.log })
})
beforeEach(async () => {
  await platform.call(settings.put, { sessionHours: 12 })
  await platform.call(assignments.put, { group: 'viewers', roles: ['viewer'] })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const refresh = async (token: string) => {
  const { status, body } = await platform.rest('platform', 'POST', '/api/v1/sign-in/refresh', bearer(token))
  return { status, body: body as Lasting & { code: string; message: string } }
}
const statusOf = async (token: string) =>
  (await platform.rest('platform', 'GET', '/api/v1/userinfo', bearer(token))).status
const signedIn = async (name: 'administrator' | 'viewer' = 'viewer') => {
  const session = await signInByCode(platform, provider, name)
  return { ...session, id: keyIdOf(session.token)! }
}
const hoursUntil = (time: string) => (Date.parse(time) - Date.now()) / hourMs

test('a refresh lengthens the session, and the time for it is after two thirds of its life', async () => {
  const session = await signedIn()
  expect(hoursUntil(session.expires)).toBeCloseTo(12, 1)
  expect(hoursUntil(session.refreshAfter!)).toBeCloseTo(8, 1)
  await platform.call(settings.put, { sessionHours: 24 })
  const { status, body } = await refresh(session.token)
  expect(status).toBe(200)
  expect(hoursUntil(body.expires)).toBeCloseTo(24, 1)
  expect(hoursUntil(body.refreshAfter!)).toBeCloseTo(16, 1)
  expect(await platform.call(keys.get, { id: session.id })).toMatchObject({ expires: body.expires })
  // It is not shortened.
  await platform.call(settings.put, { sessionHours: 1 })
  expect((await refresh(session.token)).body.expires).toBe(body.expires)
})

test('what a session may do stays as it was at the sign-in', async () => {
  const { token, id, user } = await signedIn()
  const before = await platform.call(keys.get, { id })
  const known = await platform.call(users.list, {})
  expect(user.roles).toEqual(['viewer'])
  await platform.call(assignments.delete, { group: 'viewers' })
  expect((await refresh(token)).status).toBe(200)
  const { capabilities, roles } = await platform.call(keys.get, { id })
  expect({ capabilities, roles }).toEqual({ capabilities: before.capabilities, roles: ['viewer'] })
  expect(await platform.call(users.list, {})).toEqual(known)
})

test('the provider gives out a new refresh token each time; nobody sees any', async () => {
  const { token, id } = await signedIn()
  const first = await refreshTokenOf(platform, id)
  const { body } = await refresh(token)
  const second = await refreshTokenOf(platform, id)
  expect(second).not.toBe(first)
  expect((await refresh(token)).status).toBe(200)
  const shown = JSON.stringify([
    body,
    await platform.call(keys.get, { id }),
    await platform.call(keys.list, {}),
  ])
  for (const secret of [first, second, 'sealedToken']) expect(shown + logged.text()).not.toContain(secret)
})

test('of many at once the provider is asked for one: a token used twice would be theft to it', async () => {
  const { token } = await signedIn()
  const all = await Promise.all(Array.from({ length: 8 }, () => refresh(token)))
  expect(new Set(all.map(({ status, body }) => `${status} ${body.expires}`)).size).toBe(1)
  expect((await refresh(token)).status).toBe(200)
})

test('while the provider is away the session stays; when it has ended the sign-in, the session ends', async () => {
  const { token, id, expires } = await signedIn()
  const live = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
  await provider.stop()
  expect(await refresh(token)).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } })
  expect(await statusOf(token)).toBe(200)
  expect(await platform.call(keys.get, { id })).toMatchObject({ expires })

  // As after an administrator has ended all sessions there.
  await provider.start()
  const refused = await refresh(token)
  expect(refused).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
  expect(refused.body.message).toBe('the identity provider has ended this sign-in; sign in again')
  await live.closed()
  await until('REST refuses', async () => (await statusOf(token)) === 401)
  await expect(platform.call(keys.get, { id })).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining('was revoked at'),
  })
  const line = logged.lines.find(({ message }) => message.includes('refused to refresh'))
  expect(line?.details).toMatchObject({ key: id, reason: expect.stringContaining('invalid_grant') })
})

test('an ID token about somebody else ends the session', async () => {
  const [viewer, administrator] = [await signedIn(), await signedIn('administrator')]
  const { refresh: other } = await changeSession(platform, administrator.id, () => undefined)
  await changeSession(platform, viewer.id, (session) => ({ ...session, refresh: other! }))
  expect((await refresh(viewer.token)).status).toBe(401)
  const { details } = logged.lines.findLast(({ message }) => message.includes('refused to refresh'))!
  expect(details).toMatchObject({ key: viewer.id, reason: 'the refreshed ID token belongs to another user' })
})

test('a session goes on for a month at most: what it may do was decided when it began', async () => {
  const { token, id } = await signedIn()
  const begun = new Date(Date.now() - (31 * 24 - 13) * hourMs).toISOString()
  await changeSession(platform, id, (session) => ({ ...session, created: begun }))
  await platform.call(settings.put, { sessionHours: 24 })
  const { body } = await refresh(token)
  expect(hoursUntil(body.expires)).toBeCloseTo(13, 1)
  expect(body.refreshAfter).toBeUndefined()
})

test('what cannot be refreshed: a key, a session without a refresh token, or with one that is over', async () => {
  const key = await refresh(platform.operatorToken)
  expect(key).toMatchObject({ status: 409, body: { code: 'NOT_ALLOWED_IN_STATE' } })
  const exchanged = await platform.rest(
    'platform',
    'GET',
    '/api/v1/usertoken',
    bearer(await provider.token()),
  )
  const own = exchanged.body as Lasting & { token: string }
  expect(own.refreshAfter).toBeUndefined()
  expect(await refresh(own.token)).toMatchObject({ status: 409, body: { code: 'NOT_ALLOWED_IN_STATE' } })
  expect(await statusOf(own.token)).toBe(200)

  const { token, id } = await signedIn()
  const over = new Date(Date.now() - 1).toISOString()
  await changeSession(platform, id, ({ refresh, ...session }) => ({
    ...session,
    refresh: { ...refresh!, until: over },
  }))
  expect(await refresh(token)).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining(`rejects refreshes since ${over}`) },
  })
  expect(await statusOf(token)).toBe(200)
})

test('signing out revokes the refresh token at the provider', async () => {
  const { token, id } = await signedIn()
  const refreshToken = await refreshTokenOf(platform, id)
  const { issuer, clientId } = provider.config
  expect((await platform.rest('platform', 'POST', '/api/v1/sign-in/out', bearer(token))).status).toBe(200)
  await until('the provider was told', () =>
    logged.lines.some(
      ({ details, message }) => details['key'] === id && message.includes('revoked the token'),
    ),
  )
  const body = { client_id: clientId, grant_type: 'refresh_token', refresh_token: refreshToken }
  const asked = await fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams(body) })
  expect(await asked.json()).toMatchObject({ error: 'invalid_grant' })
  expect(await changeSession(platform, id, () => undefined)).not.toHaveProperty('refresh')
})
