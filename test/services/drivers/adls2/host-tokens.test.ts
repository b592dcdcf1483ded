import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Adls2Driver } from '../../../../services/drivers/adls2/adls2.ts'
import { createBounds } from '../../../../services/drivers/contract/bounds.ts'
import { hostIdentities } from '../../../../subjects/filesystems/host-identities.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'
import { failureOf, never } from '../../../conformance/driver-store.ts'
import { startBearerService } from '../../../support/bearer-service.ts'
import { HostIdentityDouble, identityHeader, subjectToken } from '../../../support/host-identity-double.ts'

const folder = mkdtempSync(join(tmpdir(), 'gantry-azure-host-'))
const tokenFile = join(folder, 'token')
writeFileSync(tokenFile, subjectToken)
afterAll(() => rmSync(folder, { recursive: true }))

let double: HostIdentityDouble
let service: Awaited<ReturnType<typeof startBearerService>>
beforeEach(async () => {
  double = await HostIdentityDouble.start()
  const headers = { 'x-ms-request-id': 'x', 'x-ms-version': '2021-12-02' }
  service = await startBearerService(double.given, { headers, body: '' })
  vi.stubEnv('AZURE_POD_IDENTITY_AUTHORITY_HOST', double.url)
  vi.stubEnv('AZURE_AUTHORITY_HOST', double.url)
  for (const name of ['IDENTITY_ENDPOINT', 'IDENTITY_HEADER', 'AZURE_CLIENT_ID', 'AZURE_TENANT_ID'])
    vi.stubEnv(name, '')
  vi.stubEnv('AZURE_FEDERATED_TOKEN_FILE', tokenFile)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await service[Symbol.asyncDispose]()
  await double[Symbol.asyncDispose]()
})

const providerType = 'fs.azure.account.oauth.provider.type'
const tokenFileProperty = 'fs.azure.account.oauth2.token.file'
type Options = Partial<FilesystemOptions<'adls2-oauth2'>>
const by = (provider: string, more: Record<string, string> = {}) => ({
  additionalProperties: { [providerType]: provider, 'fs.azure.io.retry.max.retries': '0', ...more },
})
const managed = by('org.apache.hadoop.fs.azurebfs.oauth2.MsiTokenProvider')
const workload = by('WorkloadIdentityTokenProvider', { 'fs.azure.account.oauth2.msi.tenant': 'tenant' })

function open(options: Options, allowed: readonly string[], hosts: readonly string[] = ['127.0.0.0/8']) {
  const bounds = createBounds([], { roots: undefined, hosts, hostCredentials: allowed })
  const own = { accountName: 'lake', containerName: 'data', endpoint: service.host, insecure: true }
  const driver = new Adls2Driver({ ...own, ...options }, bounds)
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
}

test('the machine gives tokens, once for all, and another when one is not taken any more', async () => {
  await using driver = open({ ...managed, oauthClientId: 'one-of-several' }, ['instance'])
  driver.requirePlace()
  await Promise.all(Array.from({ length: 20 }, () => driver.probe(never)))
  expect(double.given).toHaveLength(1)
  expect(Object.fromEntries(double.asked[0]!.url.searchParams)).toEqual({
    'api-version': '2018-02-01',
    resource: 'https://storage.azure.com',
    client_id: 'one-of-several',
  })
  double.given.push('another')
  await driver.probe(never)
  expect(double.given).toHaveLength(3)
})

test('an app asks the service that its environment names', async () => {
  vi.stubEnv('IDENTITY_ENDPOINT', `${double.url}/msi/token`)
  vi.stubEnv('IDENTITY_HEADER', identityHeader)
  await using driver = open(managed, ['instance'])
  await driver.probe(never)
  await driver.probe(never)
  expect(double.lines).toEqual(['GET /msi/token'])
})

test('a workload identity is exchanged for a token', async () => {
  await using driver = open({ ...workload, oauthClientId: 'mover' }, ['web-identity'])
  await driver.probe(never)
  const { form } = double.asked[0]!
  expect([form.get('client_id'), form.get('scope')]).toEqual(['mover', 'https://storage.azure.com/.default'])
  vi.stubEnv('AZURE_CLIENT_ID', 'mover')
  vi.stubEnv('AZURE_TENANT_ID', 'tenant')
  const named = by('WorkloadIdentityTokenProvider', { [tokenFileProperty]: tokenFile })
  await using byFile = open(named, [tokenFile])
  await byFile.probe(never)
  expect(double.lines).toEqual(['POST /tenant/oauth2/v2.0/token', 'POST /tenant/oauth2/v2.0/token'])
})

