import { wsconnect } from '@nats-io/nats-core'
import { connect as connectNats2 } from 'nats'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectWithToken } from '../../../broker/rpc/connection.ts'
import { kickKey } from '../../../broker/callout/kick.ts'
import { connectAs } from '../../../broker/rpc/platform-connection.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { inboxPrefix } from '../../../subjects/kit/names.ts'
import { connectInside, createKey, everything } from '../../support/keys.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const self = (token: string) =>
  platform.rest('platform', 'GET', '/api/v1/apikey', { headers: { authorization: `Bearer ${token}` } })

test('the reply comes when every connection of the key is gone, and the next REST call is a 401', async () => {
  const { id, token } = await createKey(platform, everything)
  const options = { reconnect: false, inboxPrefix: inboxPrefix(id) }
  const native = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
  const older = await connectNats2({ servers: platform.tcpUrl, token, ...options })
  const browser = await wsconnect({ servers: platform.websocketUrl, token, ...options })
  expect((await self(token)).status).toBe(200)

  const { system } = await inside()
  expect(await connectionsOf(system, id)).toBe(4)
  const revoked = await platform.call(keys.revoke, { id })
  expect(Date.parse(revoked.revoked!)).toBeLessThanOrEqual(Date.now())
  // It is in the list for whoever asks what became of it.
  expect(await platform.rest('platform', 'GET', `/api/v1/keys/${id}`)).toMatchObject({
    status: 404,
    body: { code: 'NOT_FOUND', message: expect.stringContaining(revoked.revoked!) },
  })
  expect(await platform.call(keys.list, {})).toContainEqual(
    expect.objectContaining({ id, revoked: revoked.revoked }),
  )
  expect(await connectionsOf(system, id)).toBe(0)
  await Promise.all([native.closed(), older.closed(), browser.closed()])
  expect((await self(token)).status).toBe(401)
  await system.close()
})

test('REST calls under way when their key is revoked end as 503, which says that nothing is known of them, never as 500', async () => {
  const seen = new Set<number>()
  for (let round = 0; round < 20; round++) {
    const { id, token } = await createKey(platform, everything)
    const untilRefused = async () => {
      for (let status = 200; status !== 401; seen.add(status)) status = (await self(token)).status
    }
    await Promise.all([...Array.from({ length: 8 }, untilRefused), platform.call(keys.revoke, { id })])
  }
  for (const expected of [200, 503]) seen.delete(expected)
  expect([...seen]).toEqual([401])
})

test('a key that may do more than the one that asks is not revoked by it', async () => {
  const narrow = await createKey(platform, {
    pub: { allow: ['gantry.services.v1.keys.*'] },
    sub: { allow: [] },
  })
  const wide = await createKey(platform, everything)
  const headers = { authorization: `Bearer ${narrow.token}` }
  const refused = await platform.rest('platform', 'DELETE', `/api/v1/keys/${wide.id}`, { headers })
  expect(refused).toMatchObject({ status: 403, body: { code: 'EXCEEDS_ROLE' } })
  expect((await self(wide.token)).status).toBe(200)
  // Its own key everybody may give up.
  expect((await platform.rest('platform', 'DELETE', `/api/v1/keys/${narrow.id}`, { headers })).status).toBe(
    200,
  )
})

test('other keys keep their connections', async () => {
  const one = await createKey(platform, everything)
  const other = await createKey(platform, everything)
  const connection = await connectWithToken(platform.tcpUrl, other.token, { reconnect: false })
  await platform.call(keys.revoke, { id: one.id })
  await connection.flush()
  expect(connection.isClosed()).toBe(false)
  await connection.close()
})

test('a client that reconnects by itself does not get in again', async () => {
  const { id, token } = await createKey(platform, everything)
  const stubborn = await connectNats2({ servers: platform.tcpUrl, token, reconnectTimeWait: 10 })
  await platform.call(keys.revoke, { id })
  expect(await stubborn.closed()).toBeInstanceOf(Error)
})

test('no connection outlives the revocation, even one that was being made', async () => {
  const { system } = await inside()
  for (let round = 0; round < 10; round++) {
    const { id, token } = await createKey(platform, everything)
    const attempts = Array.from({ length: 20 }, () =>
      connectWithToken(platform.tcpUrl, token, { reconnect: false }).catch(() => undefined),
    )
    await Promise.race(attempts)
    await platform.call(keys.revoke, { id })
    const made = (await Promise.all(attempts)).filter((connection) => connection !== undefined)
    await until('all are closed', async () => (await connectionsOf(system, id)) === 0)
    await Promise.all(made.map((connection) => connection.closed()))
  }
  await system.close()
})

test('more connections than a page of the server’s list are dropped', async () => {
  const { id, token } = await createKey(platform, everything)
  const connections = await Promise.all(
    Array.from({ length: 30 }, () => connectWithToken(platform.tcpUrl, token, { reconnect: false })),
  )
  const { system } = await inside()
  await kickKey(system, id, { pageLength: 7 })
  await Promise.all(connections.map((connection) => connection.closed()))
  expect(await connectionsOf(system, id)).toBe(0)
  await system.close()
})

test('a key that revokes itself gets the reply, and is gone then', async () => {
  const { id, token } = await createKey(platform, everything)
  const path = `/api/v1/keys/${id}`
  const headers = { authorization: `Bearer ${token}` }
  const reply = await platform.rest('platform', 'DELETE', path, { headers })
  expect(reply).toMatchObject({ status: 200, body: { id, revoked: expect.any(String) } })
  const { system } = await inside()
  await until('its connections are gone', async () => (await connectionsOf(system, id)) === 0)
  expect((await self(token)).status).toBe(401)
  await system.close()
})

test('revoking again changes nothing', async () => {
  const { id } = await createKey(platform, everything)
  const first = await platform.call(keys.revoke, { id })
  expect(await platform.call(keys.revoke, { id })).toEqual(first)
})

test('a key whose id could match others is none', async () => {
  const error: unknown = await platform.call(keys.revoke, { id: '*' }).catch((error: unknown) => error)
  expect(error).toMatchObject({ code: 'INVALID_INPUT' })
})

async function inside() {
  const { connection, identity } = await connectInside(platform)
  await connection.close()
  return { system: await connectAs('SYS', { url: platform.tcpUrl, identity, name: 'test' }) }
}

/** How many connections the server has of a key, by its own word. */
async function connectionsOf(system: Awaited<ReturnType<typeof connectAs>>, keyId: string): Promise<number> {
  const reply = await system.request(
    `$SYS.REQ.SERVER.${system.info!.server_id}.CONNZ`,
    JSON.stringify({ auth: true, limit: 10_000 }),
    { timeout: 2_000 },
  )
  const { data }: { data: { connections: { authorized_user?: string; name_tag?: string }[] } } = reply.json()
  return data.connections.filter(({ authorized_user }) => authorized_user === keyId).length
}
