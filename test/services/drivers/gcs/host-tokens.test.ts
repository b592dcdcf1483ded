import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createBounds } from '../../../../services/drivers/contract/bounds.ts'
import { GcsDriver } from '../../../../services/drivers/gcs/gcs.ts'
import { hostIdentities } from '../../../../subjects/filesystems/host-identities.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'
import { failureOf, never } from '../../../conformance/driver-store.ts'
import { startBearerService } from '../../../support/bearer-service.ts'
import { HostIdentityDouble, impersonated, subjectToken } from '../../../support/host-identity-double.ts'

const folder = mkdtempSync(join(tmpdir(), 'gantry-gcs-host-'))
const file = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const subjectFile = file('subject', `${subjectToken}\n`)
afterAll(() => rmSync(folder, { recursive: true }))

let double: HostIdentityDouble
let service: Awaited<ReturnType<typeof startBearerService>>
beforeEach(async () => {
  double = await HostIdentityDouble.start()
  const answer = { headers: { 'x-guploader-uploadid': '1' }, body: '{"kind":"storage#objects"}' }
  service = await startBearerService(double.given, answer)
  vi.stubEnv('GCE_METADATA_HOST', double.host)
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '')
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await service[Symbol.asyncDispose]()
  await double[Symbol.asyncDispose]()
})

