import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectWithToken } from '../../../broker/rpc/connection.ts'
import { createSecret, formatToken, parseToken } from '../../../broker/identity/token.ts'
import { issueKey, openKeys } from '../../../services/access/keys/keys.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { rbac } from '../../../subjects/access/roles.ts'
import { connectInside, createKey, everything } from '../../support/keys.ts'
import { recordingLog } from '../../support/log.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'
import { wayNames, ways } from '../../support/ways.ts'

const logged = recordingLog()
let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform({ log: logged.log })
})
afterAll(() => platform[Symbol.asyncDispose]())

/** What a client is told, each in its own words. */
const refusal = /Authorization|AUTHORIZATION|refused/

/** Ways in which a token can be wrong: the name of the fault, and the token, made from a right one. */
const wrongTokens: Record<string, (right: string) => string> = {
  'of another secret': (right) => {
    const { location, keyId } = parseToken(right)!
    return formatToken(location, keyId, createSecret('the salt of another one', keyId))
  },
  'with a secret that is cut off': (right) => right.slice(0, -1),
  'of a key that does not exist': (right) => {
    const { location, secret } = parseToken(right)!
    return formatToken(location, 'k00000000000000', secret)
  },
  'of another instance': (right) => {
    const { location, keyId, secret } = parseToken(right)!
    return formatToken({ ...location, instance: 'AAAAAAAAAA' }, keyId, secret)
  },
  'with something behind it': (right) => `${right}.x`,
  'with another beginning': (right) => right.replace('gantry', 'Gantry'),
  'that is no token at all': () => 'letmein',
  'that is a JWT': () => 'eyJhbGciOiJub25lIn0.e30.',
  'with a secret that could be an injection': (right) => `${right.slice(0, -4)}">*`,
  'that is very long': (right) => right + 'x'.repeat(2_000),
}

describe.each(wayNames)('%s', (name) => {
  test('a right token is taken', async () => {
    const { id, token } = await createKey(platform, everything)
    await using way = await ways[name](platform, token)
    expect(await way.call(keys.self, {})).toMatchObject({ status: 200, body: { id } })
  })

  // Side by side: after some refusals the broker takes its time with the next ones.
  test.concurrent.each(Object.entries(wrongTokens))('a token %s is refused', async (_, wrong) => {
    const { token } = await createKey(platform, everything)
    await expect(ways[name](platform, wrong(token))).rejects.toThrow(refusal)
  })

  test.concurrent('a revoked token is refused', async () => {
    const { id, token } = await createKey(platform, everything)
    await platform.call(keys.revoke, { id })
    await expect(ways[name](platform, token)).rejects.toThrow(refusal)
  })
})

describe('REST', () => {
  const self = (headers: Record<string, string>) =>
    platform.rest('platform', 'GET', '/api/v1/apikey', { headers })

  test.each<[string, (token: string) => Record<string, string>]>([
    ['no header', () => ({})],
    ['the header Authentication', (token) => ({ authentication: `Bearer ${token}` })],
    ['the scheme Basic', (token) => ({ authorization: `Basic ${btoa(`user:${token}`)}` })],
    ['the token as Basic', (token) => ({ authorization: `Basic ${token}` })],
    ['no scheme', (token) => ({ authorization: token })],
    ['the scheme alone', () => ({ authorization: 'Bearer' })],
    ['two tokens', (token) => ({ authorization: `Bearer ${token} ${token}` })],
    ['two spaces', (token) => ({ authorization: `Bearer  ${token}` })],
    ['x-api-key', (token) => ({ 'x-api-key': token })],
    ['a cookie', (token) => ({ cookie: `token=${token}` })],
  ])('%s: 401', async (_, headers) => {
    const { token } = await createKey(platform, everything)
    const reply = await self(headers(token))
    expect(reply.status).toBe(401)
    expect(reply.headers.get('www-authenticate')).toBe('Bearer')
    expect(reply.body).toMatchObject({
      code: 'UNAUTHENTICATED',
      requestId: reply.headers.get('x-request-id'),
    })
  })

  test('a token in the query is not taken', async () => {
    const { token } = await createKey(platform, everything)
    const path = `/api/v1/apikey?token=${token}&access_token=${token}`
    expect((await platform.rest('platform', 'GET', path, { headers: {} })).status).toBe(401)
  })

  test.each(['bearer', 'BEARER'])('the scheme may be written %s', async (scheme) => {
    const { id, token } = await createKey(platform, everything)
    expect(await self({ authorization: `${scheme} ${token}` })).toMatchObject({ status: 200, body: { id } })
  })

  test('a wrong token is refused on the migrator too, where none is needed on this host', async () => {
    for (const authorization of ['Bearer x', 'Token dXNlcjpwYXNz', 'Bearer'])
      expect(
        (await platform.rest('migrator', 'GET', '/fs/targets', { headers: { authorization } })).status,
      ).toBe(401)
  })
})

