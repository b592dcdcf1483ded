import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import {
  createInbox,
  type NatsConnection,
  PermissionViolationError,
  RequestError,
} from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../../../broker/rpc/client.ts'
import { Events, isFact } from '../../../broker/state/events.ts'
import { audit } from '../../../subjects/access/audit.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { migrationsInternal } from '../../../subjects/migrations/internal.ts'
import { platform as platformContracts } from '../../../subjects/platform/platform.ts'
import { smallLimits } from '../../support/broker.ts'
import { type Client, connectInside, createClient, everything } from '../../support/keys.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

let platform: TestPlatform
let admin: Client
let limited: Client
beforeAll(async () => {
  platform = await startTestPlatform()
  admin = await createClient(platform, everything)
  limited = await createClient(platform, {
    pub: { allow: [keys.self.subject] },
    sub: { allow: ['gantry.extensions.mine.>'] },
  })
})
afterAll(async () => {
  await admin[Symbol.asyncDispose]()
  await limited[Symbol.asyncDispose]()
  await platform[Symbol.asyncDispose]()
})

/** What the broker says to a subscription: its error, or nothing when it is allowed. */
async function subscribeRefusal(connection: NatsConnection, subject: string): Promise<unknown> {
  let refusal: unknown = 'allowed'
  const subscription = connection.subscribe(subject, {
    callback: (error) => {
      refusal = error ?? 'heard something'
    },
  })
  await connection.flush()
  subscription.unsubscribe()
  return refusal
}

/** The refusal of a request, by the broker itself or because nobody is there whom this connection could reach. */
const requestRefusal = (connection: NatsConnection, subject: string, body = ''): Promise<string> =>
  connection.request(subject, body, { timeout: 2_000 }).then(
    (reply) => `answered: ${reply.string()}`,
    (error: unknown) => {
      if (error instanceof RequestError && error.isNoResponders()) return 'NoResponders'
      const { name, cause } = error as { name: string; cause?: Error }
      return cause?.name ?? name
    },
  )

describe.each([
  ['an administrator', () => admin],
  ['a narrow key', () => limited],
])('%s', (_, client) => {
  const unreachable = [
    '$JS.API.INFO',
    '$JS.API.STREAM.NAMES',
    '$JS.API.STREAM.INFO.KV_keys',
    '$JS.API.DIRECT.GET.KV_keys',
    '$JS.API.STREAM.DELETE.KV_keys',
    '$KV.keys.k1',
    'gantry.audit.v1.records',
    '$JS.API.STREAM.INFO.AUDIT',
    '$JS.API.STREAM.PURGE.AUDIT',
    '$JS.API.STREAM.DELETE.AUDIT',
    '$JS.API.STREAM.UPDATE.AUDIT',
    '$JS.API.STREAM.MSG.GET.AUDIT',
    '$JS.API.STREAM.MSG.DELETE.AUDIT',
    '$JS.API.DIRECT.GET.AUDIT',
    '$JS.API.CONSUMER.CREATE.AUDIT',
    '$JS.API.STREAM.SNAPSHOT.AUDIT',
    '$SYS.REQ.SERVER.PING',
    '$SYS.REQ.SERVER.PING.CONNZ',
    '$SYS.REQ.ACCOUNT.PING.CONNZ',
    '$SYS.REQ.USER.AUTH',
    '$SYS.REQ.CLAIMS.LIST',
    '_R_.x',
  ]
  test.each(unreachable)('may not send to %s', async (subject) => {
    expect(await requestRefusal(client().connection, subject, '{}')).toBe('PermissionViolationError')
  })

  test.each([
    '>',
    '*',
    '*.>',
    '$JS.>',
    '$KV.>',
    '$SYS.>',
    '$SRV.>',
    '_INBOX.>',
    '_INBOX.*',
    '_INBOX.*.>',
    '_R_.>',
    '_GR_.>',
    'gantry.audit.v1.records',
    '_INBOX.k0000000000000.>',
  ])('may not listen to %s', async (subject) => {
    expect(await subscribeRefusal(client().connection, subject)).toBeInstanceOf(PermissionViolationError)
  })

  test('has its own inbox, and hears replies there', async () => {
    const self = await call(client().connection, keys.self, {})
    expect(self.id).toBe(client().keyId)
    expect(await subscribeRefusal(client().connection, `_INBOX.${client().keyId}.x`)).toBe('allowed')
  })

  test('has no JetStream of its own', async () => {
    await expect(jetstreamManager(client().connection, { timeout: 1_000 })).rejects.toThrow()
    const kvm = new Kvm(jetstream(client().connection, { timeout: 1_000 }))
    await expect(kvm.create('mine')).rejects.toThrow()
  })
})

