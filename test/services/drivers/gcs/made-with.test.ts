import { createServer, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { crcOf, crcText } from '../../../../services/drivers/digests/crc32c.ts'
import { GcsDriver } from '../../../../services/drivers/gcs/gcs.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'
import { bodyOf, contentOf, listAll, never, pattern } from '../../../conformance/driver-store.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'

/** How objects are made and read, by the reference of the service: no server that can be had here knows any of it. */

interface Asked {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingMessage['headers']
}

interface Kept {
  readonly content: Buffer
  readonly resource: Readonly<Record<string, unknown>>
  readonly generation: number
}

const keyHeader = 'x-goog-encryption-key'

/** A bucket that has what is put into it, and tells digests of what is encrypted by a key only to who has the key. */
async function startBucket(options: Partial<FilesystemOptions<'gcs'>>) {
  const asked: Asked[] = []
  const objects = new Map<string, Kept>()
  const told = (name: string, key: unknown) => {
    const { content, resource, generation } = objects.get(name)!
    const isPlain = key === options.customerKey
    return {
      kind: 'storage#object',
      ...resource,
      name,
      size: String(content.length),
      generation: String(generation),
      metageneration: '1',
      crc32c: undefined,
      md5Hash: undefined,
      ...(isPlain && { crc32c: crcText(crcOf(content)) }),
    }
  }
  const keep = (name: string, content: Buffer, resource: object) =>
    objects.set(name, { content, resource: { ...resource }, generation: asked.length })
  const answer = (one: Asked, body: Buffer): { status?: number; json?: object; content?: Buffer } => {
    const { method, url, headers } = one
    const key = headers[keyHeader]
    const [, path = ''] = /\/o\/(.*)$/.exec(url.pathname) ?? []
    const [name = '', operation] = path.split('/').map(decodeURIComponent)
    if (url.pathname.startsWith('/upload/')) {
      const [head, json, sent] = body.toString('latin1').split('\r\n\r\n') as [string, string, string]
      const resource = JSON.parse(json.split('\r\n')[0]!) as { name: string }
      const end = sent.lastIndexOf(`\r\n${head.split('\r\n')[0]!}--`)
      keep(resource.name, Buffer.from(sent.slice(0, end), 'latin1'), resource)
      return { json: told(resource.name, key) }
    }
    if (operation === 'compose') {
      const { sourceObjects, destination } = JSON.parse(body.toString()) as {
        readonly sourceObjects: readonly { readonly name: string }[]
        readonly destination: object
      }
      keep(name, Buffer.concat(sourceObjects.map((its) => objects.get(its.name)!.content)), destination)
      return { json: told(name, key) }
    }
    if (path === '') {
      const prefix = url.searchParams.get('prefix') ?? ''
      const items = [...objects.keys()]
        .filter((its) => its.startsWith(prefix))
        .map((its) => told(its, undefined))
      return { json: { kind: 'storage#objects', items } }
    }
    if (!objects.has(name)) return { status: 404, json: { error: { errors: [{ reason: 'notFound' }] } } }
    if (method === 'DELETE') return objects.delete(name) ? { status: 204 } : {}
    if (url.searchParams.get('alt') === 'media') return { content: objects.get(name)!.content }
    return { json: told(name, key) }
  }
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const { method = '', headers } = request
      const one = { method, url: new URL(request.url ?? '', 'http://store'), headers }
      asked.push(one)
      const { status = 200, json, content } = answer(one, body)
      if (content === undefined)
        return void response
          .writeHead(status, { 'content-type': 'application/json' })
          .end(status === 204 ? '' : JSON.stringify(json))
      const generation = objects.get(decodeURIComponent(one.url.pathname.split('/o/')[1]!))!.generation
      response
        .writeHead(206, {
          'x-goog-generation': String(generation),
          'content-range': `bytes 0-${content.length - 1}/${content.length}`,
        })
        .end(content)
    })
  })
  const { port, [Symbol.asyncDispose]: dispose } = await listenOnLoopback(server)
  const { additionalProperties, ...others } = options
  const driver = new GcsDriver({
    bucketName: 'data',
    endpoint: `http://127.0.0.1:${port}`,
    additionalProperties: {
      'fs.gs.auth.type': 'UNAUTHENTICATED',
      'fs.gs.http.max.retry': '0',
      ...additionalProperties,
    },
    ...others,
  })
  return {
    driver,
    asked,
    objects,
    [Symbol.asyncDispose]: async () => {
      await driver.close()
      await dispose()
    },
  }
}

