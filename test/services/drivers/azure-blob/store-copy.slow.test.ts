import type { IncomingMessage } from 'node:http'
import { beforeAll, expect, test } from 'vitest'
import { SharedKeySigner, TokenAuthorizer } from '../../../../services/drivers/azure-blob/signing.ts'
import { settings } from '../../../../subjects/access/settings.ts'
import { filesystems } from '../../../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../../../subjects/kit/names.ts'
import { contentOf, failureOf, pattern } from '../../../conformance/driver-store.ts'
import { azuriteOptions, openAzure } from '../../../support/azure-driver.ts'
import { type Azurite, containerName, sharedAzurite } from '../../../support/azurite.ts'
import { type Interference, startInterferingProxy } from '../../../support/interfering-proxy.ts'
import { addLocal, createFolder, migrate, verify } from '../../../support/migrations.ts'
import { startTestPlatform } from '../../../support/platform.ts'
import { createSample, sampleFiles } from '../../../support/sample.ts'

/** Blobs go from a container to another one of the account at the service itself. */
let azurite: Azurite
beforeAll(async () => {
  azurite = await sharedAzurite()
})

const MiB = 2 ** 20
const at = (path: string) => Buffer.from(path)

async function createContainer(): Promise<string> {
  const name = containerName()
  await azurite.createContainer(name)
  return name
}

const isListing = ({ url = '' }: IncomingMessage) => /[?&](?:restype|comp)=/.test(url)
/** Whether content is asked for, or comes with a request. */
const hasContent = (request: IncomingMessage): boolean =>
  (request.method === 'GET' && !isListing(request)) ||
  (request.method === 'PUT' && Number(request.headers['content-length'] ?? 0) > 0)

/** What is between the drivers and the service, and counts; gone with the scope. */
async function startCounting(
  onCopy: (request: IncomingMessage) => Interference | Promise<Interference> = () => undefined,
) {
  const counted = { content: 0, copies: 0 }
  const proxy = await startInterferingProxy(azurite.endpoint, (request) => {
    if (hasContent(request)) counted.content++
    if (request.headers['x-ms-copy-source'] === undefined) return undefined
    counted.copies++
    return onCopy(request)
  })
  return {
    counted,
    options: (name: string) => ({ ...azuriteOptions(azurite, name), endpoint: proxy.endpoint }),
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  }
}

const notImplemented = {
  instead: {
    status: 501,
    headers: { 'x-ms-error-code': 'NotImplemented', 'x-ms-version': '2021-12-02' },
    body: Buffer.alloc(0),
  },
}

test('a migration between two containers of an account sends no content, but where the service copies none', async () => {
  await using platform = await startTestPlatform()
  await platform.call(settings.put, { storeHosts: [loopback] })
  using folder = createFolder('from')
  createSample(folder.from, 6 * MiB)
  const [first, second, third] = [await createContainer(), await createContainer(), await createContainer()]
  await addLocal(platform, 'from', 'source', folder.from)
  await using copying = await startCounting()
  await using refusing = await startCounting(() => notImplemented)
  for (const [fileSystemId, role, options] of [
    ['first', 'target', azuriteOptions(azurite, first)],
    ['source', 'source', copying.options(first)],
    ['target', 'target', copying.options(second)],
    ['refusing', 'source', refusing.options(first)],
    ['sent', 'target', refusing.options(third)],
  ] as const)
    await platform.call(filesystems['create-adls2-shared-key'], { fileSystemId, role, ...options })
  await migrate(platform, { source: 'from', target: 'first', migrationId: 'first' })
  for (const [source, target] of [
    ['source', 'target'],
    ['refusing', 'sent'],
  ] as const) {
    const { failures, progress } = await migrate(platform, { source, target, migrationId: target })
    expect(failures).toEqual([])
    expect(progress).toMatchObject({ filesMigrated: sampleFiles })
  }
  // The empty one has nothing to copy.
  expect(copying.counted.copies).toBe(sampleFiles - 1)
  expect(copying.counted.content).toBe(0)
  expect(refusing.counted.content).toBeGreaterThanOrEqual(sampleFiles)
  for (const target of ['target', 'sent'])
    expect(await verify(platform, target, 'digest')).toMatchObject({
      totalDiscrepancies: 0,
      filesOnTarget: sampleFiles,
    })
})

test('a copy is of the version that was opened, has the attributes that are given, and replaces files alone', async () => {
  await using service = await startCounting()
  await using source = openAzure(service.options(await createContainer()))
  const target = await createContainer()
  await using to = openAzure(service.options(target))
  const copy = to.copyWithin(source)!
  await source.put(at('a b/+ü'), at('content'), { modifiedMs: 1_600_000_000_000, mode: 0o640 })
  const file = await source.open(at('a b/+ü'), { contentLater: true })
  for (const modifiedMs of [1_700_000_000_000, 1_800_000_000_000]) {
    expect(await copy.file(file, at('copied ü'), { modifiedMs })).toEqual([])
    expect((await contentOf(to, at('copied ü'))).toString()).toBe('content')
    // As after `put`: what is not given is not there.
    expect(await to.attributesOf(at('copied ü'))).toEqual({ modifiedMs })
  }
  await to.makeFolder(at('folder'), {})
  expect(await failureOf(copy.file(file, at('folder'), { modifiedMs: 0 }))).toBe('unsupported')
  expect((await to.stat(at('folder')))?.type).toBe('folder')
  await source.put(at('a b/+ü'), at('changed'), {})
  expect(await failureOf(copy.file(file, at('other'), { modifiedMs: 0 }))).toBe('changed')
  await source.remove(at('a b/+ü'))
  expect(await failureOf(copy.file(file, at('other'), { modifiedMs: 0 }))).toBe('gone')
  expect(await to.stat(at('other'))).toBeUndefined()
})

