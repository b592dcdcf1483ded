import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { GcsDriver } from '../../../../services/drivers/gcs/gcs.ts'
import { failureOf } from '../../../conformance/driver-store.ts'

const object = (name: string, more: object = {}) => ({
  kind: 'storage#object',
  name,
  size: '4',
  generation: '7',
  metageneration: '1',
  crc32c: 'aaaaaa==',
  ...more,
})
const customerKey = Buffer.alloc(32, 1).toString('base64')

interface Rewrite {
  readonly token: string | null
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

/** Two buckets of a service that answers requests to rewrite as it is told; gone with the scope. */
async function buckets(answer: (asked: Rewrite) => { status?: number; body: unknown }, same = true) {
  const asked: Rewrite[] = []
  const server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? '', 'http://store')
      const bytes = await buffer(request)
      const send = (status: number, body: unknown) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      if (url.pathname.includes('/rewriteTo/')) {
        const one = {
          token: url.searchParams.get('rewriteToken'),
          url,
          headers: request.headers,
          body: JSON.parse(bytes.toString()) as unknown,
        }
        asked.push(one)
        const { status = 200, body } = answer(one)
        return send(status, body)
      }
      if (url.searchParams.get('alt') === 'media')
        return response.writeHead(200, { 'x-goog-generation': '7' }).end('1234')
      if (url.pathname.endsWith('/o')) return send(200, { kind: 'storage#objects' })
      return send(200, object('file'))
    })()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const open = (bucketName: string, more: object = {}, properties: Record<string, string> = {}) =>
    new GcsDriver({
      bucketName,
      endpoint,
      additionalProperties: {
        'fs.gs.auth.type': 'UNAUTHENTICATED',
        'fs.gs.http.max.retry': '0',
        ...properties,
      },
      ...more,
    })
  const one = open('one', { customerKey })
  const two = open(
    'two',
    {},
    same ? { 'gantry.gcs.storage.class': 'NEARLINE' } : { 'fs.gs.requester.pays.project.id': 'project-1' },
  )
  return {
    asked,
    copy: two.copyWithin(one),
    file: () => one.open(Buffer.from('file'), { contentLater: true }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([one.close(), two.close()])
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const to = Buffer.from('folder/copy')
const done = { kind: 'storage#rewriteResponse', done: true, resource: object('folder/copy') }

test('a copy takes as many requests as the service wants, of the version that was opened', async () => {
  await using both = await buckets(({ token }) =>
    token === null
      ? {
          body: { kind: 'storage#rewriteResponse', done: false, rewriteToken: 't', totalBytesRewritten: '2' },
        }
      : { body: done },
  )
  expect(await both.copy!.file(await both.file(), to, { modifiedMs: 1_000 })).toEqual([])
  expect(both.asked.map(({ token }) => token)).toEqual([null, 't'])
  for (const { url, headers, body } of both.asked) {
    expect(url.pathname).toBe('/storage/v1/b/one/o/file/rewriteTo/b/two/o/folder%2Fcopy')
    expect(url.searchParams.get('ifSourceGenerationMatch')).toBe('7')
    expect(headers['x-goog-copy-source-encryption-key']).toBe(customerKey)
    expect(headers['x-goog-encryption-key']).toBeUndefined()
    expect(body).toMatchObject({ storageClass: 'NEARLINE', metadata: { 'goog-reserved-file-mtime': '1' } })
  }
})

test.each([
  [412, 'changed'],
  [404, 'gone'],
])('%d: the source’s file is %s', async (status, failure) => {
  const body = { error: { message: 'why', errors: [{ reason: 'x' }] } }
  await using both = await buckets(() => ({ status, body }))
  expect(await failureOf(both.copy!.file(await both.file(), to, {}))).toBe(failure)
})

test('what the service does not copy is sent', async () => {
  const body = { error: { message: 'no', errors: [{ reason: 'forbidden' }] } }
  await using both = await buckets(() => ({ status: 403, body }))
  expect(await both.copy!.file(await both.file(), to, {})).toBeUndefined()
  expect(
    await both.copy!.part(await both.file(), {
      upload: { token: '', sizeBytes: 4 },
      index: 0,
      offset: 0,
      length: 4,
    }),
  ).toBe(false)
})

test('a copy that gets no further, and one of another content, are failures', async () => {
  const stuck = { kind: 'storage#rewriteResponse', done: false, rewriteToken: 't', totalBytesRewritten: '2' }
  await using one = await buckets(() => ({ body: stuck }))
  expect(await failureOf(one.copy!.file(await one.file(), to, {}))).toBe('io')
  expect(one.asked).toHaveLength(2)
  const other = { ...done, resource: object('folder/copy', { crc32c: 'bbbbbb==' }) }
  await using two = await buckets(() => ({ body: other }))
  expect(await failureOf(two.copy!.file(await two.file(), to, {}))).toBe('corrupt')
})

test('buckets of other access are not copied between', async () => {
  await using both = await buckets(() => ({ body: done }), false)
  expect(both.copy).toBeUndefined()
})