test('only the identity that the setting names is used', async () => {
  const others = /names others alone/
  const refused = async (options: Options, allowed: string) => {
    await using driver = open(options, [allowed])
    expect(() => driver.requirePlace()).toThrow(others)
    expect(await failureOf(driver.probe(never))).toBe('refused')
  }
  await refused(managed, 'instance:mover')
  await refused({ ...managed, oauthClientId: 'reader' }, 'instance:mover')
  await refused({ ...managed, oauthClientId: 'reader' }, 'instance:default')
  await refused({ ...workload, oauthClientId: 'reader' }, 'web-identity:mover')
  expect(double.asked).toEqual([])
  const used: [Options, string][] = [
    [managed, 'instance:default'],
    [{ ...managed, oauthClientId: 'mover' }, 'instance:mover'],
    [{ ...workload, oauthClientId: 'mover' }, 'web-identity:mover'],
  ]
  for (const [options, allowed] of used) {
    await using driver = open(options, [allowed])
    driver.requirePlace()
    await driver.probe(never)
  }
  expect(double.asked).toHaveLength(used.length)
})

test.each<[string, Options, readonly string[], RegExp]>([
  ['the machine', managed, ['web-identity'], /provider\.type uses credentials of the host.* add instance to/],
  ['a workload', workload, ['instance'], /add web-identity to the setting hostCredentials/],
  [
    'a file',
    by('WorkloadIdentityTokenProvider', { [tokenFileProperty]: '/etc/shadow' }),
    hostIdentities,
    /add \/etc\/shadow to the setting/,
  ],
])('without the setting %s is refused', async (_name, options, allowed, message) => {
  await using driver = open(options, allowed)
  expect(() => driver.requirePlace()).toThrow(message)
  expect(await failureOf(driver.probe(never))).toBe('refused')
  expect(double.asked).toEqual([])
})

test.each<[Options, RegExp]>([
  [{}, /oauthClientId is missing/],
  [{ oauthClientId: 'a', oauthClientSecret: 'b' }, /oauthClientEndpoint is missing/],
  [{ oauthClientId: 'a', oauthClientEndpoint: 'https://x/' }, /oauthClientSecret is missing/],
  [{ ...managed, oauthClientSecret: 'top-secret' }, /oauthClientSecret is for a service principal/],
  [
    by('MsiTokenProvider', { [tokenFileProperty]: '/x' }),
    /token\.file is for .* WorkloadIdentityTokenProvider/,
  ],
  [by('evil.MsiTokenProvider'), /must be ClientCredsTokenProvider, MsiTokenProvider or/],
])('%j is refused', (options, message) => {
  expect(() => open(options, ['instance'])).toThrow(message)
})

test('tokens go to Azure, and to endpoints that the setting storeHosts names', async () => {
  const opened = (endpoint: string, insecure: boolean, hosts: string[]) => {
    const driver = open({ ...managed, endpoint, insecure }, ['instance'], hosts)
    return () => driver.requirePlace()
  }
  opened('dfs.core.windows.net', false, [])()
  opened('lake.example', false, ['lake.example'])()
  expect(opened('dfs.core.windows.net', true, [])).toThrow(/by HTTPS/)
  expect(opened('lake.example', false, [])).toThrow(/endpoint would get credentials of the host/)
})

test('an identity that is not taken is told by its code, and a redirect is none', async () => {
  vi.stubEnv('AZURE_CLIENT_ID', 'mover')
  writeFileSync(tokenFile, 'top-secret')
  await using driver = open(workload, ['web-identity'])
  const probed = driver.probe(never)
  await expect(probed).rejects.toThrow(/workload identity: answered 401 invalid_client/)
  await expect(probed).rejects.not.toThrow(/top-secret/)
  writeFileSync(tokenFile, subjectToken)
  double.interfere = (_asked, response) => (response.writeHead(307, { location: double.url }).end(), true)
  await expect(driver.probe(never)).rejects.toThrow(/answered 307/)
})
