import { createServer } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/driver.ts'
import { maxBlobBytes } from '../../../../services/drivers/azure-blob/upload.ts'
import { GantryError } from '../../../../subjects/kit/errors.ts'
import { bodyOf, contentOf, failureOf, never } from '../../../conformance/driver-store.ts'
import { driverConformance } from '../../../conformance/driver.ts'
import { azuriteOptions, openAzure } from '../../../support/azure-driver.ts'
import { type Azurite, containerName, sharedAzurite } from '../../../support/azurite.ts'

driverConformance('adls2', async () => {
  const azurite = await sharedAzurite()
  const name = containerName()
  await azurite.createContainer(name)
  return {
    openDriver: () => openAzure(azuriteOptions(azurite, name)),
    openMissing: () => openAzure(azuriteOptions(azurite, containerName())),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
})

const container = containerName()
let azurite: Azurite
beforeAll(async () => {
  azurite = await sharedAzurite()
  await azurite.createContainer(container)
})
const options = () => azuriteOptions(azurite, container)
const opening = (properties: Record<string, string>) => () => openAzure(options(), properties)

const errorOf = (promise: Promise<unknown>): Promise<StoreError> =>
  promise.then(
    () => expect.unreachable('it did not fail'),
    (error: unknown) => (error instanceof StoreError ? error : expect.unreachable(String(error))),
  )

test('a wrong key is refused, and the message has the account and not the key', async () => {
  const sharedKey = Buffer.from('this is another key').toString('base64')
  await using driver = openAzure({ ...options(), sharedKey })
  const error = await errorOf(driver.probe(never))
  expect(error.failure).toBe('refused')
  expect(error.message).toContain(azurite.account)
  expect(error.message).toContain('sharedKey')
  expect(error.message).not.toContain(sharedKey)
  expect(await failureOf(driver.put(Buffer.from('a'), Buffer.from('b'), {}))).toBe('refused')
})

test('a container that is missing is gone, by name', async () => {
  await using driver = openAzure({ ...options(), containerName: 'not-there' })
  const error = await errorOf(driver.probe(never))
  expect(error.failure).toBe('gone')
  expect(error.message).toContain('not-there')
  expect(error.message).toContain('containerName')
})

test('a port where nobody listens is unreachable, at once', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  const port = typeof address === 'object' && address !== null ? address.port : 0
  await using driver = openAzure({ ...options(), endpoint: `127.0.0.1:${port}` })
  const startedMs = performance.now()
  const error = await errorOf(driver.probe(never))
  expect(performance.now() - startedMs).toBeLessThan(2_000)
  expect(error.failure).toBe('unreachable')
  // Callers of a probe are not told what is there.
  expect(error.message).not.toContain('ECONNREFUSED')
  expect(error.detail).toContain('ECONNREFUSED')
})

test('a host name that does not exist is unreachable', async () => {
  const patience = { 'fs.azure.http.connection.timeout': '1000' }
  await using driver = openAzure({ ...options(), endpoint: 'no-such-host.invalid' }, patience)
  expect(await failureOf(driver.probe(never))).toBe('unreachable')
})

test('TLS to a port that speaks plain HTTP is unreachable', async () => {
  await using driver = openAzure({ ...options(), insecure: false })
  expect(await failureOf(driver.probe(never))).toBe('unreachable')
})

test('a property that is not honoured, or has no lawful value, is named', () => {
  expect(opening({ 'fs.azure.page.size': 'top secret' })).toThrow(GantryError)
  expect(opening({ 'fs.azure.page.size': 'top secret' })).toThrow(/fs\.azure\.page\.size is not honoured/)
  expect(opening({ 'fs.azure.page.size': 'top secret' })).not.toThrow(/top secret/)
  expect(opening({ 'fs.azure.write.request.size': '1' })).toThrow(/request\.size must be .* from 16384 to/)
})

test.each([
  ['fs.azure.account.key.lake.dfs.core.windows.net', /use instead: sharedKey/],
  ['fs.azure.account.oauth2.client.secret', /use instead: oauthClientSecret/],
  ['fs.azure.account.oauth2.client.endpoint.lake', /use instead: oauthClientEndpoint/],
  ['fs.azure.account.oauth2.refresh.token.endpoint', /use instead: oauthClientEndpoint/],
  ['fs.azure.sas.fixed.token.data.lake.dfs.core.windows.net', /use instead: sasToken/],
])('the credential %s is refused by name, with the option to use', (name, instead) => {
  expect(opening({ [name]: 'top secret' })).toThrow(instead)
  expect(opening({ [name]: 'top secret' })).not.toThrow(/top secret/)
})