test('the service gets leave to read just the blob that it copies', async () => {
  let source = ''
  await using service = await startCounting(({ headers }) => {
    source = String(headers['x-ms-copy-source'])
    return undefined
  })
  const name = await createContainer()
  await using from = openAzure(service.options(name))
  await using to = openAzure(service.options(await createContainer()))
  await from.put(at('a ü+b'), at('content'), {})
  await from.put(at('other'), at('secret'), {})
  await to.copyWithin(from)!.file(await from.open(at('a ü+b')), at('copied'), { modifiedMs: 0 })
  const direct = new URL(source)
  direct.host = azurite.endpoint
  expect(await (await fetch(direct)).text()).toBe('content')
  for (const [what, change] of [
    ['another blob', (url: URL) => (url.pathname = url.pathname.replace(/[^/]*$/, 'other'))],
    ['write', (url: URL) => url.searchParams.set('sp', 'rw')],
    ['later', (url: URL) => url.searchParams.set('se', '2099-01-01T00:00:00Z')],
  ] as const) {
    const url = new URL(direct)
    change(url)
    expect((await fetch(url)).status, what).toBe(403)
  }
  const minutes = (Date.parse(direct.searchParams.get('se')!) - Date.now()) / 60_000
  expect(minutes).toBeGreaterThan(10)
  expect(minutes).toBeLessThan(16)
})

test('containers of other accounts and services are not copied from', async () => {
  const options = azuriteOptions(azurite, await createContainer())
  await using to = openAzure(options)
  await using otherAccount = openAzure({ ...options, accountName: 'another' })
  await using otherService = openAzure({ ...options, endpoint: '127.0.0.1:1' })
  expect(to.copyWithin(otherAccount)).toBeUndefined()
  expect(to.copyWithin(otherService)).toBeUndefined()
})

/** "Put Block From URL", which Azurite does not have: its blocks are put by Microsoft's client. */
function blockCopyDouble(ranges: string[]) {
  return async ({ headers, url = '' }: IncomingMessage): Promise<Interference> => {
    const { pathname, searchParams } = new URL(url, 'http://host')
    const id = searchParams.get('blockid')
    if (id === null) return undefined
    const from = new URL(String(headers['x-ms-copy-source']))
    from.host = azurite.endpoint
    const range = String(headers['x-ms-source-range'])
    ranges.push(range)
    const answer = await fetch(from, {
      headers: { range, 'if-match': String(headers['x-ms-source-if-match']) },
    })
    const failed = (status: number, code: string): Interference => ({
      instead: { status, headers: { 'x-ms-error-code': code, 'x-ms-version': '1' }, body: Buffer.alloc(0) },
    })
    if (answer.status === 412) return failed(412, 'SourceConditionNotMet')
    if (answer.status !== 206) return failed(answer.status, 'CannotVerifyCopySource')
    const content = Buffer.from(await answer.arrayBuffer())
    const [, , container = '', ...blob] = pathname.split('/').map(decodeURIComponent)
    const client = azurite.service.getContainerClient(container).getBlockBlobClient(blob.join('/'))
    await client.stageBlock(id, content, content.length)
    return { instead: { status: 201, headers: { 'x-ms-version': '1' }, body: Buffer.alloc(0) } }
  }
}

test('parts are copied as ranges of the version that was opened, or sent where the service copies none', async () => {
  const ranges: string[] = []
  await using service = await startCounting(blockCopyDouble(ranges))
  await using refusing = await startCounting(() => notImplemented)
  const name = await createContainer()
  await using from = openAzure(service.options(name))
  await using to = openAzure(service.options(await createContainer()))
  const content = pattern(3 * MiB)
  await from.put(at('large'), content, {})
  const file = await from.open(at('large'), { contentLater: true })
  const upload = await to.beginUpload(at('large'), { sizeBytes: content.length, tag: 'test', attributes: {} })
  const copy = to.copyWithin(from)!
  const sizes = [2 * MiB, MiB]
  for (const [index, length] of sizes.entries())
    expect(await copy.part(file, { upload, index, offset: index * 2 * MiB, length })).toBe(true)
  await to.commitUpload(upload, sizes.length, { modifiedMs: 0 })
  expect(ranges).toEqual([`bytes=0-${2 * MiB - 1}`, `bytes=${2 * MiB}-${3 * MiB - 1}`])
  expect((await contentOf(to, at('large'))).equals(content)).toBe(true)

  await using second = openAzure(refusing.options(name))
  await using there = openAzure(refusing.options(await createContainer()))
  const part = { upload, index: 0, offset: 0, length: MiB }
  expect(await there.copyWithin(second)!.part(await second.open(at('large')), part)).toBe(false)
  await from.put(at('large'), at('other'), {})
  expect(await failureOf(copy.part(file, part))).toBe('changed')
})

test('a key signs a blob as documented, whatever its name', () => {
  const signer = new SharedKeySigner('account', Buffer.from('key').toString('base64'))
  const { query = '' } = signer.sourceAccess('container/a ü', Date.UTC(2026, 0, 1, 12))
  expect(Object.fromEntries(new URLSearchParams(query))).toEqual({
    sv: '2020-12-06',
    se: '2026-01-01T12:15:00Z',
    sr: 'b',
    sp: 'r',
    sig: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
  })
})

test('a token goes in a header of its own', async () => {
  const authorizer = new TokenAuthorizer({ get: async () => 'token' })
  expect(await authorizer.sourceAccess()).toEqual({ authorization: 'Bearer token' })
})
