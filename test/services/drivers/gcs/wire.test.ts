import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { GcsDriver } from '../../../../services/drivers/gcs/gcs.ts'
import { failureOf, listAll, never } from '../../../conformance/driver-store.ts'

/** A driver on a server that answers as it is told; both are gone with the scope. */
async function against(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const driver = new GcsDriver({
    bucketName: 'data',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    additionalProperties: { 'fs.gs.auth.type': 'UNAUTHENTICATED', 'fs.gs.http.max.retry': '0' },
  })
  return Object.assign(driver, {
    [Symbol.asyncDispose]: async () => {
      await driver.close()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

const json =
  (status: number, body: unknown): RequestListener =>
  (_request, answer) =>
    void answer.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const object = { kind: 'storage#object', name: 'file', size: '4', generation: '1', metageneration: '1' }
const at = Buffer.from('file')

test.each([
  [200, { secret: 'of an inner service' }, 'unreachable'],
  [403, { secret: 'of an inner service' }, 'permission'],
  [404, { error: 'of an inner service' }, 'unreachable'],
])('%d with other JSON is not told, and no such service', async (status, body, failure) => {
  await using driver = await against(json(status, body))
  const probed = driver.probe(new AbortController().signal)
  await expect(probed).rejects.toThrow(/127\.0\.0\.1:\d+ is no Cloud Storage endpoint that can be reached/)
  await expect(probed).rejects.not.toThrow(/inner service/)
  expect(await failureOf(driver.stat(at))).toBe(failure)
})

test.each([
  [{ error: { message: 'slow', errors: [{ reason: 'rateLimitExceeded' }] } }, 403, 'throttled'],
  [{ error: { message: 'no', errors: [{ reason: 'forbidden' }] } }, 403, 'permission'],
  [{ error: { message: 'who', errors: [{ reason: 'authError' }] } }, 401, 'refused'],
  [
    { error: { message: 'The specified bucket does not exist.', errors: [{ reason: 'notFound' }] } },
    404,
    'gone',
  ],
])('%j is %d, and %s to the engine', async (body, status, failure) => {
  await using driver = await against(json(status, body))
  expect(await failureOf(driver.stat(at))).toBe(failure)
})

test.each([
  ['no size', { ...object, size: 'many' }],
  ['no generation', { ...object, generation: '1/../2' }],
  ['no name', { ...object, name: 7 }],
])('an object with %s is none', async (_name, body) => {
  await using driver = await against(json(200, body))
  expect(await failureOf(driver.stat(at))).toBe('io')
})

test('what has another digest than what was sent is corrupt', async () => {
  await using driver = await against((request, answer) => {
    request.resume()
    const body = request.method === 'GET' ? { kind: 'storage#objects' } : { ...object, crc32c: 'AAAAAA==' }
    json(200, body)(request, answer)
  })
  expect(await failureOf(driver.put(at, Buffer.from('1234'), {}))).toBe('corrupt')
})

test('folders without a marker cost no request, but where one may be on another page', async () => {
  const asked: string[] = []
  await using driver = await against((request, answer) => {
    const url = new URL(request.url ?? '', 'http://store')
    asked.push(url.searchParams.get('pageToken') ?? url.pathname)
    const isListing = url.pathname.endsWith('/o')
    if (!isListing) return json(404, { error: { errors: [{ reason: 'notFound' }] } })(request, answer)
    const isFirst = !url.searchParams.has('pageToken')
    const page = isFirst && url.searchParams.get('prefix') === 'paged/' ? { nextPageToken: 'next' } : {}
    const names = isFirst ? ['a/', 'b/', 'c/'] : ['d/', 'e/']
    const prefixes = names.map((name) => `${url.searchParams.get('prefix')}${name}`)
    json(200, { kind: 'storage#objects', prefixes, ...page })(request, answer)
  })
  expect(await listAll(driver, Buffer.from('whole'))).toHaveLength(3)
  expect(asked.splice(0)).toEqual(['/storage/v1/b/data/o'])
  expect(await listAll(driver, Buffer.from('paged'))).toHaveLength(5)
  const object = (name: string) => `/storage/v1/b/data/o/${encodeURIComponent(name)}`
  expect(asked).toEqual(['/storage/v1/b/data/o', object('paged/c/'), 'next', object('paged/d/')])
})

test('metadata of others that are no attributes are left alone', async () => {
  const metadata = {
    mtime: 'yesterday',
    'goog-reserved-posix-mode': '999',
    'goog-reserved-posix-uid': '-1',
    x: 'y',
  }
  const timeCreated = '2026-01-02T03:04:05.678Z'
  await using driver = await against(json(200, { ...object, metadata, timeCreated, updated: timeCreated }))
  expect(await driver.attributesOf(at)).toEqual({ modifiedMs: Date.parse(timeCreated) })
})

test('how long a bucket keeps what is removed is told', async () => {
  const softDeletePolicy = { retentionDurationSeconds: '604800' }
  await using driver = await against(json(200, { kind: 'storage#bucket', softDeletePolicy }))
  expect(await driver.describe(never)).toMatch(/is kept, and billed, for 604800 s more \(soft delete\)/)
  await using other = await against(
    json(200, { kind: 'storage#bucket', softDeletePolicy: 'long', versioning: 7 }),
  )
  expect(await other.describe(never)).toBeUndefined()
})

test('an empty page says nothing about whether a folder is there', async () => {
  await using driver = await against((request, answer) => {
    const url = new URL(request.url ?? '', 'http://service')
    const isListing = url.pathname.endsWith('/o')
    const isLast = url.searchParams.get('pageToken') === 'a'
    const page = isLast ? { items: [{ ...object, name: 'folder/a' }] } : { nextPageToken: 'a' }
    const missing = { error: { message: 'No such object', errors: [{ reason: 'notFound' }] } }
    json(isListing ? 200 : 404, isListing ? { kind: 'storage#objects', ...page } : missing)(request, answer)
  })
  expect(await driver.stat(Buffer.from('folder'))).toMatchObject({ type: 'folder' })
})

test.each<[string, Record<string, string>, string]>([
  ['a page of somebody else', { 'content-type': 'text/html' }, 'unreachable'],
  ['another version', { 'x-goog-generation': '2', 'content-range': 'bytes 1-3/4' }, 'changed'],
  ['another range', { 'x-goog-generation': '1', 'content-range': 'bytes 0-2/4' }, 'changed'],
])('%s of the right length is not taken for what was asked for', async (_what, headers, failure) => {
  await using driver = await against((request, answer) => {
    if (request.headers.range === 'bytes=1-3') answer.writeHead(206, headers).end('abc')
    else if (request.url?.includes('alt=media'))
      answer.writeHead(206, { 'x-goog-generation': '1', 'content-range': 'bytes 0-0/4' }).end('x')
    else json(200, object)(request, answer)
  })
  const file = await driver.open(at, { contentLater: true })
  const taken: string[] = []
  expect(await failureOf(file.pour(1, 3, (bytes) => void taken.push(bytes.toString())))).toBe(failure)
  expect(taken).toEqual([])
})

test.each([
  ['another version', '2', 'bytes 0-3/4'],
  ['another range', '1', 'bytes 2-5/8'],
  ['less than there is', '1', 'bytes 0-3/8'],
])('the beginning of a file is not taken from an answer with %s', async (_what, generation, range) => {
  const asked: string[] = []
  await using driver = await against((request, answer) => {
    const { searchParams } = new URL(request.url ?? '', 'http://service')
    if (searchParams.get('alt') !== 'media') return json(200, object)(request, answer)
    asked.push(searchParams.get('generation') ?? 'any')
    answer.writeHead(206, { 'x-goog-generation': generation, 'content-range': range }).end('0123')
  })
  expect(await failureOf(driver.open(at))).toBe('changed')
  expect(asked).toEqual(['any', '1'])
})

test('a file is created only where none is', async () => {
  await using driver = await against((request, answer) => {
    request.resume()
    if (request.url?.includes('ifGenerationMatch=0'))
      json(412, { error: { message: 'no', errors: [{ reason: 'conditionNotMet' }] } })(request, answer)
    else json(200, { kind: 'storage#objects' })(request, answer)
  })
  expect(await failureOf(driver.putNew!(at, Buffer.from('content'), {}))).toBe('changed')
})