type Options = Partial<FilesystemOptions<'gcs'>>
const type = (authType: string, more: Record<string, string> = {}) => ({
  additionalProperties: { 'fs.gs.auth.type': authType, 'fs.gs.http.max.retry': '0', ...more },
})
const machine = type('COMPUTE_ENGINE')
const federationType = 'WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE'
const fileProperty = 'fs.gs.auth.workload.identity.federation.credential.config.file'
const config = (changes: object = {}) =>
  JSON.stringify({
    type: 'external_account',
    audience: '//iam.googleapis.com/pool',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${double.url}/v1/token`,
    credential_source: { file: subjectFile },
    ...changes,
  })
const fromUrl = {
  credential_source: { url: '', format: { type: 'json', subject_token_field_name: 'value' } },
}
const atUrl = () => ({ credential_source: { ...fromUrl.credential_source, url: `${double.url}/subject` } })
const impersonation = () => ({
  service_account_impersonation_url: `${double.url}/v1/projects/-/serviceAccounts/${impersonated}:generateAccessToken`,
})

function open(options: Options, allowed: readonly string[], hosts: readonly string[] = ['127.0.0.0/8']) {
  const bounds = createBounds([], { roots: undefined, hosts, hostCredentials: allowed })
  const driver = new GcsDriver({ bucketName: 'data', endpoint: `http://${service.host}`, ...options }, bounds)
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
}

test('the machine gives tokens, once for all, and another when one is not taken any more', async () => {
  await using driver = open(machine, ['instance'])
  driver.requirePlace()
  await Promise.all(Array.from({ length: 20 }, () => driver.probe(never)))
  expect(double.given).toHaveLength(1)
  expect(double.asked[0]?.url.searchParams.get('scopes')).toMatch(/devstorage\.read_write$/)
  double.given.push('another')
  await driver.probe(never)
  expect(service.statuses.filter((status) => status === 401)).toHaveLength(1)
  expect(double.given).toHaveLength(3)
})

test('with a subscription tokens are for Pub/Sub, too, and go to no other place unless it is named', async () => {
  const pubSubSubscription = 'projects/tests/subscriptions/changes'
  await using driver = open({ ...machine, pubSubSubscription }, ['instance'])
  driver.requirePlace()
  await driver.probe(never)
  expect(double.asked[0]?.url.searchParams.get('scopes')).toBe(
    'https://www.googleapis.com/auth/devstorage.read_write,https://www.googleapis.com/auth/pubsub',
  )
  const elsewhere = { ...machine, pubSubSubscription, pubSubEndpoint: 'https://pubsub.example' }
  await using other = open(elsewhere, ['instance'])
  expect(() => other.requirePlace()).toThrow(/pubSubEndpoint/)
})

test.each<[string, NonNullable<HostIdentityDouble['interfere']>, RegExp]>([
  [
    'another server',
    (_asked, response) => (response.end('{"access_token":"x"}'), true),
    /answer is not Google’s/,
  ],
  [
    'a redirect',
    (_asked, response) => (response.writeHead(302, { location: '/' }).end(), true),
    /answered 302/,
  ],
  ['a huge answer', (_asked, response) => (response.end('x'.repeat(2 ** 20)), true), /longer than 65536/],
])('%s at the name of the metadata server gives no token', async (_name, interfere, message) => {
  double.interfere = interfere
  await using driver = open(machine, ['instance'])
  await expect(driver.probe(never)).rejects.toThrow(message)
})

test.each<[string, () => Options, string[]]>([
  ['in a file that the setting names', () => ({ jsonKey: config() }), [subjectFile]],
  ['at a URL, as JSON', () => ({ jsonKey: config(atUrl()) }), []],
  ['with a service account', () => ({ jsonKey: config({ ...atUrl(), ...impersonation() }) }), []],
  ['by the type', () => ({ jsonKey: config(atUrl()), ...type(federationType) }), []],
])('an identity of elsewhere has its token %s', async (_name, options, allowed) => {
  await using driver = open(options(), allowed)
  driver.requirePlace()
  await driver.probe(never)
  expect(double.lines).toContain('POST /v1/token')
})

test('the configuration is taken from a file that the setting names, or that of the service', async () => {
  const path = file('config', config())
  await using named = open(type(federationType, { [fileProperty]: path }), [path])
  await named.probe(never)
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', path)
  await using own = open(type(federationType), ['web-identity'])
  await own.probe(never)
  expect(double.lines).toEqual(['POST /v1/token', 'POST /v1/token'])
})

test('the machine’s own account, and the federation of the service, are named default', async () => {
  await using driver = open(machine, ['instance:default'])
  await driver.probe(never)
  await using other = open(machine, ['instance:another'])
  expect(() => other.requirePlace()).toThrow(/names others alone/)
  await using federation = open(type(federationType), ['web-identity:another'])
  expect(() => federation.requirePlace()).toThrow(/names others alone/)
  await using own = open(type(federationType), ['web-identity:default'])
  own.requirePlace()
})

test.each<[string, () => Options, RegExp]>([
  ['the machine', () => machine, /fs\.gs\.auth\.type uses credentials of the host.* instance to the setting/],
  ['a file of a subject', () => ({ jsonKey: config() }), /jsonKey uses credentials of the host/],
  [
    'a configuration',
    () => type(federationType, { [fileProperty]: '/etc/shadow' }),
    /add \/etc\/shadow to the setting/,
  ],
  ['that of the service', () => type(federationType), /add web-identity to the setting hostCredentials/],
])('without the setting %s is refused', async (_name, options, message) => {
  await using driver = open(options(), [])
  expect(() => driver.requirePlace()).toThrow(message)
  expect(await failureOf(driver.probe(never))).toBe('refused')
  expect(double.asked).toEqual([])
})

test.each<[object, RegExp]>([
  [{ type: 'authorized_user' }, /not of type external_account/],
  [{ credential_source: { executable: { command: '/bin/id' } } }, /has executable, which is not honoured/],
  [{ credential_source: { environment_id: 'aws1' } }, /has environment_id/],
  [{ credential_source: {} }, /credential_source\.file or credential_source\.url/],
  [{ credential_source: { url: 'file:///etc/shadow' } }, /no URL as credential_source\.url/],
  [{ credential_source: { url: 'https://x.example', headers: { Host: 'y' } } }, /header .* cannot be sent/],
  [
    { service_account_impersonation_url: 'https://iamcredentials.googleapis.com/v1/x' },
    /generateAccessToken/,
  ],
])('%j is refused', (changes, message) => {
  expect(() => open({ jsonKey: config(changes), ...type(federationType) }, [subjectFile])).toThrow(message)
})

test('no URL of a configuration leads to where clouds keep credentials, nor tokens to anybody else', async () => {
  const opened = (changes: object, hosts: string[], endpoint?: string) => {
    const driver = open({ jsonKey: config(changes), ...(endpoint && { endpoint }) }, [subjectFile], hosts)
    return () => driver.requirePlace()
  }
  const google = { token_url: 'https://sts.googleapis.com/v1/token' }
  const url = (at: string) => ({ ...google, credential_source: { url: at } })
  const storage = 'https://storage.googleapis.com'
  opened(google, [], storage)()
  expect(opened(url('http://169.254.169.254/'), ['0.0.0.0/0'], storage)).toThrow(/credentials of machines/)
  expect(opened(url('http://10.0.0.1/'), [], storage)).toThrow(/storeHosts/)
  expect(opened({ token_url: 'https://sts.example' }, [], storage)).toThrow(/sts\.example is no endpoint/)
  expect(opened({ token_url: 'http://sts.googleapis.com' }, [], storage)).toThrow(/by HTTPS/)
  // A bucket of that name, which is anybody's.
  const bucket = 'iamcredentials.storage.googleapis.com'
  expect(opened({ token_url: `https://${bucket}` }, [], storage)).toThrow(/is no endpoint/)
  expect(opened(google, [], 'https://storage.example')).toThrow(/endpoint would get credentials of the host/)
  opened(google, ['storage.example'], 'https://storage.example')()
})

test('what is exchanged is in no error', async () => {
  const options = { jsonKey: config({ audience: 'another', ...atUrl() }) }
  await using driver = open(options, [])
  const probed = driver.probe(never)
  await expect(probed).rejects.toThrow(/answered 400 invalid_grant/)
  await expect(probed).rejects.not.toThrow(subjectToken)
})

test('all identities do not allow a file', async () => {
  await using driver = open({ jsonKey: config() }, hostIdentities)
  expect(() => driver.requirePlace()).toThrow(`add ${subjectFile} to the setting`)
})
