import { execFileSync } from 'node:child_process'
import { createHash, randomBytes, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createPlainServer } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { jwtVerify, SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest'
import { Adls2Driver } from '../../../../services/drivers/adls2/adls2.ts'
import { createBounds, type StoreBounds } from '../../../../services/drivers/contract/bounds.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'
import { bodyOf, contentOf, failureOf, listAll, never, pattern } from '../../../conformance/driver-store.ts'
import { type Azurite, startAzurite, startAzuriteQueues } from '../../../support/azurite.ts'
import { type Certificates, makeCertificates, noCertificates } from '../../../support/certificates.ts'
import { testUnless } from '../../../support/unless.ts'

type Options = FilesystemOptions<'adls2-oauth2'>

const test = (name: string, work: () => Promise<void>) => testUnless(noCertificates, name, work)

/** Azurite looks at who made a token for whom and until when; it cannot know Microsoft's keys. */
const folder = mkdtempSync(join(tmpdir(), 'gantry-oauth-'))
const clientId = 'mover'
/** Where a test moves the clock, Azurite's stays. */
const begun = new Date()
const clientSecret = randomBytes(16).toString('hex')
let azurite: Azurite
let certificates: Certificates
let tokens: Server
let tokenEndpoint: string
/** Forms that the endpoint of tokens got. */
let asked: URLSearchParams[] = []
let expiresIn = 3_600

beforeAll(async () => {
  if (noCertificates !== undefined) return
  certificates = makeCertificates(folder)
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(certificates.ca, 'utf8')])
  azurite = await startAzurite({ certificates })
  await azurite.createContainer('data')
  const [key, cert] = [certificates.key, certificates.certificate].map((path) => readFileSync(path))
  tokens = createServer({ key: key!, cert: cert! }, (request, answer) => {
    void (async () => {
      const form = new URLSearchParams(await text(request))
      asked.push(form)
      const isKnown =
        form.get('client_id') === clientId &&
        (form.get('client_secret') === clientSecret || (await isSigned(form.get('client_assertion'))))
      const body = isKnown
        ? { access_token: await tokenOf(), expires_in: expiresIn, token_type: 'Bearer' }
        : { error: 'invalid_client', error_description: `not ${form.get('client_secret')}` }
      answer.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })()
  }).listen(0, '127.0.0.1')
  await once(tokens, 'listening')
  tokenEndpoint = `https://127.0.0.1:${(tokens.address() as AddressInfo).port}/tenant/oauth2/token`
})
afterAll(async () => {
  await azurite?.[Symbol.asyncDispose]()
  tokens?.closeAllConnections()
  tokens?.close()
  rmSync(folder, { recursive: true })
})
afterEach(() => {
  vi.useRealTimers()
})
beforeEach(() => {
  asked = []
  expiresIn = 3_600
})

const tokenOf = () =>
  new SignJWT()
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer('https://sts.windows.net/tenant/')
    .setAudience('https://storage.azure.com')
    .setIssuedAt(begun)
    .setNotBefore(begun)
    .setExpirationTime('1h')
    .sign(randomBytes(32))

function withoutSecret(options: Options): Options {
  const { oauthClientSecret: _, ...rest } = options
  return rest
}

const newerEndpoint = () => tokenEndpoint.replace('oauth2/', 'oauth2/v2.0/')

/** As Microsoft's documentation has it: by the key of the certificate, whose digest is in the header, for this endpoint. */
async function isSigned(assertion: string | null): Promise<boolean> {
  if (assertion === null) return false
  const certificate = new X509Certificate(readFileSync(join(folder, 'client.pem')))
  const { protectedHeader, payload } = await jwtVerify(assertion, certificate.publicKey, {
    audience: [tokenEndpoint, newerEndpoint()],
    issuer: clientId,
    subject: clientId,
    algorithms: ['PS256'],
    requiredClaims: ['jti', 'nbf', 'exp', 'iat'],
  })
  const digest = createHash('sha256').update(certificate.raw).digest('base64url')
  return protectedHeader['x5t#S256'] === digest && payload.exp! - payload.nbf! <= 600
}

