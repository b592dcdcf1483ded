import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../../../broker/rpc/client.ts'
import { loadMessagingConfig } from '../../../config/messaging.ts'
import { loadPlatformConfig } from '../../../config/platform.ts'
import { formatToken, isSealed, parseToken } from '../../../broker/identity/token.ts'
import { Guard } from '../../../http-edge/callers/guard.ts'
import { ConnectionPool } from '../../../http-edge/callers/pool.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { killServer } from '../../support/broker.ts'
import { createKey, everything } from '../../support/keys.ts'
import { startTestPlatform, testLog, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

test('a token has one connection, however many calls come at once', async () => {
  const pool = new ConnectionPool(platform.tcpUrl)
  const { token } = await createKey(platform, everything)
  const connections = await Promise.all(Array.from({ length: 20 }, async () => pool.get(token)))
  expect(new Set(connections).size).toBe(1)
  expect(pool.get(token)).toBe(connections[0])
  expect(pool.size).toBe(1)
  await pool.close()
  expect(connections[0]!.isClosed()).toBe(true)
})

test('a connection that was closed is replaced, and its end forgets no other', async () => {
  const pool = new ConnectionPool(platform.tcpUrl)
  const { token } = await createKey(platform, everything)
  const first = await pool.get(token)
  await first.close()
  const second = await pool.get(token)
  expect(second).not.toBe(first)
  await second.flush()
  expect(pool.size).toBe(1)
  expect(await pool.get(token)).toBe(second)
  await pool.close()
})

test('what is no token opens no connection; a refused one stays in no list', async () => {
  const pool = new ConnectionPool(platform.tcpUrl)
  expect(() => pool.get('letmein')).toThrow(expect.objectContaining({ code: 'UNAUTHENTICATED' }))
  const { id, token } = await createKey(platform, everything)
  await platform.call(keys.revoke, { id })
  await expect(pool.get(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  expect(pool.size).toBe(0)
  await pool.close()
})

test('who guesses is not judged after a while, and locks out nobody who has a right token', async () => {
  const { salt } = await loadPlatformConfig(platform.home, loadMessagingConfig(platform.home), testLog)
  const guard = new Guard({ isSealed: (token) => isSealed(salt, token) })
  const pool = new ConnectionPool(platform.tcpUrl, { guard })
  const { id, token } = await createKey(platform, everything)
  const { location, secret } = parseToken(token)!
  const guess = async (n: number) => {
    try {
      await pool.get(formatToken(location, id, `${secret.slice(0, -3)}${100 + n}`), '192.0.2.1')
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  const codes: (string | undefined)[] = []
  for (let n = 0; n < 40; n++) codes.push(await guess(n))
  expect(codes.filter((code) => code === 'UNAUTHENTICATED').length).toBeLessThan(25)
  expect(codes.at(-1)).toBe('THROTTLED')
  // A token that was never seen, from the same address and of the same key.
  const own = await pool.get(token, '192.0.2.1')
  expect(own.isClosed()).toBe(false)
  expect(await pool.get(token, '192.0.2.2')).toBe(own)
  // One that was right once is no guess either, and is refused as what it is.
  await platform.call(keys.revoke, { id })
  await expect(async () => pool.get(token, '192.0.2.1')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  await pool.close()
})

test('the one that was used longest ago makes room, and ends its calls first', async () => {
  const pool = new ConnectionPool(platform.tcpUrl, { maxConnections: 2, retireMs: 500 })
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => createKey(platform, everything)))
  const oldest = await pool.get(one!.token)
  await pool.get(two!.token)
  expect(() => pool.get(three!.token)).toThrow(expect.objectContaining({ code: 'OVERLOADED' }))
  const newest = await until('the oldest is idle', async () => {
    try {
      return await pool.get(three!.token)
    } catch {
      await pool.get(two!.token)
      return undefined
    }
  })
  expect(pool.size).toBe(2)
  expect((await call(newest, keys.self, {})).id).toBe(three!.id)
  expect((await call(oldest, keys.self, {})).id).toBe(one!.id)
  await oldest.closed()
  await pool.close()
})

test('an owner has no more connections than it may: its own make room, and nobody else loses one', async () => {
  const owners = new Map<string, string>()
  const limitsOf = (keyId: string) => Promise.resolve({ owner: owners.get(keyId)!, maxConnections: 2 })
  const pool = new ConnectionPool(platform.tcpUrl, { limitsOf, retireMs: 500 })
  const made = await Promise.all([1, 2, 3, 4].map(() => createKey(platform, everything)))
  const [one, two, three, other] = made.map(({ token }) => token)
  made.forEach(({ id }, index) => owners.set(id, index === 3 ? 'bob' : 'ada'))
  const ofOther = await pool.get(other!)
  const oldest = await pool.get(one!)
  await pool.get(two!)
  await expect(pool.get(three!)).rejects.toMatchObject({
    code: 'OVERLOADED',
    message: expect.stringContaining('ada already uses 2 keys at the same time') as string,
  })
  await until('the oldest is idle', async () => {
    try {
      return await pool.get(three!)
    } catch {
      await pool.get(two!)
      return undefined
    }
  })
  expect(pool.size).toBe(3)
  await oldest.closed()
  expect(ofOther.isClosed()).toBe(false)
  expect(pool.get(other!)).toBe(ofOther)
  await pool.close()
})

test('one that nobody uses is closed', async () => {
  const pool = new ConnectionPool(platform.tcpUrl, { idleMs: 50, sweepMs: 20 })
  const { token } = await createKey(platform, everything)
  const connection = await pool.get(token)
  await connection.closed()
  expect(pool.size).toBe(0)
  await pool.close()
})

test('while the broker is away calls are UNAVAILABLE, never a 401; then all is as before', async () => {
  const { token } = await createKey(platform, everything)
  const headers = { authorization: `Bearer ${token}` }
  const ask = () => platform.rest('platform', 'GET', '/api/v1/apikey', { headers })
  expect((await ask()).status).toBe(200)
  const answers: Awaited<ReturnType<typeof ask>>[] = []
  const back = killServer({ pid: () => platform.brokerPid() })
  do answers.push(await ask())
  while (answers.at(-1)?.status !== 200 || answers.length < 2)
  await back
  expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
  expect(answers.some(({ status }) => status === 503)).toBe(true)
  // Public calls come back as well.
  await until('ping', async () => (await platform.rest('platform', 'GET', '/api/v1/ping')).status === 200)
})
