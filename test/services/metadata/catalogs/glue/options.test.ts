import { expect, test } from 'vitest'
import { createBounds } from '../../../../../services/drivers/contract/bounds.ts'
import { openCatalog } from '../../../../../services/metadata/catalogs/index.ts'
import type { CatalogOptions } from '../../../../../subjects/metadata/kinds.ts'

const keys = { accessKey: 'visible', secretKey: 'hidden' }
const chain = 'DefaultAWSCredentialsProviderChain'
const hosts: string[] = []
const bounds = createBounds([], { roots: undefined, hosts, hostCredentials: [] })
const allowed = createBounds([], { roots: undefined, hosts, hostCredentials: ['environment'] })

test.each<[CatalogOptions<'glue'>, string, string]>([
  [{}, 'accessKey', 'is missing; or set credentialsProvider'],
  [{ accessKey: 'visible' }, 'secretKey', 'is missing'],
  [{ ...keys, credentialsProvider: 'TemporaryAWSCredentialsProvider' }, 'sessionToken', 'is missing'],
  [{ ...keys, credentialsProvider: chain }, 'accessKey', 'another credentialsProvider'],
  [{ credentialsProvider: chain }, 'credentialsProvider', 'hostCredentials'],
  [{ ...keys, glueEndpoint: 'http://127.0.0.1:5000' }, 'glueEndpoint', 'storeHosts'],
  [{ ...keys, glueEndpoint: '169.254.169.254' }, 'glueEndpoint', 'credentials of machines'],
])('%j is refused at %s', async (options, field, problem) => {
  await expect(openCatalog({ kind: 'glue', options }, { bounds })).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    details: [{ field, problem: expect.stringContaining(problem) }],
  })
})

test('credentials of the host go to Amazon alone', async () => {
  const options = { credentialsProvider: 'com.amazonaws.auth.EnvironmentVariableCredentialsProvider' }
  const open = async (more: object) =>
    (await openCatalog({ kind: 'glue', options: { ...options, ...more } }, { bounds: allowed })).close()
  await open({ awsRegion: 'eu-west-1' })
  for (const glueEndpoint of ['http://glue.eu-west-1.amazonaws.com', 'https://glue.example'])
    await expect(open({ glueEndpoint })).rejects.toMatchObject({
      details: [{ field: 'glueEndpoint', problem: expect.stringContaining('no endpoint of that cloud') }],
    })
})
