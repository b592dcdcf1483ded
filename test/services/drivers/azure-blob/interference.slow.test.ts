import type { IncomingMessage } from 'node:http'
import { beforeAll, expect, test } from 'vitest'
import { bodyPieceBytes, StoreError } from '../../../../services/drivers/contract/driver.ts'
import { bodyOf, contentOf, failureOf, listAll, pattern } from '../../../conformance/driver-store.ts'
import { azuriteOptions, openAzure } from '../../../support/azure-driver.ts'
import { type Azurite, containerName, sharedAzurite } from '../../../support/azurite.ts'
import { type Interference, startInterferingProxy } from '../../../support/interfering-proxy.ts'

/** What the Blob service may do by its own documentation, and Azurite never does: its answers are changed on the way. */

let azurite: Azurite
beforeAll(async () => {
  azurite = await sharedAzurite()
})

const path = (text: string) => Buffer.from(text)

/** A driver on a container of its own, with something between them. */
async function between(interfere: (request: IncomingMessage) => Interference | Promise<Interference>) {
  const name = containerName()
  await azurite.createContainer(name)
  const direct = openAzure(azuriteOptions(azurite, name))
  const proxy = await startInterferingProxy(azurite.endpoint, interfere)
  const properties = { 'fs.azure.io.retry.min.backoff.interval': '1' }
  const driver = openAzure({ ...azuriteOptions(azurite, name), endpoint: proxy.endpoint }, properties)
  return {
    driver,
    direct,
    [Symbol.asyncDispose]: async () => {
      await driver.close()
      await direct.close()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

/** Each listing has an empty page before its own, as that of a service which looked at a part of its index. */
function emptyPageFirst({ method, url = '' }: IncomingMessage): Interference {
  const query = new URL(url, 'http://host').searchParams
  if (method !== 'GET' || query.get('comp') !== 'list' || query.has('marker')) return undefined
  return {
    after: (answer) => {
      // Azurite takes any marker for the name to begin after.
      const page = '<EnumerationResults><Blobs /><NextMarker>!</NextMarker></EnumerationResults>'
      const body = Buffer.from(`<?xml version="1.0" encoding="utf-8"?>${page}`)
      return { ...answer, headers: { ...answer.headers, 'content-length': body.length }, body }
    },
  }
}

test('an empty page with a marker says nothing about what comes after it', async () => {
  await using store = await between(emptyPageFirst)
  const { driver, direct } = store
  await direct.put(path('folder/file'), path('x'), {})
  expect((await driver.stat(path('folder')))?.type).toBe('folder')
  expect(await driver.attributesOf(path('folder'))).toEqual({})
  expect(await failureOf(driver.open(path('folder')))).toBe('unsupported')
  expect(await failureOf(driver.remove(path('folder')))).toBe('unsupported')
  expect((await listAll(driver, path('folder'))).map(({ name }) => name.toString())).toEqual(['file'])
  await direct.makeFolder(path('marked'), {})
  await direct.put(path('marked/file'), path('x'), {})
  expect(await failureOf(driver.remove(path('marked')))).toBe('unsupported')
  expect((await direct.stat(path('marked')))?.type).toBe('folder')
  await direct.remove(path('marked/file'))
  expect(await driver.remove(path('marked'))).toBe(true)
})

const conflict = (code: string): Interference => ({
  instead: { status: 409, headers: { 'x-ms-error-code': code, 'content-length': 0 }, body: Buffer.alloc(0) },
})

test.each(['LeaseAlreadyPresent', 'OperationNotAllowed', 'BlobImmutableDueToPolicy'])(
  'a conflict that is another than that something stands there (%s) makes no folder and no file',
  async (code) => {
    await using store = await between(({ method }) => (method === 'PUT' ? conflict(code) : undefined))
    const { driver } = store
    const failures = [
      await failureOf(driver.makeFolder(path('folder'), {})),
      await failureOf(driver.put(path('file'), path('x'), {})),
    ]
    expect(new Set(failures)).toEqual(new Set([code === 'BlobImmutableDueToPolicy' ? 'permission' : 'io']))
  },
)

test('a folder of which the service said that it is there, and that is gone then, was not made', async () => {
  await using store = await between(({ method }) =>
    method === 'PUT' ? conflict('BlobAlreadyExists') : undefined,
  )
  expect(await failureOf(store.driver.makeFolder(path('folder'), {}))).toBe('io')
})

/** The server does the first request that fits, and its answer is lost. */
function loseFirst(fits: (request: IncomingMessage) => boolean) {
  let isLost = false
  return (request: IncomingMessage): Interference => {
    if (isLost || !fits(request)) return undefined
    isLost = true
    return 'lost'
  }
}

test('a change of attributes whose answer was lost has been made, and is no change by others', async () => {
  const isChange = ({ method, url = '' }: IncomingMessage) =>
    method === 'PUT' && url.includes('comp=metadata')
  await using store = await between(loseFirst(isChange))
  const { driver, direct } = store
  await direct.put(path('file'), path('x'), { modifiedMs: 1_000 })
  await driver.setAttributes(path('file'), { modifiedMs: 2_000 })
  expect((await direct.stat(path('file')))?.modifiedMs).toBe(2_000)
})

test('a change of attributes whose answer was lost, with another by others after it, is one by others', async () => {
  let changes = 0
  await using store = await between(async ({ method, url = '' }) => {
    if (method !== 'PUT' || !url.includes('comp=metadata')) return undefined
    if (++changes === 1) return 'lost'
    await store.direct.setAttributes(path('file'), { modifiedMs: 3_000 })
    return undefined
  })
  const { driver, direct } = store
  await direct.put(path('file'), path('x'), { modifiedMs: 1_000 })
  expect(await failureOf(driver.setAttributes(path('file'), { modifiedMs: 2_000 }))).toBe('changed')
  expect((await direct.stat(path('file')))?.modifiedMs).toBe(3_000)
})

test('a removal whose answer was lost has removed something', async () => {
  await using store = await between(loseFirst(({ method }) => method === 'DELETE'))
  const { driver, direct } = store
  await direct.put(path('file'), path('x'), {})
  expect(await driver.remove(path('file'))).toBe(true)
  expect(await direct.stat(path('file'))).toBeUndefined()
  expect(await driver.remove(path('file'))).toBe(false)
})

test('a new folder or file whose answer was lost is there', async () => {
  await using store = await between(loseFirst(({ method }) => method === 'PUT'))
  await store.driver.makeFolder(path('folder'), { mode: 0o755 })
  expect(await store.direct.stat(path('folder'))).toMatchObject({ type: 'folder', mode: 0o755 })
})

/** Answers each first try to write a block with something else. */
function eachBlock(first: Interference) {
  const tried = new Set<string>()
  return ({ method, url = '' }: IncomingMessage): Interference => {
    const id = new URL(url, 'http://host').searchParams.get('blockid')
    if (method !== 'PUT' || id === null || tried.has(id)) return undefined
    tried.add(id)
    return first
  }
}

const busy = { status: 503, headers: { 'x-ms-request-id': '1', 'x-ms-error-code': 'ServerBusy' } }

test.each([
  ['is lost', 'lost' as const],
  ['is that it is busy', { instead: { ...busy, body: Buffer.alloc(0) } }],
])('a part too large for memory is read in pieces, and once more when the answer %s', async (_, first) => {
  await using store = await between(eachBlock(first))
  const { driver } = store
  const content = pattern(2 * bodyPieceBytes + 1_001)
  const body = bodyOf(content)
  const asked: number[] = []
  const counted = {
    ...body,
    read: (offset: number, length: number) => {
      asked.push(length)
      return body.read(offset, length)
    },
  }
  const file = { sizeBytes: content.length, tag: 'test-tag', attributes: {} }
  const upload = await driver.beginUpload(path('large'), file)
  await driver.writePart(upload, 0, 0, counted)
  await driver.commitUpload(upload, 1, {})
  expect((await contentOf(driver, path('large'))).equals(content)).toBe(true)
  // For the digest, for the try that had no good answer, and for the one that had.
  expect(asked).toHaveLength(9)
  expect(Math.max(...asked)).toBe(bodyPieceBytes)
})

test('a part that cannot be read to its end while it is sent is not written, and nothing is tried again', async () => {
  await using store = await between(() => undefined)
  const { driver } = store
  const content = pattern(2 * bodyPieceBytes)
  const body = bodyOf(content)
  const changed = new StoreError('changed', 'the file is another one')
  let reads = 0
  // The first two are for the digest.
  const read = (offset: number, length: number) =>
    ++reads <= 3 ? body.read(offset, length) : Promise.reject(changed)
  const file = { sizeBytes: content.length, tag: 'test-tag', attributes: {} }
  const upload = await driver.beginUpload(path('large'), file)
  await expect(driver.writePart(upload, 0, 0, { ...body, read })).rejects.toBe(changed)
  expect(reads).toBe(4)
  expect(await driver.writtenParts(upload, content.length)).toEqual([])
})