test('a key that expires loses its connections then, and opens no more', async () => {
  const { connection, salt, identity } = await connectInside(platform)
  const location = parseToken(platform.operatorToken)!.location
  const stored = await openKeys(connection)
  const { key, token } = await issueKey(
    stored,
    { salt, location },
    {
      name: 'short-lived',
      notes: '',
      owner: 'ada',
      kind: 'key',
      roles: [],
      visible_extensions: [],
      capabilities: everything,
      expires: new Date(Date.now() + 1_000).toISOString(),
    },
  )
  expect(identity.instance).toBe(platform.instance)
  const live = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
  const rest = { headers: { authorization: `Bearer ${token}` } }
  expect((await platform.rest('platform', 'GET', '/api/v1/apikey', rest)).status).toBe(200)
  await live.closed()
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(key.expires!))
  const refused = await until('REST refuses', async () => {
    const reply = await platform.rest('platform', 'GET', '/api/v1/apikey', rest)
    // A call that was under way when its connection was taken away has no answer: 503.
    return reply.status !== 200 && reply.status !== 503 && reply
  })
  expect(refused.status).toBe(401)
  await expect(connectWithToken(platform.tcpUrl, token, { reconnect: false })).rejects.toThrow(
    'Authorization',
  )
  expect(logged.text()).toContain(`key ${key.id} expired at`)
  expect(await platform.call(rbac.check, { action: 'publish', subject: 'gantry.x', keyId: key.id })).toEqual({
    allowed: false,
    explanation: `denied: key ${key.id} expired at ${key.expires}`,
  })
  await connection.close()
})

test('tokens are of one instance and one salt', async () => {
  const home = await createHome()
  const first = await startTestPlatform({ home })
  const { id, token } = await createKey(first, everything)
  await first[Symbol.asyncDispose]()

  const same = await startTestPlatform({ home })
  await using way = await ways.REST(same, token)
  expect((await way.call(keys.self, {})).body).toMatchObject({ id })
  for (const name of wayNames)
    await expect(ways[name](platform, token), 'another instance').rejects.toThrow(refusal)
  await same[Symbol.asyncDispose]()

  const path = join(home, 'gantry.config')
  const config = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  writeFileSync(path, JSON.stringify({ ...config, 'storage.salt': 'another salt of enough characters' }))
  const salted = await startTestPlatform({ home })
  for (const name of wayNames)
    await expect(ways[name](salted, token), 'another salt').rejects.toThrow(refusal)
  // The operator, too, has got another token, and it works.
  expect((await salted.call(keys.self, {})).owner).toBe('local:operator')
  await salted[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
})

test('no log has a token or a secret of one, at any level', async () => {
  const { token } = await createKey(platform, everything)
  await Promise.allSettled(
    Object.values(wrongTokens).map((wrong) => ways['nats.js 3'](platform, wrong(token))),
  )
  await platform.rest('platform', 'GET', `/api/v1/apikey?x=${token}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(logged.lines.length).toBeGreaterThan(10)
  expect(logged.text()).not.toContain(parseToken(token)!.secret)
  expect(logged.text()).not.toContain(platform.operatorToken)
  const brokerLog = readFileSync(join(platform.home, 'run', 'nats-server.log'), 'utf8')
  expect(brokerLog).not.toContain(parseToken(token)!.secret)
})