/** A certificate and its key, as PEM and as P12 files with and without a password. */
function makeClientCertificate() {
  const path = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const [key, certificate] = [path('client-key.pem'), path('client.pem')]
  const subject = ['-subj', '/CN=mover', '-days', '2']
  openssl('req', '-x509', '-newkey', 'rsa:2048', '-noenc', ...subject, '-keyout', key, '-out', certificate)
  const p12 = (password: string, ...more: string[]) => {
    const out = path('client.p12')
    const from = ['-inkey', key, '-in', certificate]
    openssl('pkcs12', '-export', ...from, '-out', out, '-passout', `pass:${password}`, ...more)
    return readFileSync(out).toString('base64')
  }
  const locked = openssl('pkcs8', '-topk8', '-in', key, '-passout', 'pass:secret', '-v2', 'aes256').toString()
  const [keyPem, pem] = [key, certificate].map((file) => readFileSync(file, 'utf8'))
  return { keyPem: keyPem!, pem: pem!, locked, p12 }
}

function open(
  changes: Partial<Options> = {},
  bounds?: StoreBounds,
  change: (options: Options) => Options = (options) => options,
): Adls2Driver & AsyncDisposable {
  const options = change({
    accountName: azurite.account,
    containerName: 'data',
    endpoint: azurite.endpoint,
    oauthClientId: clientId,
    oauthClientSecret: clientSecret,
    oauthClientEndpoint: tokenEndpoint,
    additionalProperties: { 'fs.azure.io.retry.max.retries': '0', 'fs.azure.account.hns.enabled': 'false' },
    ...changes,
  })
  const driver = new Adls2Driver(options, bounds)
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
}
const at = (path: string) => Buffer.from(path)

test('a service principal reads, writes, lists and removes, by one token', async () => {
  await using driver = open()
  await driver.probe(never)
  await driver.makeFolder(at('folder'), { mode: 0o750 })
  const names = Array.from({ length: 20 }, (_, index) => `folder/${index}`)
  await Promise.all(names.map((name) => driver.put(at(name), at(name), { modifiedMs: 1_600_000_000_000 })))
  const entries = await listAll(driver, at('folder'))
  expect(entries.map(({ name }) => `folder/${name.toString()}`).toSorted()).toEqual(names.toSorted())
  const large = pattern(3 * 2 ** 20)
  const upload = await driver.beginUpload(at('large'), { sizeBytes: large.length, tag: 't', attributes: {} })
  await driver.writePart(upload, 0, 0, bodyOf(large))
  await driver.commitUpload(upload, 1, {})
  expect((await contentOf(driver, at('large'))).equals(large)).toBe(true)
  expect(await driver.remove(at('large'))).toBe(true)
  expect(asked.map((form) => form.get('resource'))).toEqual(['https://storage.azure.com'])
})

test('the queue of events is read by a token, too', async () => {
  await using queues = await startAzuriteQueues(azurite, { certificates })
  const eventQueue = `${queues.url}/changes`
  await using driver = open({ eventQueue })
  await expect(driver.changes?.check?.(never)).rejects.toThrow(/create the queue or correct eventQueue/)
  const created = await fetch(eventQueue, {
    method: 'PUT',
    headers: { authorization: `Bearer ${await tokenOf()}`, 'x-ms-version': '2021-12-02' },
  })
  expect(created.status).toBe(201)
  expect(await driver.changes?.check?.(never)).toBe(`queue ${eventQueue}`)
  expect(asked.length).toBeGreaterThan(0)
})

test('the change feed of the account is read by a token, too', async () => {
  await using driver = open({ changeFeed: true })
  await expect(driver.changes?.check?.(never)).rejects.toThrow(/--enable-change-feed true/)
  await azurite.createContainer('$blobchangefeed')
  expect(await driver.changes?.check?.(never)).toMatch(/^blob change feed of account .*, which is empty$/)
})

test('the newer version of the endpoint is asked in its words', async () => {
  await using driver = open({ oauthClientEndpoint: newerEndpoint() })
  await driver.probe(never)
  expect(asked.map((form) => [form.get('scope'), form.get('resource')])).toEqual([
    ['https://storage.azure.com/.default', null],
  ])
})

test('a token that is over soon is not used again', async () => {
  expiresIn = 60
  await using driver = open()
  await driver.probe(never)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 40_000 })
  await driver.probe(never)
  expect(asked).toHaveLength(2)
})

