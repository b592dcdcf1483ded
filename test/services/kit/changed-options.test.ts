import { expect, test } from 'vitest'
import {
  type KindOfOptions,
  requireSecretsAgain,
  withoutReplaced,
} from '../../../services/kit/changed-options.ts'
import { filesystemKinds } from '../../../subjects/filesystems/kinds.ts'
import { catalogKinds } from '../../../subjects/metadata/kinds.ts'

const stored = {
  'adls2-oauth2': {
    accountName: 'lake',
    oauthClientEndpoint: 'https://one.example/',
    oauthClientSecret: 'sealed',
  },
  'adls2-sas': { accountName: 'lake', sasToken: 'sealed' },
  'adls2-shared-key': { accountName: 'lake', sharedKey: 'sealed' },
  gcs: { bucketName: 'data', privateKey: 'sealed' },
  s3a: { bucketName: 'data', endpoint: 'one.example', secretKey: 'sealed', sessionToken: 'sealed' },
} as const

test.each([
  ['adls2-oauth2', { oauthClientEndpoint: 'https://another.example/' }, /oauthClientSecret is sent to where/],
  ['adls2-oauth2', { endpoint: 'another.example' }, /oauthClientSecret .* another endpoint/],
  ['adls2-oauth2', { accountName: 'another' }, /oauthClientSecret .* another accountName/],
  ['adls2-oauth2', { insecure: true }, /oauthClientSecret .* another insecure/],
  ['adls2-sas', { endpoint: 'another.example' }, /sasToken .* another endpoint/],
  // What is signed could be passed on by whoever gets it.
  ['adls2-shared-key', { endpoint: 'another.example' }, /sharedKey .* another endpoint/],
  ['s3a', { endpoint: 'another.example' }, /secretKey .* another endpoint/],
  ['gcs', { endpoint: 'another.example' }, /privateKey/],
  ['gcs', { endpoint: 'another.example', customerKey: 'new' }, /privateKey/],
  ['s3a', { endpoint: 'another.example', secretKey: 'new' }, /sessionToken/],
  ['s3a', { additionalProperties: { 'fs.s3a.connection.ssl.enabled': 'false' } }, /secretKey .* another/],
] as const)('%s: with %j secrets do not go elsewhere unless they are known', (kind, changes, message) => {
  expect(() => requireSecretsAgain(filesystemKinds[kind], stored[kind], changes)).toThrow(message)
})

test.each([
  ['adls2-oauth2', { accountName: 'lake', oauthClientId: 'another' }],
  ['adls2-oauth2', { accountName: 'another', oauthClientSecret: 'known' }],
  ['adls2-oauth2', { oauthClientEndpoint: 'https://another.example/', oauthClientSecret: 'known' }],
  ['adls2-shared-key', { endpoint: 'another.example', sharedKey: 'known' }],
  ['gcs', { bucketName: 'another' }],
  ['gcs', { endpoint: 'another.example', privateKey: 'known' }],
  ['s3a', { endpoint: 'one.example' }],
  ['s3a', { additionalProperties: { 'fs.s3a.paging.maximum': '10' } }],
] as const)('%s: with %j nothing is to be given again', (kind, changes) => {
  requireSecretsAgain(filesystemKinds[kind], stored[kind], changes)
})

const queue = { bucketName: 'data', sqsQueue: 'changes', sqsEndpoint: 'sqs.example' }
const topic = {
  bucketName: 'data',
  bootstrapServers: 'kafka.example:9092',
  topic: 'changes',
  kafkaUser: 'mover',
}
const listening = { bucketName: 'data', bucketNotifications: true }

test.each([
  ['s3a', queue, { bootstrapServers: 'kafka.example:9092', topic: 'changes' }, ['bucketName']],
  ['s3a', queue, { sqsQueue: 'others' }, ['bucketName', 'sqsQueue', 'sqsEndpoint']],
  ['s3a', topic, { sqsQueue: 'changes' }, ['bucketName']],
  ['s3a', topic, { topic: 'others' }, ['bucketName', 'bootstrapServers', 'topic', 'kafkaUser']],
  ['s3a', topic, { bucketNotifications: false }, ['bucketName', 'bootstrapServers', 'topic', 'kafkaUser']],
  ['s3a', topic, { bucketNotifications: true }, ['bucketName']],
  ['s3a', listening, { sqsQueue: 'changes' }, ['bucketName']],
  ['gcs', { jsonKey: 'sealed', clientEmail: 'a@b' }, { privateKey: 'new' }, ['clientEmail']],
] as const)('%s: of %j, with %j, there stay %j', (kind, stored, changes, stay) => {
  expect(Object.keys(withoutReplaced(filesystemKinds[kind], stored, changes))).toEqual(stay)
})

test('whoever names another agent for a catalog gives all of its secrets again', () => {
  for (const [kind, of] of Object.entries<KindOfOptions & { readonly options: object }>(catalogKinds)) {
    if (!('agent' in of.options)) continue
    for (const secret of of.secrets) {
      const change = () => requireSecretsAgain(of, { [secret]: 'kept' }, { agent: 'other' })
      expect(change, `${kind} ${secret}`).toThrow('agent')
    }
  }
})