test('what is inside the platform is not there for an administrator, though its rules cover the name', async () => {
  const inside = [
    migrationsInternal.uses.subject,
    'gantry.internal.v1.filesystems.resolve',
    'gantry.work.v1.q.lane',
    'gantry.failures.v1.x',
  ]
  for (const subject of inside) {
    expect(await requestRefusal(admin.connection, subject, '{"fileSystemId":"x"}')).toBe('NoResponders')
  }
  const heard: string[] = []
  const ears = ['gantry.internal.>', 'gantry.work.>', 'gantry.failures.>', 'gantry.audit.>'].map((subject) =>
    admin.connection.subscribe(subject, { callback: (_, message) => void heard.push(message.subject) }),
  )
  await admin.connection.flush()
  // Asking for the uses of a filesystem is an internal request.
  await platform.rest('platform', 'DELETE', '/api/v1/filesystems/nothing')
  await platform.call(platformContracts.ping, {})
  await admin.connection.flush()
  expect(heard).toEqual([])
  for (const ear of ears) ear.unsubscribe()
})

test('nobody hears the requests of others to the platform, nor answers in its place', async () => {
  const heard: string[] = []
  const ears = [
    'gantry.>',
    'gantry.services.>',
    'gantry.services.v1.>',
    keys.self.subject,
    'gantry.*.v1.keys.*',
  ].map((subject) =>
    admin.connection.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null) return
        heard.push(message.subject)
        message.respond('{"id":"forged"}')
      },
    }),
  )
  await admin.connection.flush()
  for (let round = 0; round < 20; round++) {
    expect((await call(limited.connection, keys.self, {})).id).toBe(limited.keyId)
  }
  await admin.connection.flush()
  expect(heard).toEqual([])
  for (const ear of ears) ear.unsubscribe()
})

test('nobody writes to the audit log, neither by a subject nor by where a reply is wanted', async () => {
  const [newest] = (await call(admin.connection, audit.list, { limit: 1 })).records
  const subject = 'gantry.audit.v1.records'
  for (const { connection } of [admin, limited]) {
    connection.publish(subject, '{"forged":true}')
    connection.publish(keys.self.subject, '{}', { reply: subject })
    await connection.flush()
  }
  // Its answer comes after those of the requests before.
  await call(admin.connection, keys.self, {})
  // What was refused in the tests before may still be written down, by the platform itself.
  for (let after = newest?.sequence; after !== undefined;) {
    const page = await call(admin.connection, audit.list, { order: 'oldest', after })
    expect(page.records.filter(({ result }) => result !== 'DENIED')).toEqual([])
    after = page.next
  }
  expect(await call(admin.connection, audit.verify, {})).toMatchObject({ intact: true })
})

test('nobody publishes facts in the place of the platform', async () => {
  const subject = 'gantry.events.v1.migrations.completed.x'
  const listener = await createClient(platform, { pub: { allow: [] }, sub: { allow: ['gantry.events.>'] } })
  await using _ = listener
  const heard: string[] = []
  listener.connection.subscribe('gantry.events.>', {
    callback: (_, message) => void heard.push(message.subject),
  })
  await listener.connection.flush()
  const errors: string[] = []
  const watching = (async () => {
    for await (const status of admin.connection.status())
      if (status.type === 'error') return void errors.push(status.error.message)
  })()
  admin.connection.publish(subject, '{}')
  await admin.connection.flush()
  await listener.connection.flush()
  expect(heard).toEqual([])
  await watching
  expect(errors[0]).toContain(subject)
})

test('a reply that somebody wants on a subject of facts is none', async () => {
  const subject = 'gantry.events.v1.migrations.completed.x'
  await using listener = await createClient(platform, {
    pub: { allow: [] },
    sub: { allow: ['gantry.events.>'] },
  })
  const heard: boolean[] = []
  listener.connection.subscribe('gantry.events.>', {
    callback: (_, message) => void heard.push(isFact(message)),
  })
  await listener.connection.flush()
  limited.connection.publish(keys.self.subject, '{}', { reply: subject })
  await until('the reply arrives there', () => heard.length > 0)
  const { connection: inside } = await connectInside(platform)
  const events = await Events.open(inside, smallLimits)
  await events.publish({ subject, payload: {} })
  await until('the fact arrives', () => heard.length > 1)
  expect(heard).toEqual([false, true])
  await inside.close()
})

test('a key hears nothing in the inbox of another, and the other cannot be made to answer there unseen', async () => {
  const inbox = createInbox(`_INBOX.${limited.keyId}`)
  expect(await subscribeRefusal(admin.connection, inbox)).toBeInstanceOf(PermissionViolationError)
  expect(await subscribeRefusal(admin.connection, `_INBOX.${limited.keyId}.>`)).toBeInstanceOf(
    PermissionViolationError,
  )
})

test('the edge’s own key reaches the public calls alone', async () => {
  const subjects = [keys.list.subject, keys.create.subject, '$SRV.PING', 'gantry.extensions.x.y']
  const { status } = await platform.rest('platform', 'GET', '/api/v1/keys', { headers: {} })
  expect(status).toBe(401)
  for (const subject of subjects)
    expect(await requestRefusal(limited.connection, subject)).toContain('Permission')
})
