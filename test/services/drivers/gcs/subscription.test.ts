import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { noticesOf } from '../../../../services/drivers/gcs/object-events.ts'
import { AuthorizedTransport } from '../../../../services/drivers/gcs/authorized-transport.ts'
import { credentialsOf } from '../../../../services/drivers/gcs/credentials.ts'
import { gcsEndpoint } from '../../../../services/drivers/gcs/endpoint.ts'
import { GcsDriver } from '../../../../services/drivers/gcs/gcs.ts'
import { Subscription } from '../../../../services/drivers/gcs/subscription.ts'
import { never } from '../../../conformance/driver-store.ts'
import { PubSubDouble } from '../../../support/pubsub-double.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const account = {
  bucketName: 'data',
  clientEmail: 'mover@tests.iam.gserviceaccount.com',
  privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
}
const limits = {
  connectTimeoutMs: 2_000,
  idleTimeoutMs: 5_000,
  connections: 8,
  retries: 0,
  minBackoffMs: 1,
  maxBackoffMs: 10,
}
const how = { authType: 'SERVICE_ACCOUNT_JSON_KEYFILE', configFile: '' }

function openSubscription(double: PubSubDouble, path = double.subscription): Subscription & Disposable {
  const options = { ...account, pubSubSubscription: path }
  const { tokens } = credentialsOf(options, how, [], undefined)
  const endpoint = gcsEndpoint(double.endpoint)
  const transport = new AuthorizedTransport(endpoint, tokens, limits)
  const subscription = new Subscription(path, endpoint.host, transport, limits)
  return Object.assign(subscription, { [Symbol.dispose]: () => subscription.close() })
}

const attributes = (objectId: string, eventType = 'OBJECT_FINALIZE') => ({
  bucketId: 'data',
  objectId,
  eventType,
  eventTime: '2026-06-26T18:41:00.958Z',
  payloadFormat: 'JSON_API_V1',
})

test('messages are pulled, kept and acknowledged', async () => {
  await using double = await PubSubDouble.start()
  using subscription = openSubscription(double)
  expect(await subscription.identify(never)).toEqual({
    stream: 'projects/tests/subscriptions/changes projects/tests/topics/changes',
    keepsMs: 604_800_000,
  })
  expect(await subscription.receive(never)).toEqual([])
  const names = Array.from({ length: 1_500 }, (_, index) => `ü/${String(index).padStart(4, '0')}`)
  for (const name of names) double.publish(attributes(name))
  const first = await subscription.receive(never)
  const second = await subscription.receive(never)
  expect([first.length, second.length]).toEqual([1_000, 500])
  const keys = [...first, ...second].map(({ body }) => noticesOf(body)?.[0]?.key ?? '')
  expect(keys.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(
    names.map((name) => Buffer.from(name).toString('latin1')),
  )
  expect(await subscription.hide([...first, ...second])).toHaveLength(1_500)
  await subscription.remove([...first, ...second])
  expect(double.kept).toBe(0)
})

test('what keeps a subscription from being read is told with the fix', async () => {
  await using double = await PubSubDouble.start()
  using missing = openSubscription(double, 'projects/tests/subscriptions/other')
  await expect(missing.identify(never)).rejects.toMatchObject({
    failure: 'gone',
    message: expect.stringContaining('create the subscription or correct pubSubSubscription'),
  })
  using subscription = openSubscription(double)
  const { properties } = double
  for (const [changed, failure] of [
    [{ topic: '_deleted-topic_' }, 'gone'],
    [{ detached: true }, 'gone'],
    [{ pushConfig: { pushEndpoint: 'https://example.com/' } }, 'refused'],
    [{ bigqueryConfig: { table: 't' } }, 'refused'],
    [{ messageRetentionDuration: 'long' }, 'io'],
  ] as const) {
    double.properties = { ...properties, ...changed }
    await expect(subscription.identify(never)).rejects.toMatchObject({ failure })
  }
  for (const [code, status, failure] of [
    [401, 'UNAUTHENTICATED', 'refused'],
    [403, 'PERMISSION_DENIED', 'permission'],
    [429, 'RESOURCE_EXHAUSTED', 'throttled'],
    [503, 'UNAVAILABLE', 'unreachable'],
    [400, 'INVALID_ARGUMENT', 'io'],
  ] as const) {
    double.refusal = { code, status }
    await expect(subscription.receive(never)).rejects.toMatchObject({ failure })
  }
})

test('what objects became is read of attributes; what is no such message is not understood, and nothing is thrown', () => {
  const timeMs = Date.parse('2026-06-26T18:41:00.958Z')
  for (const type of ['OBJECT_FINALIZE', 'OBJECT_DELETE', 'OBJECT_METADATA_UPDATE', 'OBJECT_ARCHIVE'])
    expect(noticesOf(JSON.stringify(attributes('a/b c%20d', type)))).toEqual([
      { bucket: 'data', key: 'a/b c%20d', timeMs },
    ])
  const others = [{}, null, 7, 'a', [], attributes('a', 'OTHER'), { ...attributes('a'), objectId: 1 }]
  for (const one of others) expect(noticesOf(JSON.stringify(one))).toBeUndefined()
  for (const text of ['', '{', '\0']) expect(noticesOf(text)).toBeUndefined()
  const undated = noticesOf(JSON.stringify({ ...attributes('a'), eventTime: 'never' }))
  expect(undated?.[0]?.timeMs).toBeGreaterThan(timeMs)
})

test('a check says whether the subscription can be read', async () => {
  await using double = await PubSubDouble.start()
  const options = { ...account, pubSubSubscription: double.subscription, pubSubEndpoint: double.endpoint }
  const driver = new GcsDriver(options)
  expect(await driver.changes?.check?.(never)).toBe('subscription projects/tests/subscriptions/changes')
  double.refusal = { code: 403, status: 'PERMISSION_DENIED' }
  await expect(driver.changes?.check?.(never)).rejects.toThrow(/Pub\/Sub Subscriber and Pub\/Sub Viewer/)
  await driver.close()
  expect(new GcsDriver(account).changes).toBeUndefined()
})
