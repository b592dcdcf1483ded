import type { IncomingMessage } from 'node:http'
import {
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { settings } from '../../../subjects/access/settings.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { bodyOf, contentOf, failureOf, pattern } from '../../conformance/driver-store.ts'
import { startInterferingProxy } from '../../support/interfering-proxy.ts'
import { addLocal, createFolder, migrate, verify } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { createSample, sampleFiles } from '../../support/sample.ts'
import { testUnless } from '../../support/unless.ts'
import { openS3, type S3Server, s3Servers } from '../../support/versitygw.ts'

/** Objects go from a bucket to another one at the service itself, where it has both. */
const MiB = 2 ** 20
const at = (path: string) => Buffer.from(path)

/** Whether content is asked for, or comes with a request. */
const hasContent = ({ method, url = '', headers }: IncomingMessage): boolean =>
  (method === 'GET' && !/[?&](?:list-type|uploads|uploadId)=/.test(url)) ||
  (method === 'PUT' && Number(headers['content-length'] ?? 0) > 100)

describe.for(s3Servers)('on $name', ({ name, missing, start }) => {
  let server: S3Server
  let client: S3Client
  let platform: TestPlatform
  beforeAll(async () => {
    if (missing !== undefined) return
    ;[server, platform] = await Promise.all([start(), startTestPlatform()])
    await platform.call(settings.put, { storeHosts: [loopback] })
    for (const bucket of ['one', 'two', 'three']) server.createBucket(bucket)
    const { endpoint, accessKey: accessKeyId, secretKey: secretAccessKey } = server
    const credentials = { accessKeyId, secretAccessKey }
    client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
  })
  afterAll(async () => {
    client?.destroy()
    await platform?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  /** What is between the drivers and the server: refuses copies if it is told, and counts the requests with content. */
  async function startCounting(refuses: (request: IncomingMessage) => boolean = () => false) {
    const counted = { content: 0, copies: 0, refused: 0 }
    const proxy = await startInterferingProxy(server.endpoint.replace('http://', ''), (request) => {
      if (hasContent(request)) counted.content++
      if (request.headers['x-amz-copy-source'] === undefined) return undefined
      if (!refuses(request)) {
        counted.copies++
        return undefined
      }
      counted.refused++
      const body = Buffer.from('<Error><Code>NotImplemented</Code></Error>')
      return { instead: { status: 501, headers: { 'x-amz-request-id': '1' }, body } }
    })
    const options = (bucket: string, properties: Record<string, string> = {}) => ({
      ...server.options(bucket, properties),
      endpoint: `http://${proxy.endpoint}`,
    })
    return { counted, options, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() }
  }

  testUnless(
    missing,
    'a migration between two buckets sends no content, and neither does its verification',
    async () => {
      using folder = createFolder('from')
      createSample(folder.from, 20 * MiB)
      await addLocal(platform, `${name}-from`, 'source', folder.from)
      await using service = await startCounting()
      const add = (fileSystemId: string, role: 'source' | 'target', options: object) =>
        platform.call(filesystems['create-s3a'], {
          fileSystemId: `${name}-${fileSystemId}`,
          role,
          ...(options as ReturnType<typeof server.options>),
        })
      await add('first', 'target', server.options('one'))
      await add('source', 'source', service.options('one'))
      await add('target', 'target', service.options('two', { 'fs.s3a.create.storage.class': 'STANDARD' }))
      const step = (source: string, target: string) => ({
        source: `${name}-${source}`,
        target: `${name}-${target}`,
        migrationId: `${name}-${target}`,
      })
      await migrate(platform, step('from', 'first'))
      const { progress, failures } = await migrate(platform, step('source', 'target'))
      expect(failures).toEqual([])
      expect(progress).toMatchObject({ filesMigrated: sampleFiles })
      for (const level of ['digest', 'metadata'] as const)
        expect(await verify(platform, `${name}-target`, level), level).toMatchObject({
          totalDiscrepancies: 0,
          filesOnTarget: sampleFiles,
        })
      expect(service.counted.copies).toBeGreaterThan(0)
      expect(service.counted).toMatchObject({ content: 0, refused: 0 })

      await using refusing = await startCounting(() => true)
      await add('refusing', 'source', refusing.options('one'))
      await add('sent', 'target', refusing.options('three'))
      const sent = await migrate(platform, step('refusing', 'sent'))
      expect(sent).toMatchObject({ failures: [], progress: { filesMigrated: sampleFiles } })
      expect(await verify(platform, `${name}-sent`, 'digest')).toMatchObject({ totalDiscrepancies: 0 })
      expect(refusing.counted.content).toBeGreaterThan(0)
    },
    120_000,
  )

  testUnless(
    missing,
    'a copy has what belongs to its content, the attributes that are given, no others',
    async () => {
      await using source = openS3(server.options('one'))
      await using target = openS3(server.options('two'))
      const Metadata = { owner: 'somebody', 'file-permissions': '0777', mtime: '1600000000.5' }
      const theirs = { ContentType: 'text/plain', CacheControl: 'max-age=60' }
      const object = { Bucket: 'one', Key: 'a b/+ü' }
      await client.send(
        new PutObjectCommand({ ...object, ...theirs, Body: 'content', Metadata, Tagging: 'secret=1' }),
      )
      const file = await source.open(at(object.Key), { contentLater: true })
      const copy = target.copyWithin(source)!
      expect(await copy.file(file, at('copied'), { modifiedMs: 1_700_000_000_000 })).toEqual([])
      const its = await client.send(new HeadObjectCommand({ Bucket: 'two', Key: 'copied' }))
      expect(its).toMatchObject({
        ...theirs,
        Metadata: { owner: 'somebody', mtime: '1700000000.000000000' },
      })
      expect(its.TagCount ?? 0).toBe(0)
      await client.send(new PutObjectCommand({ ...object, Body: 'changed' }))
      expect(await failureOf(copy.file(file, at('other'), {}))).toBe('changed')
      await source.remove(at(object.Key))
      expect(await failureOf(copy.file(file, at('other'), {}))).toBe('gone')
      expect(await target.stat(at('other'))).toBeUndefined()
      await target.makeFolder(at('folder'), {})
      expect(await failureOf(copy.file(file, at('folder'), {}))).toBe('unsupported')
    },
  )

  testUnless(
    missing,
    'a large file is copied in parts, or they are sent where the service does not copy them',
    async () => {
      const properties = { 'fs.s3a.multipart.size': String(5 * MiB) }
      const bytes = pattern(12 * MiB + 1)
      for (const isRefused of [false, true]) {
        await using service = await startCounting(() => isRefused)
        await using source = openS3(service.options('one', properties))
        await using target = openS3(service.options('two', properties))
        await client.send(new PutObjectCommand({ Bucket: 'one', Key: 'large', Body: bytes }))
        const file = await source.open(at('large'), { contentLater: true })
        const copy = target.copyWithin(source)!
        const upload = await target.beginUpload(at('large'), {
          sizeBytes: bytes.length,
          tag: 't',
          attributes: {},
        })
        for (const [index, offset] of [0, 5 * MiB, 10 * MiB].entries()) {
          const part = bytes.subarray(offset, offset + 5 * MiB)
          const to = { upload, index, offset, length: part.length }
          if (!(await copy.part(file, to))) await target.writePart(upload, index, offset, bodyOf(part))
        }
        await target.commitUpload(upload, 3, {})
        expect((await contentOf(target, at('large'))).equals(bytes)).toBe(true)
        const { Body, ChecksumType } = await client.send(
          new GetObjectCommand({ Bucket: 'two', Key: 'large', ChecksumMode: 'ENABLED' }),
        )
        expect(Buffer.from(await Body!.transformToByteArray()).equals(bytes)).toBe(true)
        expect(ChecksumType).toBe('FULL_OBJECT')
        // After the first refusal nothing more is asked.
        if (isRefused) expect(service.counted).toMatchObject({ copies: 0, refused: 1 })
      }
    },
  )

  testUnless(missing, 'what is written has the tags that were chosen, in whatever way it comes', async () => {
    const properties = {
      'fs.s3a.create.tags': 'project=lake,of=a b+c',
      'fs.s3a.multipart.size': String(5 * MiB),
    }
    await using source = openS3(server.options('one'))
    await using target = openS3(server.options('two', properties))
    await target.put(at('tagged/put'), Buffer.from('content'), {})
    const upload = await target.beginUpload(at('tagged/parts'), { sizeBytes: 3, tag: 't', attributes: {} })
    await target.writePart(upload, 0, 0, bodyOf(Buffer.from('abc')))
    await target.commitUpload(upload, 1, {})
    await client.send(new PutObjectCommand({ Bucket: 'one', Key: 'tagged', Body: 'x', Tagging: 'other=1' }))
    const file = await source.open(at('tagged'), { contentLater: true })
    await target.copyWithin(source)!.file(file, at('tagged/copy'), {})
    // What gets other attributes keeps its own.
    await client.send(
      new PutObjectCommand({ Bucket: 'two', Key: 'tagged/kept', Body: 'x', Tagging: 'other=1' }),
    )
    await target.setAttributes(at('tagged/kept'), { mode: 0o600 })
    const tagsOf = async (Key: string) => {
      const { TagSet = [] } = await client.send(new GetObjectTaggingCommand({ Bucket: 'two', Key }))
      return Object.fromEntries(TagSet.map(({ Key: tag, Value }) => [tag, Value]))
    }
    for (const key of ['tagged/put', 'tagged/parts', 'tagged/copy'])
      expect(await tagsOf(key), key).toEqual({ project: 'lake', of: 'a b+c' })
    expect(await tagsOf('tagged/kept')).toEqual({ other: '1' })
  })

  testUnless(missing, 'what the service does not copy is sent', async () => {
    await using service = await startCounting(({ url = '' }) => url.includes('denied'))
    await using source = openS3(service.options('one'))
    await using target = openS3(service.options('two'))
    const copy = target.copyWithin(source)!
    for (const path of ['denied', 'allowed']) {
      await source.put(at(path), Buffer.from(path), {})
      const file = await source.open(at(path), { contentLater: true })
      expect(await copy.file(file, at(path), {})).toEqual(path === 'denied' ? undefined : [])
    }
  })

  testUnless(
    missing,
    'buckets that are opened with other credentials, or elsewhere, are no such pair',
    async () => {
      await using target = openS3(server.options('two'))
      await using other = openS3({ ...server.options('one'), accessKey: 'another' })
      await using elsewhere = openS3({ ...server.options('one'), endpoint: 'http://127.0.0.1:1' })
      await using role = openS3(server.options('one', { 'fs.s3a.requester.pays.enabled': 'true' }))
      expect(target.copyWithin(other)).toBeUndefined()
      expect(target.copyWithin(elsewhere)).toBeUndefined()
      expect(target.copyWithin(role)).toBeDefined()
    },
  )
})
