import { hash } from 'node:crypto'
import {
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect } from 'vitest'
import { bodyOf, contentOf, failureOf, listAll, never, pattern } from '../../conformance/driver-store.ts'
import { noS3, openS3, type S3Server, s3Test, startS3 } from '../../support/versitygw.ts'

/** Amazon's own client is the judge of what we write, and writes what we read. */
let server: S3Server
let client: S3Client
const bucket = 'clients'
beforeAll(async () => {
  if (noS3 !== undefined) return
  server = await startS3()
  server.createBucket(bucket)
  const { endpoint, accessKey: accessKeyId, secretKey: secretAccessKey } = server
  client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  })
})
afterAll(async () => {
  client?.destroy()
  await server?.[Symbol.asyncDispose]()
})

const at = (path: string) => Buffer.from(path)
const read = async (Key: string) => {
  const answer = await client.send(new GetObjectCommand({ Bucket: bucket, Key, ChecksumMode: 'ENABLED' }))
  return { ...answer, bytes: Buffer.from(await answer.Body!.transformToByteArray()) }
}

s3Test('the official client reads what we write, with metadata and checksum', async () => {
  await using driver = openS3(server.options(bucket))
  const bytes = pattern(100_000)
  await driver.put(at('ours'), bytes, {
    modifiedMs: 1_700_000_000_123.5,
    mode: 0o640,
    owner: { uid: 1, gid: 2 },
  })
  const { Metadata, ChecksumSHA256, ...answer } = await read('ours')
  expect(answer.bytes.equals(bytes)).toBe(true)
  expect(ChecksumSHA256).toBe(hash('sha256', bytes, 'base64'))
  expect(Metadata).toEqual({
    mtime: '1700000000.123500000',
    'file-permissions': '0640',
    'file-owner': '1',
    'file-group': '2',
  })
})

s3Test('we read what the official client writes, folders that it makes among it', async () => {
  await using driver = openS3(server.options(bucket))
  const put = (Key: string, Body: string, Metadata: Record<string, string> = {}) =>
    client.send(new PutObjectCommand({ Bucket: bucket, Key, Body, Metadata }))
  await put('theirs/file', 'content', { mtime: '1600000000.5' })
  await put('theirs/plain', 'plain')
  await put('theirs/hollow/', '')
  const entries = await listAll(driver, at('theirs'))
  expect(entries.map(({ name, type }) => `${name.toString()} ${type}`).toSorted()).toEqual([
    'file file',
    'hollow folder',
    'plain file',
  ])
  expect((await contentOf(driver, at('theirs/file'))).toString()).toBe('content')
  expect((await driver.stat(at('theirs/file')))?.modifiedMs).toBe(1_600_000_000_500)
  const { LastModified } = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: 'theirs/plain' }))
  expect((await driver.stat(at('theirs/plain')))?.modifiedMs).toBe(LastModified?.getTime())
})

s3Test('other attributes leave what else belongs to an object', async () => {
  await using driver = openS3(server.options(bucket))
  const Key = 'kept'
  const own = { ContentType: 'text/plain', CacheControl: 'max-age=60', Metadata: { owner: 'somebody' } }
  await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'content', ...own }))
  await driver.setAttributes(at(Key), { mode: 0o600 })
  const { bytes, ContentType, CacheControl, Metadata } = await read(Key)
  expect({ ContentType, CacheControl, Metadata }).toEqual({
    ...own,
    Metadata: { owner: 'somebody', 'file-permissions': '0600' },
  })
  expect(bytes.toString()).toBe('content')
})

s3Test('of an upload in parts nothing is left but the file, whatever it went on with', async () => {
  await using driver = openS3(server.options(bucket, { 'fs.s3a.multipart.size': String(5 * 2 ** 20) }))
  const bytes = pattern(12 * 2 ** 20)
  const file = { sizeBytes: bytes.length, tag: 'test-tag', attributes: { modifiedMs: 1_000 } }
  const continuation = { version: '1', liveThreads: [] }
  // Another program's, which is not to be taken for ours.
  await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: 'parts' }))
  const first = await driver.beginUpload(at('parts'), file, continuation)
  const partBytes = driver.capabilities.parts.sizeFor(bytes.length)
  await driver.writePart(first, 0, 0, bodyOf(bytes.subarray(0, partBytes)))
  const second = await driver.beginUpload(at('parts'), file, continuation)
  expect(second).toMatchObject({ written: [0] })
  for (const index of [1, 2]) {
    const offset = index * partBytes
    await driver.writePart(second, index, offset, bodyOf(bytes.subarray(offset, offset + partBytes)))
  }
  await driver.commitUpload(second, 3, file.attributes)
  expect((await read('parts')).bytes.equals(bytes)).toBe(true)
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
  expect(Uploads).toHaveLength(1)
})

s3Test('a part that is not held in memory goes signed piece by piece, its digest after it', async () => {
  await using driver = openS3(server.options(bucket, { 'fs.s3a.multipart.size': String(5 * 2 ** 20) }))
  const bytes = pattern(11 * 2 ** 20 + 12_345)
  const upload = await driver.beginUpload(at('streamed'), {
    sizeBytes: bytes.length,
    tag: 't',
    attributes: {},
  })
  await driver.writePart(upload, 0, 0, bodyOf(bytes))
  await driver.commitUpload(upload, 1, {})
  expect((await read('streamed')).bytes.equals(bytes)).toBe(true)
})

s3Test('a wrong key is refused, a missing bucket is gone, by name and without the secret', async () => {
  const secretKey = 'this-is-another-secret'
  await using driver = openS3({ ...server.options(bucket), secretKey })
  const error = await driver.probe(never).catch((error: Error) => error)
  expect(error).toMatchObject({ failure: 'refused' })
  expect(String(error)).toContain('secretKey')
  expect(String(error)).not.toContain(secretKey)
  await using missing = openS3(server.options('not-there'))
  await expect(missing.probe(never)).rejects.toThrow(/NoSuchBucket.*bucketName/)
  expect(await failureOf(missing.probe(never))).toBe('gone')
})

s3Test('keys that no path can have are told, and not used', async () => {
  await using driver = openS3(server.options(bucket))
  await client.send(new PutObjectCommand({ Bucket: bucket, Key: 'odd/in\u0001side', Body: 'x' }))
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: 'odd/' }))
  expect(Contents).toHaveLength(1)
  // This server cannot say the name, so that nobody could open it: it must not seem to be gone.
  expect(await listAll(driver, at('odd'))).toMatchObject([{ type: 'other' }])
})
