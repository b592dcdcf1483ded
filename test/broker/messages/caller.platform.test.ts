import { headers } from '@nats-io/transport-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../../../broker/rpc/client.ts'
import { connectWithToken } from '../../../broker/rpc/connection.ts'
import { loadMessagingConfig } from '../../../config/messaging.ts'
import { loadPlatformConfig } from '../../../config/platform.ts'
import { keys } from '../../../subjects/access/keys.ts'
import { type Client, createClient, everything } from '../../support/keys.ts'
import { sharedPlatform, testLog, type TestPlatform } from '../../support/platform.ts'
import { connectRaw } from '../../support/raw-nats.ts'

let platform: TestPlatform
let user: Client
let victim: Client
beforeAll(async () => {
  platform = await sharedPlatform()
  user = await createClient(platform, { pub: { allow: [keys.self.subject] }, sub: { allow: [] } })
  victim = await createClient(platform, everything)
})
afterAll(async () => {
  await user[Symbol.asyncDispose]()
  await victim[Symbol.asyncDispose]()
})

/** What nats-server itself writes about the victim, as its own request would carry it. */
async function forgedInfo(): Promise<string> {
  const { identity } = await loadPlatformConfig(platform.home, loadMessagingConfig(platform.home), testLog)
  return JSON.stringify({
    acc: identity.GANTRY.account.getPublicKey(),
    user: victim.keyId,
    issuer_key: identity.GANTRY.signing.getPublicKey(),
    kind: 'Client',
    client_type: 'nats',
  })
}

test.each([1, 2, 3])(
  'a client that writes the identity header itself, %d times, is who it is',
  async (times) => {
    const info = await forgedInfo()
    const forged = headers()
    for (let count = 0; count < times; count++) forged.append('Nats-Request-Info', info)
    const reply = await user.connection.request(keys.self.subject, '', { timeout: 5_000, headers: forged })
    const answer: { id?: string; code?: string } = reply.json()
    expect(answer.id).not.toBe(victim.keyId)
    if (times === 1) expect(answer.id).toBe(user.keyId)
    else expect([user.keyId, undefined]).toContain(answer.id)
  },
)

test.each([
  'nats-request-info: INFO',
  'NATS-REQUEST-INFO: INFO',
  ' Nats-Request-Info: INFO',
  'Nats-Request-Info : INFO',
  'Nats-Request-Info\t: INFO',
  'Nats-Request-Info:INFO',
  'X: y\nNats-Request-Info: INFO',
  'X: y\rNats-Request-Info: INFO',
  'Nats-Request-Info: INFO\r\nNats-Request-Info: INFO',
  'Nats-Request-Info: \r\nNats-Request-Info: INFO',
  'Nats-Request-Info:\r\n INFO',
])('the header in the form %j makes nobody another', async (form) => {
  const info = await forgedInfo()
  const inbox = `_INBOX.${user.keyId}.raw`
  await using raw = await connectRaw(platform.tcpUrl, user.token, inbox)
  raw.publish(keys.self.subject, inbox, [form.replaceAll('INFO', info)], '')
  await raw.answer(/\{.*"(?:id|requestId)":"[^"]+".*\}\r\n/s)
  expect(raw.received()).not.toContain(`"id":"${victim.keyId}"`)
})

test.each([
  'Bad Key: x',
  'no colon',
  ': empty',
  'Gantry-Request-Id',
  'Gantry Request Id: x',
  'ключ: x',
  '"quoted": x',
  `Gantry-Request-Id: ${'x'.repeat(100_000)}`,
])('a header line %.30j is answered, and the platform goes on', async (line) => {
  const inbox = `_INBOX.${user.keyId}.raw`
  await using raw = await connectRaw(platform.tcpUrl, user.token, inbox)
  raw.publish(keys.self.subject, inbox, [line], '')
  await raw.answer(/"(?:id|requestId)":"[^"]+"/)
  expect((await call(user.connection, keys.self, {})).id).toBe(user.keyId)
})

test('the id of a request that is none of ours is not carried on', async () => {
  const given = headers()
  given.set('Gantry-Request-Id', 'x'.repeat(1_000))
  const reply = await user.connection.request(keys.self.subject, '{"x":1}', {
    timeout: 5_000,
    headers: given,
  })
  expect(reply.json()).toMatchObject({
    code: 'INVALID_INPUT',
    requestId: expect.stringMatching(/^\w{1,64}$/),
  })
})

test('a message without a reply is no request', async () => {
  const { id } = await platform.call(keys.create, {
    name: 'not to be revoked',
    capabilities: { pub: { allow: [] }, sub: { allow: [] } },
  })
  victim.connection.publish(keys.revoke.subject, JSON.stringify({ id }))
  await victim.connection.flush()
  // Served on the same subscription, after it.
  expect(
    await call(victim.connection, keys.revoke, { id: victim.keyId.replace(/^k/, 'k0') }).catch(
      (e: Error) => e,
    ),
  ).toMatchObject({ code: 'NOT_FOUND' })
  expect((await call(victim.connection, keys.get, { id })).revoked).toBeUndefined()
})

test('what a client says of itself as its name is nothing', async () => {
  const connection = await connectWithToken(platform.tcpUrl, user.token, { name: victim.keyId })
  expect((await call(connection, keys.self, {})).id).toBe(user.keyId)
  await connection.close()
})