test('another secret is refused, and no message has it', async () => {
  await using driver = open({ oauthClientSecret: 'top-secret' })
  const probed = driver.probe(never)
  expect(await failureOf(probed)).toBe('refused')
  await expect(probed).rejects.toThrow(/gave no token: 401 invalid_client/)
  await expect(probed).rejects.not.toThrow(/top-secret/)
})

test('a service principal with a certificate is let in, by PEM and by P12, at both versions', async () => {
  const { keyPem, pem, locked, p12 } = makeClientCertificate()
  const ways: Partial<Options>[] = [
    { oauthClientCertificate: `${keyPem}${pem}` },
    { oauthClientCertificate: `${pem}${keyPem}`.replaceAll('\n', '\\n') },
    { oauthClientCertificate: `${locked}${pem}`, oauthClientCertificatePassword: 'secret' },
    { oauthClientCertificate: p12('') },
    { oauthClientCertificate: p12('secret'), oauthClientCertificatePassword: 'secret' },
    { oauthClientCertificate: `${keyPem}${pem}`, oauthClientEndpoint: newerEndpoint() },
  ]
  for (const way of ways) {
    await using driver = open(way, undefined, withoutSecret)
    await driver.probe(never)
  }
  expect(asked.map((form) => [form.get('client_assertion_type'), form.get('client_secret')])).toEqual(
    ways.map(() => ['urn:ietf:params:oauth:client-assertion-type:jwt-bearer', null]),
  )
})

test('a certificate that cannot be used is refused by name, and no message has the key', async () => {
  const { keyPem, pem, locked, p12 } = makeClientCertificate()
  const { keyPem: otherKey } = makeClientCertificate()
  const refused = (oauthClientCertificate: string, changes: Partial<Options> = {}) =>
    expect(() => open({ oauthClientCertificate, ...changes }, undefined, withoutSecret))
  refused(pem).toThrow(/oauthClientCertificate has no private key/)
  refused(keyPem).toThrow(/oauthClientCertificate has no certificate/)
  refused(`${otherKey}${pem}`).toThrow(/not that of the certificate/)
  refused(`${locked}${pem}`).toThrow(/give oauthClientCertificatePassword/)
  refused(p12('secret')).toThrow(/oauthClientCertificatePassword is not its password/)
  refused('bm90aGluZw==').toThrow(/neither PEM nor a P12 file/)
  expect(() => open({ oauthClientCertificate: `${keyPem}${pem}` })).toThrow(/besides oauthClientCertificate/)
  expect(() => open({}, undefined, withoutSecret)).toThrow(/oauthClientSecret is missing/)
})

test('an address that is not there is unreachable, and one without TLS is refused', async () => {
  await using driver = open({ oauthClientEndpoint: 'https://127.0.0.1:1/oauth2/token' })
  expect(await failureOf(driver.probe(never))).toBe('unreachable')
  expect(() => open({ oauthClientEndpoint: 'http://127.0.0.1:1/oauth2/token' })).toThrow(
    /oauthClientEndpoint is not https/,
  )
})

test('tokens are asked for outside of inner networks only, unless that is allowed', async () => {
  const { hostname, host } = new URL(tokenEndpoint)
  const boundsOf = (hosts: string[]) => createBounds([], { roots: undefined, hosts })
  await using closed = open({}, boundsOf([azurite.endpoint]))
  expect(() => closed.requirePlace()).toThrow(/oauthClientEndpoint .*storeHosts/)
  await using allowed = open({}, boundsOf([azurite.endpoint, host]))
  allowed.requirePlace()
  await allowed.probe(never)
  await using elsewhere = open(
    { oauthClientEndpoint: `https://localhost:1/${hostname}` },
    boundsOf([azurite.endpoint]),
  )
  expect(() => elsewhere.requirePlace()).toThrow(/oauthClientEndpoint/)
})

test('with a token that is not taken any more, a request is made once more with another one', async () => {
  const seen: (string | undefined)[] = []
  const server = createPlainServer((request, answer) => {
    seen.push(request.headers.authorization)
    const status = seen.length === 1 ? 401 : 200
    answer.writeHead(status, { 'x-ms-request-id': 'x', 'x-ms-version': '2021-12-02' }).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `127.0.0.1:${(server.address() as AddressInfo).port}`
  await using driver = open({ endpoint, insecure: true })
  await driver.probe(never)
  expect(seen).toHaveLength(2)
  expect(new Set(seen).size).toBe(2)
  server.closeAllConnections()
  server.close()
})