const customerKey = Buffer.alloc(32, 1).toString('base64')
const small = Buffer.from('content')
const partBytes = 2 ** 20
const large = pattern(2 * partBytes + 5)

/** Writes a file with one request, and one in parts. */
async function write(driver: GcsDriver): Promise<void> {
  await driver.put(Buffer.from('small'), small, {})
  const upload = await driver.beginUpload(Buffer.from('large'), {
    sizeBytes: large.length,
    tag: 't',
    attributes: {},
  })
  for (const index of [0, 1, 2]) {
    const part = bodyOf(large.subarray(index * partBytes, (index + 1) * partBytes))
    await driver.writePart(upload, index, index * partBytes, part)
  }
  expect(new Set(await driver.writtenParts(upload, partBytes))).toEqual(new Set([0, 1, 2]))
  await driver.commitUpload(upload, 3, {})
}

const isMaking = ({ url }: Asked) => url.pathname.startsWith('/upload/') || url.pathname.endsWith('/compose')
const isListing = ({ url }: Asked) => url.pathname.endsWith('/o') && !isMaking({ url } as Asked)

test('with a key of the customer files are written, in parts too, read and compared, and each request for content has the key', async () => {
  await using bucket = await startBucket({ customerKey })
  const { driver, asked, objects } = bucket
  await write(driver)
  expect([...objects.keys()].toSorted()).toEqual(['large', 'small'])
  expect((await contentOf(driver, Buffer.from('small'))).equals(small)).toBe(true)
  const [entry] = await listAll(driver, Buffer.alloc(0))
  expect(entry?.digests).toEqual({})
  const crc32c = crcText(crcOf(large))
  const digestsOf = (path: string) =>
    driver.digestsOf?.(Buffer.from(path), ['sha256', 'crc32c'], never).then((made) => made?.digests)
  expect(await digestsOf('large')).toEqual({ crc32c })
  expect(await digestsOf('nothing')).toBeUndefined()
  expect(asked.filter(isMaking)).toHaveLength(5)
  for (const { method, url, headers } of asked) {
    if (isListing({ method, url, headers }) || method === 'DELETE') continue
    expect(headers, `${method} ${url.pathname}`).toMatchObject({
      'x-goog-encryption-algorithm': 'AES256',
      [keyHeader]: customerKey,
      'x-goog-encryption-key-sha256': expect.stringMatching(/=$/),
    })
  }
})

test('a key of Cloud KMS, a storage class and who pays are said wherever an object is made', async () => {
  const kmsKey = 'projects/p/locations/l/keyRings/r/cryptoKeys/k'
  await using bucket = await startBucket({
    additionalProperties: {
      'gantry.gcs.kms.key': kmsKey,
      'gantry.gcs.storage.class': 'NEARLINE',
      'fs.gs.requester.pays.project.id': 'project-1',
    },
  })
  await write(bucket.driver)
  const made = bucket.asked.filter(isMaking)
  expect(made).toHaveLength(5)
  for (const { url } of made) expect(url.searchParams.get('kmsKeyName')).toBe(kmsKey)
  for (const { url } of bucket.asked) expect(url.searchParams.get('userProject')).toBe('project-1')
  for (const { resource } of bucket.objects.values()) expect(resource['storageClass']).toBe('NEARLINE')
  // The service tells the digests of these with all else.
  expect(bucket.driver.digestsOf).toBeUndefined()
})
