import fc from 'fast-check'
import { expect, test } from 'vitest'
import { objectsIn } from '../../../../services/drivers/s3a/object-events.ts'

const time = '2026-01-02T03:04:05.678Z'
const timeMs = Date.parse(time)

/** As Amazon's reference has it ("Event message structure"), with what is read. */
const record = (key: string, more: object = {}) => ({
  eventVersion: '2.3',
  eventSource: 'aws:s3',
  awsRegion: 'eu-west-1',
  eventTime: time,
  eventName: 'ObjectCreated:Put',
  s3: {
    s3SchemaVersion: '1.0',
    configurationId: 'to the queue',
    bucket: { name: 'data', arn: 'arn:aws:s3:::data' },
    object: { key, size: 5, eTag: 'tag', versionId: '1', sequencer: '0055AED6DCD90281E5' },
  },
  ...more,
})
const message = (...records: object[]) => JSON.stringify({ Records: records })
const envelope = (text: string) =>
  JSON.stringify({ Type: 'Notification', TopicArn: 'arn:aws:sns:eu-west-1:1:t', Message: text })
const eventBridge = (key: string, type = 'Object Created') =>
  JSON.stringify({
    version: '0',
    'detail-type': type,
    source: 'aws.s3',
    time,
    detail: { version: '0', bucket: { name: 'data' }, object: { key, size: 5 } },
  })

/** As S3 encodes keys. */
const encoded = (key: string) =>
  key
    .split('/')
    .map((part) => encodeURIComponent(part).replaceAll('%20', '+'))
    .join('/')
const latin1 = (text: string) => Buffer.from(text).toString('latin1')
const found = (key: string) => [{ bucket: 'data', key: latin1(key), timeMs }]

const odd = [
  'a b/ü+1',
  '100%',
  'date=2026-01-02/x',
  '%41',
  'a+b',
  "it's (1)*!~.txt",
  '🙂/\u0001',
  'a//b/',
  '語',
] as const

test.each(odd)('%j is found in what S3 sends, by itself, by SNS and by EventBridge', (key) => {
  expect(objectsIn(message(record(encoded(key))))).toEqual(found(key))
  expect(objectsIn(envelope(message(record(encoded(key)))))).toEqual(found(key))
  expect(objectsIn(eventBridge(key))).toEqual(found(key))
  expect(objectsIn(envelope(eventBridge(key, 'Object Deleted')))).toEqual(found(key))
})

test.each(odd)('%j is found in what MinIO and versitygw send', (key) => {
  const minio = JSON.stringify({
    EventName: 's3:ObjectCreated:Put',
    Key: `data/${key}`,
    Records: [
      record(encodeURIComponent(key).replaceAll('%20', '+'), { eventSource: 'minio:s3', awsRegion: '' }),
    ],
  })
  expect(objectsIn(minio)).toEqual(found(key))
  const its = record(key)
  expect(objectsIn(message({ ...its, s3: { ...its.s3, configurationId: 'kafka-global' } }))).toEqual(
    found(key),
  )
})

test('each kind of event names a place, and a test of the configuration none', () => {
  for (const eventName of [
    'ObjectRemoved:DeleteMarkerCreated',
    'LifecycleExpiration:Delete',
    'ObjectRestore:Completed',
    'ObjectTagging:Put',
  ])
    expect(objectsIn(message(record('a', { eventName })))).toEqual(found('a'))
  expect(objectsIn(message(record('a'), record('b')))).toEqual([...found('a'), ...found('b')])
  const tested = { Service: 'Amazon S3', Event: 's3:TestEvent', Time: time, Bucket: 'data', RequestId: '1' }
  expect(objectsIn(JSON.stringify(tested))).toEqual([])
  expect(objectsIn(envelope(JSON.stringify(tested)))).toEqual([])
})

test.each([
  '',
  'null',
  '[]',
  '"text"',
  '{}',
  '{"Records":[null]}',
  '{"Records":[{"s3":{"bucket":{"name":1},"object":{"key":"a"}},"eventTime":"2026-01-02T03:04:05Z"}]}',
  message(record('a', { eventTime: 'yesterday' })),
  message(record('a'), { s3: {} }),
  envelope(envelope(envelope(message(record('a'))))),
  '{"detail-type":"Object Created","detail":[]}',
  '['.repeat(100_000),
  '{"Type":"Notification","Message":7}',
])('%.60s is not understood', (body) => {
  expect(objectsIn(body)).toBeUndefined()
})

test('nothing is looked for under a key that no object can have, and a long message is read', () => {
  expect(objectsIn(message(record('a'.repeat(1_025))))).toEqual([])
  const many = Array.from({ length: 1_000 }, (_, n) => record(`folder/${n}`))
  expect(objectsIn(message(...many))).toHaveLength(1_000)
  expect(objectsIn('a'.repeat(256 * 1024))).toBeUndefined()
})

test('any key comes back as it was, and no text makes it throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }), (key) => {
      expect(objectsIn(message(record(encoded(key))))).toEqual(found(key))
      expect(objectsIn(eventBridge(key))).toEqual(found(key))
    }),
  )
  fc.assert(fc.property(fc.string(), (body) => void objectsIn(body)))
  fc.assert(fc.property(fc.json(), (body) => void objectsIn(body)))
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (one, two, three) => {
      objectsIn(JSON.stringify({ Records: [{ s3: { bucket: one, object: two }, eventTime: three }] }))
      objectsIn(JSON.stringify({ Records: one, Type: 'Notification', Message: two, 'detail-type': three }))
      objectsIn(JSON.stringify({ 'detail-type': 'x', detail: { bucket: one, object: two }, time: three }))
    }),
  )
})