test('properties of Hadoop that change nothing are taken', async () => {
  await using driver = opening({
    'fs.azure.account.auth.type': 'SharedKey',
    'fs.azure.account.auth.type.lake.dfs.core.windows.net': 'SharedKey',
    'fs.azure.createRemoteFileSystemDuringInitialization': 'true',
  })()
  await driver.probe(never)
})

test('a property has its effect', async () => {
  const properties = { 'fs.azure.write.request.size': '65536', 'fs.azure.concurrentRequestCount.out': '3' }
  await using driver = openAzure(options(), properties)
  expect(driver.capabilities).toMatchObject({ maxPutBytes: 65_536, concurrency: 3 })
  expect(driver.capabilities.parts.sizeFor(65_537)).toBe(65_536)
})

test('a file within the limit of 50,000 parts has parts that are large enough', async () => {
  await using driver = openAzure(options())
  for (const sizeBytes of [1, 2 ** 39, 2 ** 40, 2 ** 45, maxBlobBytes]) {
    expect(Math.ceil(sizeBytes / driver.capabilities.parts.sizeFor(sizeBytes))).toBeLessThanOrEqual(50_000)
    expect(driver.capabilities.parts.sizeFor(sizeBytes)).toBeLessThanOrEqual(4_000 * 2 ** 20)
    expect(driver.refuses(Buffer.from('big'), { type: 'file', sizeBytes })).toBeUndefined()
  }
  const tooLarge = maxBlobBytes + 1
  expect(driver.refuses(Buffer.from('big'), { type: 'file', sizeBytes: tooLarge })).toMatch(/190\.7 TiB/)
  expect(
    await failureOf(
      driver.beginUpload(Buffer.from('big'), { sizeBytes: tooLarge, tag: 'test-tag', attributes: {} }),
    ),
  ).toBe('too-large')
})

test('names beyond the limits of Azure are refused with the reason', async () => {
  await using driver = openAzure(options())
  const reasons: [string, RegExp | undefined][] = [
    ['a'.repeat(1_024), undefined],
    ['ä'.repeat(1_024), undefined],
    ['a'.repeat(1_025), /1025 characters, Azure's limit is 1024/],
    ['🙂'.repeat(513), /1026 characters/],
    ['a/'.repeat(253) + 'a', undefined],
    ['a/'.repeat(254) + 'a', /255 segments, Azure's limit is 254/],
    ['a/b./c', /ends with a dot/],
    ['a/b/c.', /ends with a dot/],
    ['.a/b.c', undefined],
    ['a\\b', /backslash/],
    ['a\u0007b', /U\+0007/],
    ['a\uffffb', /U\+FFFF/],
  ]
  for (const [name, reason] of reasons) {
    const given = driver.refuses(Buffer.from(name), { type: 'file', sizeBytes: 1 })
    if (reason === undefined) expect(given, name).toBeUndefined()
    else expect(given).toMatch(reason)
  }
  expect(driver.refuses(Buffer.from([0x61, 0xff]), { type: 'file', sizeBytes: 1 })).toMatch(/UTF-8/)
})

test('a path in a message is readable and has no control characters', async () => {
  await using driver = openAzure(options())
  const error = await errorOf(driver.open(Buffer.from('folder/new\nline \u202e100%')))
  expect(error.failure).toBe('gone')
  expect(error.message).toContain('/folder/new%0Aline %E2%80%AE100%25')
})

test('one driver reads what another process wrote in parts of a chosen size', async () => {
  await using driver = openAzure(options(), { 'fs.azure.write.request.size': '16384' })
  await using small = openAzure(options(), { 'fs.azure.read.request.size': '16384' })
  const content = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7 + (i >> 8)) & 0xff))
  const path = Buffer.from('in parts')
  const upload = await driver.beginUpload(path, {
    sizeBytes: content.length,
    tag: 'test-tag',
    attributes: {},
  })
  const count = Math.ceil(content.length / 16_384)
  for (let index = count - 1; index >= 0; index--) {
    const offset = index * 16_384
    await driver.writePart(upload, index, offset, bodyOf(content.subarray(offset, offset + 16_384)))
  }
  await driver.commitUpload(upload, count, {})
  expect((await contentOf(small, path)).equals(content)).toBe(true)
})
