import { headers } from '@nats-io/transport-node'
import { hash } from 'bcryptjs'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { basicSource } from '../../../../services/access/passwords/basic.ts'
import { authentication } from '../../../../subjects/access/authentication.ts'
import { keys } from '../../../../subjects/access/keys.ts'
import { users } from '../../../../subjects/access/users.ts'
import { createKey, everything } from '../../../support/keys.ts'
import { recordingLog } from '../../../support/log.ts'
import { askAs, authenticate, basicHeader, startGuarded } from '../../../support/passwords.ts'
import { startTestPlatform, type TestPlatform } from '../../../support/platform.ts'

// The migrator with one user of its configuration.
const user = 'ann'
const password = 'correct horse: battery'
const quickCost = 4
const recorded = recordingLog()
let platform: TestPlatform
beforeAll(async () => {
  const passwordHash = await hash(password, quickCost)
  platform = await startGuarded(
    { type: 'basic', 'basic.user': user, 'basic.password': passwordHash },
    { log: recorded.log },
  )
})
afterAll(() => platform[Symbol.asyncDispose]())

const right = basicHeader(user, password)
/** Each test comes from an address of its own, so that none is held up for the wrong passwords of another. */
let lastAddress = 1
const from = () => ({ localAddress: `127.0.0.${++lastAddress}` })
const local = { method: 'POST', path: '/fs/targets/local/here', body: '{"fsRoot":"/usr/share"}' }

test('the right password opens everything that the role allows, from the host too only with it', async () => {
  expect((await askAs(platform, undefined)).status).toBe(401)
  expect(await askAs(platform, right)).toMatchObject({ status: 200, text: '[]' })
  expect((await askAs(platform, right, local)).status).toBe(201)
  expect((await askAs(platform, right, { method: 'DELETE', path: '/fs/targets/here' })).status).toBe(200)
  expect(await platform.call(users.get, { subject: 'basic:ann' })).toMatchObject({ roles: ['admin'] })
})

test('curl -u works, and gets 401 with a wrong password', async () => {
  const url = `${platform.httpUrls.migrator}/fs/targets`
  const curl = (credentials: string) =>
    promisify(execFile)('curl', ['-s', '-w', '%{http_code}', '-u', credentials, url])
  expect((await curl(`${user}:${password}`)).stdout).toBe('[]200')
  expect((await curl(`${user}:wrong`)).stdout).toMatch(/401$/)
})

test.each([
  ['a wrong password', user, 'wrong'],
  ['an unknown user', 'bob', password],
  ['an empty password', user, ''],
  ['an empty name', '', password],
  ['nothing', '', ''],
  ['another case', 'Ann', password],
  ['a password that goes on', user, `${password}x`],
])('%s is 401 both ways, with what is asked for', async (_, userName, wrong) => {
  const refused = await askAs(platform, basicHeader(userName, wrong), from())
  expect(refused).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
  expect(refused.headers['www-authenticate']).toBe('Basic realm="Gantry migrator", charset="UTF-8", Bearer')
  const signIn = await authenticate(platform, userName, wrong, from())
  expect(signIn).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
})

test.each([
  'Basic',
  'Basic ',
  'Basic !!!',
  `Basic ${Buffer.from('ann').toString('base64')}`,
  'Digest x',
  'Bearer x',
])('the header %j is 401', async (header) => expect((await askAs(platform, header, from())).status).toBe(401))

test('its pages can be read by anybody', async () => {
  for (const path of ['/migrator-api.html', '/openapi.json']) {
    expect((await askAs(platform, undefined, { path })).status).toBe(200)
  }
})

test('a page of another site cannot use a password that the browser knows', async () => {
  for (const headers of [{ origin: 'http://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
    expect((await askAs(platform, right, { headers })).status).toBe(401)
  }
})

test('many requests with one password are one session', async () => {
  const all = await Promise.all(Array.from({ length: 20 }, () => askAs(platform, right)))
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]))
  const sessions = async () =>
    (await platform.call(keys.list, {})).filter(({ owner, revoked }) => owner === 'basic:ann' && !revoked)
  const [session, ...others] = await sessions()
  expect(others).toEqual([])

  // A session that was revoked is replaced: the password is right all the same.
  await platform.call(keys.revoke, { id: session!.id })
  expect((await askAs(platform, right)).status).toBe(200)
  expect((await sessions()).map(({ id }) => id)).not.toContain(session!.id)
})

test('an API token of the platform works too, with what its key may', async () => {
  const { token } = await createKey(platform, everything)
  expect((await askAs(platform, `Bearer ${token}`)).status).toBe(200)
  const narrow = await createKey(platform, {
    pub: { allow: ['gantry.services.v1.platform.ping'] },
    sub: { allow: [] },
  })
  expect((await askAs(platform, `Bearer ${narrow.token}`)).status).toBe(403)
})

test('whoever guesses is held up, others are not, nor who has been here with the right password', async () => {
  const guesser = from()
  const statuses: number[] = []
  for (let guess = 1; guess <= 6; guess++) {
    statuses.push((await askAs(platform, basicHeader(user, `guess ${guess}`), guesser)).status)
  }
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  expect((await authenticate(platform, user, 'guess', guesser)).body['code']).toBe('THROTTLED')
  expect((await askAs(platform, right, guesser)).status).toBe(200)
  expect((await askAs(platform, basicHeader('bob', 'x'), guesser)).status).toBe(401)
  expect((await askAs(platform, basicHeader(user, 'x'), from())).status).toBe(401)
})

test('a client of the broker cannot say where it is, to guess as somebody else', async () => {
  const { subject } = authentication.authenticate
  const codes: unknown[] = []
  for (let guess = 1; guess <= 6; guess++) {
    const forged = headers()
    forged.set('Gantry-Client-Address', `192.0.2.${guess}`)
    const body = JSON.stringify({ userName: 'guessed', password: `guess ${guess}` })
    const reply = await platform.operator.request(subject, body, { headers: forged, timeout: 5_000 })
    codes.push(reply.json<{ code: string }>().code)
  }
  expect(codes).toEqual([...Array.from({ length: 5 }, () => 'UNAUTHENTICATED'), 'THROTTLED'])
})

test('an unknown user takes as long as a wrong password', async () => {
  const passwordHash = (await hash(password, quickCost)).replace('$04$', '$11$')
  const source = basicSource('basic', () => ({ type: 'basic', user, passwordHash, role: 'admin' }))
  const timeFor = async (userName: string) => {
    const began = performance.now()
    expect(await source.verify({ userName, password: 'wrong' })).toBeUndefined()
    return performance.now() - began
  }
  // The thread starts with the first.
  await timeFor(user)
  const known = await timeFor(user)
  expect(await timeFor('bob')).toBeGreaterThan(known / 4)
  source.close()
})

test('without access control there is nothing to sign in to', async () => {
  await using open = await startTestPlatform()
  expect(await authenticate(open, user, password)).toMatchObject({
    status: 409,
    body: { code: 'NOT_ALLOWED_IN_STATE' },
  })
})

test('no password is in the log', () => {
  const text = recorded.text()
  expect(text).toContain('Refused a sign-in')
  for (const secret of [password, 'guess 1', right, Buffer.from(`${user}:${password}`).toString('base64')]) {
    expect(text).not.toContain(secret)
  }
})
