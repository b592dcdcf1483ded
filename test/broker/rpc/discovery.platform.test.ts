import { connect, type NatsConnection, ServiceVerb } from 'nats'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../../../broker/rpc/client.ts'
import { version } from '../../../broker/common/version.ts'
import { inboxPrefix } from '../../../subjects/kit/names.ts'
import { contracts, internalContracts } from '../../../subjects/index.ts'
import { platform as platformContracts } from '../../../subjects/platform/platform.ts'
import { createKey, issueInside } from '../../support/keys.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'
import { bareExtension } from '../../support/example-extension.ts'

// Discovery as in NATS ADR-32, seen by a client that is not ours.
let platform: TestPlatform
let user: NatsConnection
beforeAll(async () => {
  platform = await startTestPlatform()
  const rules = { pub: { allow: ['$SRV.>', platformContracts.info.subject] }, sub: { allow: [] } }
  const { id, token } = await createKey(platform, rules)
  user = await connect({ servers: platform.tcpUrl, token, inboxPrefix: inboxPrefix(id) })
})
afterAll(async () => {
  await user.close()
  await platform[Symbol.asyncDispose]()
})

/** All answers to a question; the client ends when nothing more comes for a while. */
const all = async <T>(answers: Promise<AsyncIterable<T>>): Promise<T[]> => Array.fromAsync(await answers)
const client = () => user.services.client({ maxWait: 300, strategy: 'timer' as never })

test('ping: every service answers once, with its name, id and version', async () => {
  const pings = await all(client().ping())
  expect(pings.map(({ name }) => name)).toContain('gantry-platform')
  expect(new Set(pings.map(({ id }) => id)).size).toBe(pings.length)
  for (const ping of pings) {
    expect(ping).toMatchObject({ type: 'io.nats.micro.v1.ping_response', version, metadata: {} })
    expect(ping.name).toMatch(/^gantry-[a-z]+(?:-[a-z]+)*$/)
  }
})

test('info: every contract is implemented, and exactly once', async () => {
  const infos = await all(client().info())
  const subjects = infos.flatMap(({ endpoints }) => endpoints.map(({ subject }) => subject))
  const declared = [...contracts, ...internalContracts].map(({ subject }) => subject)
  expect(subjects.toSorted()).toEqual(declared.toSorted())
  for (const { endpoints } of infos)
    for (const endpoint of endpoints) {
      expect(endpoint).toMatchObject({ name: expect.stringMatching(/^[a-z0-9_-]+$/), queue_group: 'gantry' })
      expect(endpoint.metadata?.['summary']).toBeTypeOf('string')
    }
})

test('by name and by id: that service alone', async () => {
  const [info] = await all(client().info('gantry-platform'))
  expect(info).toMatchObject({ name: 'gantry-platform', type: 'io.nats.micro.v1.info_response', version })
  expect(info!.endpoints.map(({ name }) => name).toSorted()).toEqual(
    Object.keys(platformContracts).toSorted(),
  )
  const byId = await all(client().ping('gantry-platform', info!.id))
  expect(byId).toHaveLength(1)
  await expect(all(client().ping('gantry-nobody'))).rejects.toMatchObject({ code: '503' })
})

test('extensions are discovered by those who see them, as long as they are there', async () => {
  const weather = await bareExtension(platform, 'weather')
  await weather.register({ instance: 'one' })
  const mayAsk = { pub: { allow: ['$SRV.>'] }, sub: { allow: ['gantry.extensions.weather.>'] } }
  const { key, token } = await issueInside(platform, {
    capabilities: mayAsk,
    visible_extensions: ['weather'],
  })
  const viewer = await connect({ servers: platform.tcpUrl, token, inboxPrefix: inboxPrefix(key.id) })
  const seen = viewer.services.client({ maxWait: 300, strategy: 'timer' as never })
  expect((await all(seen.ping())).map(({ name }) => name)).toContain('weather')
  expect(await all(seen.info('weather', 'one'))).toEqual([
    {
      type: 'io.nats.micro.v1.info_response',
      name: 'weather',
      id: 'one',
      version: '1.0.0',
      description: 'Weather',
      metadata: {},
      endpoints: [
        {
          name: 'forecast',
          subject: 'gantry.extensions.weather.forecast',
          queue_group: 'gantry',
          metadata: { summary: 'The weather of a day' },
        },
      ],
    },
  ])
  expect((await all(client().ping())).map(({ name }) => name)).not.toContain('weather')
  await expect(all(client().ping('weather'))).rejects.toMatchObject({ code: '503' })
  // What it has done, the platform does not know.
  await expect(all(seen.stats('weather'))).rejects.toMatchObject({ code: '503' })
  await weather.connection.close()
  await until('it is gone', async () => !(await all(seen.ping())).some(({ name }) => name === 'weather'))
  await viewer.close()
})

test('stats: requests, errors and times of each endpoint', async () => {
  const statsOf = async () => {
    const [stats] = await all(client().stats('gantry-platform'))
    expect(stats).toMatchObject({ type: 'io.nats.micro.v1.stats_response', name: 'gantry-platform' })
    expect(new Date(stats!.started).getTime()).toBeLessThan(Date.now())
    return stats!.endpoints!.find(({ name }) => name === 'info')!
  }
  const before = await statsOf()
  await user.request(platformContracts.info.subject, '')
  await user.request(platformContracts.info.subject, '{"x":1}')
  await call(platform.operator, platformContracts.info, {})
  const after = await statsOf()
  expect(after.num_requests - before.num_requests).toBe(3)
  expect(after.num_errors - before.num_errors).toBe(1)
  expect(after.last_error).toBe('400:INVALID_INPUT')
  expect(after.processing_time).toBeGreaterThan(before.processing_time)
  expect(after.average_processing_time).toBe(Math.round(after.processing_time / after.num_requests))
})

test('an error has the headers of the protocol, and a body', async () => {
  const reply = await user.request(platformContracts.info.subject, '{"x":1}')
  expect(reply.headers?.get('Nats-Service-Error-Code')).toBe('400')
  expect(reply.headers?.get('Nats-Service-Error')).toContain('x is not a field here')
  expect(reply.json()).toMatchObject({ code: 'INVALID_INPUT', requestId: expect.any(String) })
  expect(ServiceVerb.PING).toBe('PING')
})

test('a key that may not discover is told so by the broker', async () => {
  const { token, id } = await createKey(platform, { pub: { allow: [] }, sub: { allow: [] } })
  const narrow = await connect({ servers: platform.tcpUrl, token, inboxPrefix: inboxPrefix(id) })
  await expect(narrow.request('$SRV.PING', '', { timeout: 2_000 })).rejects.toMatchObject({
    code: 'PERMISSIONS_VIOLATION',
  })
  await narrow.close()
})
