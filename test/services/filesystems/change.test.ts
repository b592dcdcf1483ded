import { expect, test } from 'vitest'
import { requireSecretsAgain } from '../../../services/filesystems/change.ts'

const stored = {
  'adls2-oauth2': {
    accountName: 'lake',
    oauthClientEndpoint: 'https://one.example/',
    oauthClientSecret: 'sealed',
  },
  'adls2-sas': { accountName: 'lake', sasToken: 'sealed' },
  gcs: { bucketName: 'data', privateKey: 'sealed' },
  s3a: { bucketName: 'data', endpoint: 'one.example', secretKey: 'sealed', sessionToken: 'sealed' },
} as const

test.each([
  ['adls2-oauth2', { oauthClientEndpoint: 'https://another.example/' }, /oauthClientSecret is sent to where/],
  ['adls2-oauth2', { endpoint: 'another.example' }, /oauthClientSecret .* another endpoint/],
  ['adls2-oauth2', { accountName: 'another' }, /oauthClientSecret .* another accountName/],
  ['adls2-oauth2', { insecure: true }, /oauthClientSecret .* another insecure/],
  ['adls2-sas', { endpoint: 'another.example' }, /sasToken .* another endpoint/],
  ['gcs', { endpoint: 'another.example' }, /privateKey/],
  ['gcs', { endpoint: 'another.example', customerKey: 'new' }, /privateKey/],
  ['s3a', { endpoint: 'another.example', secretKey: 'new' }, /sessionToken/],
  ['s3a', { additionalProperties: { 'fs.s3a.connection.ssl.enabled': 'false' } }, /sessionToken .* another/],
] as const)('%s: with %j secrets do not go elsewhere unless they are known', (kind, changes, message) => {
  expect(() => requireSecretsAgain(kind, stored[kind], changes)).toThrow(message)
})

test.each([
  ['adls2-oauth2', { accountName: 'lake', oauthClientId: 'another' }],
  ['adls2-oauth2', { accountName: 'another', oauthClientSecret: 'known' }],
  ['adls2-oauth2', { oauthClientEndpoint: 'https://another.example/', oauthClientSecret: 'known' }],
  ['gcs', { bucketName: 'another' }],
  ['gcs', { endpoint: 'another.example', privateKey: 'known' }],
  ['s3a', { endpoint: 'one.example' }],
  ['s3a', { additionalProperties: { 'fs.s3a.paging.maximum': '10' } }],
] as const)('%s: with %j nothing is to be given again', (kind, changes) => {
  requireSecretsAgain(kind, stored[kind], changes)
})
