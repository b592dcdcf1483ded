import { expect, test } from 'vitest'
import { createBounds } from '../../../../services/drivers/contract/bounds.ts'
import { S3Driver } from '../../../../services/drivers/s3a/s3a.ts'
import { objectsIn } from '../../../../services/drivers/s3a/object-events.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'

const options = (others: Partial<FilesystemOptions<'s3a'>>): FilesystemOptions<'s3a'> => ({
  bucketName: 'lake',
  endpoint: 'https://s3.example',
  accessKey: 'someone',
  secretKey: 'secret',
  ...others,
})
const topic = { bootstrapServers: 'kafka.example:9093', topic: 'changes' }

test.each<[string, Partial<FilesystemOptions<'s3a'>>, RegExp]>([
  ['a topic without brokers', { topic: 'changes' }, /topic is for bootstrapServers/],
  ['brokers without a topic', { bootstrapServers: 'kafka.example:9093' }, /topic is missing/],
  [
    'a queue besides',
    { ...topic, sqsQueue: 'changes', sqsEndpoint: 'https://sqs.example' },
    /besides sqsQueue/,
  ],
  ['a user without a password', { ...topic, kafkaUser: 'gantry' }, /kafkaPassword is missing/],
  [
    'a password in the clear',
    {
      ...topic,
      kafkaUser: 'gantry',
      kafkaPassword: 'secret',
      additionalProperties: { 'gantry.kafka.tls': 'false' },
    },
    /gantry\.kafka\.tls must be true/,
  ],
])('%s is refused by name', (_, others, said) => {
  expect(() => new S3Driver(options(others))).toThrow(said)
})

test('brokers have to be named by an administrator, wherever they are', () => {
  const driver = (hosts: readonly string[]) =>
    new S3Driver(options(topic), createBounds([], { roots: undefined, hosts }))
  expect(() => driver([]).requirePlace()).toThrow(/kafka\.example:9093.*storeHosts/)
  expect(() => driver(['kafka.example:9093']).requirePlace()).not.toThrow()
})

test('messages of IBM Cloud Object Storage say which object they are about', () => {
  const event = {
    format: '2.0',
    event_type: 'Object:Write',
    bucket_name: 'lake',
    object_name: 'a b/ü+1',
    request_time: '2026-07-04T17:12:28.030Z',
  }
  const key = Buffer.from('a b/ü+1').toString('latin1')
  const notice = { bucket: 'lake', key, timeMs: Date.parse(event.request_time) }
  expect(objectsIn(JSON.stringify(event))).toEqual([notice])
  expect(objectsIn(JSON.stringify({ notification: event }))).toEqual([notice])
  expect(objectsIn(JSON.stringify({ ...event, bucket_name: 5 }))).toBeUndefined()
})
