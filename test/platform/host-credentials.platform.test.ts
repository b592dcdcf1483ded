import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { call } from '../../broker/rpc/client.ts'
import { settings } from '../../subjects/access/settings.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { HostIdentityDouble } from '../support/host-identity-double.ts'
import { type Client, createClient } from '../support/keys.ts'
import { recordingLog } from '../support/log.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'

const logged = recordingLog()
let platform: TestPlatform
let double: HostIdentityDouble
/** Of somebody who may make filesystems, and nothing else. */
let client: Client
beforeAll(async () => {
  double = await HostIdentityDouble.start()
  // Threads take the environment with them when they start.
  vi.stubEnv('AWS_EC2_METADATA_SERVICE_ENDPOINT', double.url)
  vi.stubEnv('GCE_METADATA_HOST', double.host)
  vi.stubEnv('AZURE_POD_IDENTITY_AUTHORITY_HOST', double.url)
  platform = await startTestPlatform({ log: logged.log })
  client = await createClient(platform, {
    pub: { allow: ['gantry.services.v1.filesystems.>'] },
    sub: { allow: [] },
  })
}, 60_000)
afterAll(async () => {
  await client[Symbol.asyncDispose]()
  await platform[Symbol.asyncDispose]()
  await double[Symbol.asyncDispose]()
  vi.unstubAllEnvs()
})
beforeEach(async () => {
  double.asked.length = 0
  double.interfere = undefined
  await platform.call(settings.put, { storeHosts: [double.host], hostCredentials: [] })
})

const place = { fileSystemId: 'store', role: 'target' } as const
const instance = 'InstanceProfileCredentialsProvider'
const createS3 = (options: object = {}) =>
  call(client.connection, filesystems['create-s3a'], {
    ...place,
    bucketName: 'data',
    endpoint: double.url,
    credentialsProvider: instance,
    ...options,
  })
const google = { 'fs.gs.auth.type': 'COMPUTE_ENGINE', 'fs.gs.http.max.retry': '0' }
const azure = {
  'fs.azure.account.oauth.provider.type': 'MsiTokenProvider',
  'fs.azure.io.retry.max.retries': '0',
}
const creations: Record<string, () => Promise<unknown>> = {
  s3a: () => createS3(),
  's3a by a file': () =>
    createS3({ credentialsProvider: 'ProfileCredentialsProvider', awsCredentialsConfigFile: '/etc/passwd' }),
  gcs: () =>
    call(client.connection, filesystems['create-gcs'], {
      ...place,
      bucketName: 'data',
      endpoint: double.url,
      additionalProperties: google,
    }),
  adls2: () =>
    call(client.connection, filesystems['create-adls2-oauth2'], {
      ...place,
      accountName: 'lake',
      containerName: 'data',
      endpoint: double.host,
      insecure: true,
      additionalProperties: azure,
    }),
}

test.each(Object.keys(creations))(
  '%s with credentials of the host is refused as long as nothing is allowed',
  async (kind) => {
    expect(await platform.call(settings.get, {})).toMatchObject({ hostCredentials: [] })
    await expect(creations[kind]!()).rejects.toMatchObject({
      code: 'NOT_ACCEPTED',
      message: expect.stringContaining('gantry settings put --host-credentials'),
    })
    expect(double.asked).toEqual([])
  },
)

test.each(['s3a', 'gcs', 'adls2'])(
  '%s asks the host once it is allowed, and no longer when it is not',
  async (kind) => {
    await platform.call(settings.put, { hostCredentials: ['instance'] })
    const created = creations[kind]!()
    // The double gives credentials, and is no store.
    await expect(created).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    const given = double.given.slice()
    expect(given.length).toBeGreaterThan(0)
    const said = JSON.stringify([await created.catch((error: Error) => error.message), logged.text()])
    for (const secret of [...given, double.keys.secretKey, double.keys.accessKey])
      expect(said).not.toContain(secret)
    await platform.call(settings.put, { hostCredentials: ['profile'] })
    await expect(creations[kind]!()).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
    expect(double.given).toHaveLength(given.length)
  },
)

test('an endpoint that no administrator has named gets no credentials of the host', async () => {
  await platform.call(settings.put, { hostCredentials: ['instance'] })
  await expect(createS3({ endpoint: 'https://store.example' })).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    details: [{ field: 'endpoint', problem: expect.stringContaining('credentials of the host') }],
  })
  expect(double.asked).toEqual([])
})

test('an identity can be allowed by its name', async () => {
  const entries = ['instance:another', 'profile:backup', 'web-identity:arn:aws:iam::123456789012:role/mover']
  await platform.call(settings.put, { hostCredentials: entries })
  expect(await platform.call(settings.get, {})).toMatchObject({ hostCredentials: entries })
  const given = double.given.length
  await expect(createS3()).rejects.toMatchObject({
    code: 'STORE_REFUSED',
    message: expect.stringContaining('names others alone'),
  })
  expect(double.given).toHaveLength(given)
  await expect(creations['gcs']!()).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
})

test.each(['', 'all', 'instance ', 'instance:', 'environment:x', 'relative/file', '~/.aws/credentials'])(
  'the setting does not take %j',
  async (entry) => {
    await expect(platform.call(settings.put, { hostCredentials: [entry] })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('hostCredentials'),
    })
  },
)
