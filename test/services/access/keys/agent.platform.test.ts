import { createInbox, headers, type NatsConnection, type Msg } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../../../../broker/rpc/client.ts'
import { connectWithToken } from '../../../../broker/rpc/connection.ts'
import { Queue } from '../../../../broker/queue/queue.ts'
import { agentKeys } from '../../../../subjects/migrations/agents.ts'
import { filesystemsInternal } from '../../../../subjects/filesystems/internal.ts'
import { contracts, internalContracts } from '../../../../subjects/index.ts'
import { keys } from '../../../../subjects/access/keys.ts'
import { migrations } from '../../../../subjects/migrations/migrations.ts'
import { inboxPrefix } from '../../../../subjects/kit/names.ts'
import { roles } from '../../../../subjects/access/roles.ts'
import { connectInside, createClient } from '../../../support/keys.ts'
import { startTestPlatform, testLog, type TestPlatform } from '../../../support/platform.ts'
import { until } from '../../../support/until.ts'

let platform: TestPlatform
let inside: NatsConnection
let agent: NatsConnection
let agentId: string
const stop = new AbortController()

beforeAll(async () => {
  platform = await startTestPlatform()
  inside = (await connectInside(platform)).connection
  const { id, kind, capabilities, token } = await platform.call(agentKeys.register, { name: 'host-7' })
  expect({ kind, sub: capabilities.sub.allow }).toEqual({ kind: 'agent', sub: [] })
  agentId = id
  agent = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
})
afterAll(async () => {
  stop.abort()
  await agent.close()
  await inside.close()
  await platform[Symbol.asyncDispose]()
})

const refusal = (subject: string, body = '{}') =>
  agent.request(subject, body, { timeout: 1_000 }).then(
    (reply) => `answered: ${reply.string()}`,
    ({ name, cause }: { name: string; cause?: Error }) => cause?.name ?? name,
  )

/** Asks a lane for its next item, to be delivered wherever the reply is said to be wanted. */
const take = (stream: string, lane: string, reply: string) =>
  agent.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${lane}`, '{"batch":1,"expires":2000000000}', { reply })

test('it takes an item, keeps it alive, makes others of it, ends it', async () => {
  const queue = await Queue.open(inside, 'agents', ['region', 'transfer'], testLog)
  await queue.publish('region', Buffer.from('root'), 'root', stop.signal)
  const inbox = createInbox(inboxPrefix(agentId))
  const got: Msg[] = []
  agent.subscribe(inbox, { callback: (_, message) => void got.push(message) })
  take('WORK_agents', 'region', inbox)
  await until('the item comes', () => got.length === 1)
  expect(got[0]!.string()).toBe('root')
  agent.publish(got[0]!.reply!, '+WPI')
  const id = headers()
  id.set('Nats-Msg-Id', 'child')
  await agent.request('gantry.work.v1.agents.transfer', 'child', { headers: id, timeout: 2_000 })
  await agent.request(got[0]!.reply!, '+ACK')
  expect(await queue.pendingByLane()).toEqual(new Map([['transfer', 1]]))
  await queue.delete()
})

describe('it may not', () => {
  test.each([
    ...[...contracts, ...internalContracts].map(({ subject }) => subject),
    '$JS.API.STREAM.MSG.GET.KV_keys',
    '$JS.API.DIRECT.GET.KV_keys',
    '$JS.API.STREAM.INFO.KV_keys',
    '$JS.API.STREAM.NAMES',
    '$JS.API.STREAM.DELETE.WORK_agents',
    '$JS.API.STREAM.PURGE.FAILURES',
    '$JS.API.CONSUMER.CREATE.KV_progress',
    '$JS.API.CONSUMER.CREATE.WORK_agents.region',
    '$JS.API.CONSUMER.DURABLE.CREATE.KV_keys.region',
    '$KV.keys.k1',
    '$KV.roles.admin',
    '$SYS.REQ.SERVER.PING',
    'gantry.events.v1.migrations.completed.x',
    '_R_.x',
  ])('send to %s', async (subject) => {
    expect(await refusal(subject)).toBe('PermissionViolationError')
  })

  test.each(['>', 'gantry.>', '$KV.>', '_INBOX.>', 'gantry.work.>', '$JS.>'])(
    'listen to %s',
    async (subject) => {
      const refused = Promise.withResolvers<string>()
      agent.subscribe(subject, { callback: (error) => refused.resolve(error?.name ?? 'heard') })
      expect(await refused.promise).toBe('PermissionViolationError')
    },
  )

  test('have what the broker answers it delivered to a service or into a bucket', async () => {
    const queue = await Queue.open(inside, 'forged', ['region', 'transfer'], testLog)
    const before = await platform.call(roles.list, {})
    const victims = [
      roles.put.subject,
      filesystemsInternal.resolve.subject,
      migrations.delete.subject,
      `$KV.keys.${agentId}`,
      '$KV.roles.admin',
      'gantry.failures.v1.forged',
      'gantry.events.v1.migrations.completed.x',
    ]
    const heard: string[] = []
    for (const subject of victims)
      inside.subscribe(subject, { callback: (_, message) => void heard.push(message.subject) })
    await inside.flush()
    const item = JSON.stringify({ name: 'mine', pub: { allow: ['>'] }, sub: { allow: ['>'] } })
    for (const subject of victims) {
      // Items, the status of an empty lane, and the receipts of an item and of its end.
      take('WORK_forged', 'region', subject)
      await agent.request('gantry.work.v1.forged.region', item, { timeout: 5_000 })
      agent.publish('$JS.API.CONSUMER.MSG.NEXT.WORK_forged.transfer', '{"batch":1,"no_wait":true}', {
        reply: subject,
      })
      agent.publish('gantry.work.v1.forged.region', item, { reply: subject })
      agent.publish('$JS.ACK.WORK_forged.region.1.1.1.1.1', '+ACK', { reply: subject })
    }
    // All of that is settled when this is answered.
    await agent.request('gantry.work.v1.forged.region', item, { timeout: 5_000 })
    await inside.flush()
    expect(heard).toEqual([])
    expect(await platform.call(roles.list, {})).toEqual(before)
    expect((await platform.call(keys.get, { id: agentId })).id).toBe(agentId)
    await queue.delete()
  })
})

test('only an administrator makes one, whatever its rules are called', async () => {
  const rules = { pub: { allow: ['gantry.services.v1.agents.*'] }, sub: { allow: [] } }
  await using client = await createClient(platform, rules)
  await expect(call(client.connection, agentKeys.register, { name: 'x' })).rejects.toMatchObject({
    code: 'EXCEEDS_ROLE',
  })
})

test('an administrator renames, rotates and revokes one, and its connections go with it', async () => {
  const { id, token } = await platform.call(agentKeys.register, { name: 'host-8' })
  const connection = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
  await platform.call(keys.update, { id, name: 'host-9' })
  const rotated = await platform.call(keys.rotate, { id })
  expect(rotated).toMatchObject({ name: 'host-9', kind: 'agent' })
  await connection.closed()
  const again = await connectWithToken(platform.tcpUrl, rotated.token, { reconnect: false })
  await platform.call(keys.revoke, { id })
  await again.closed()
})
