import { hash } from 'node:crypto'
import { Storage, type Bucket } from '@google-cloud/storage'
import { afterAll, beforeAll, expect } from 'vitest'
import { bodyOf, contentOf, failureOf, listAll, never, pattern } from '../../conformance/driver-store.ts'
import { type GcsServer, gcsTest, noGcs, openGcs, startGcs } from '../../support/gcs.ts'

/** Google's own client is the judge of what we write, and writes what we read. */
let server: GcsServer
let bucket: Bucket
beforeAll(async () => {
  if (noGcs !== undefined) return
  server = await startGcs()
  await server.createBucket('clients')
  const storage = new Storage({ apiEndpoint: server.bareEndpoint, projectId: 'p' })
  bucket = storage.bucket('clients')
})
afterAll(async () => server?.[Symbol.asyncDispose]())

const at = (path: string) => Buffer.from(path)
const MiB = 2 ** 20
const attributes = { modifiedMs: 1_700_000_000_123.5, mode: 0o640, owner: { uid: 1, gid: 2 } }

gcsTest('the official client reads what we write, with metadata and checksums', async () => {
  await using driver = openGcs(server.options('clients'))
  const bytes = pattern(300_000)
  await driver.put(at('ours'), bytes, attributes)
  // The client compares the content with both digests.
  const [content] = await bucket.file('ours').download({ validation: 'crc32c' })
  expect(content.equals(bytes)).toBe(true)
  const [{ metadata, md5Hash }] = await bucket.file('ours').getMetadata()
  expect(md5Hash).toBe(hash('md5', bytes, 'base64'))
  expect(metadata).toEqual({
    mtime: '2023-11-14T22:13:20.123500000Z',
    'goog-reserved-file-mtime': '1700000000',
    'goog-reserved-posix-mode': '640',
    'goog-reserved-posix-uid': '1',
    'goog-reserved-posix-gid': '2',
  })
})

gcsTest('a file of more parts than are joined at once is whole, and nothing else is left', async () => {
  await using driver = openGcs(
    server.options('clients', { 'fs.gs.outputstream.upload.chunk.size': `${MiB}` }),
  )
  const bytes = pattern(70 * MiB + 5)
  const upload = await driver.beginUpload(at('large/file'), { sizeBytes: bytes.length, tag: 't', attributes })
  const indices = Array.from({ length: 71 }, (_, index) => index).toReversed()
  for (const index of indices) {
    const part = bytes.subarray(index * MiB, (index + 1) * MiB)
    await driver.writePart(upload, index, index * MiB, bodyOf(part))
  }
  expect(await driver.commitUpload(upload, 71, attributes)).toEqual([])
  const [content] = await bucket.file('large/file').download({ validation: 'crc32c' })
  expect(content.equals(bytes)).toBe(true)
  const [files] = await bucket.getFiles({ prefix: 'large/' })
  expect(files.map(({ name }) => name)).toEqual(['large/file'])
  expect(await driver.stat(at('large/file'))).toMatchObject(attributes)
})

gcsTest('we read what the official client writes, folders that it makes among it', async () => {
  await using driver = openGcs(server.options('clients'))
  const put = (name: string, text: string, metadata: Record<string, string> = {}) =>
    bucket.file(name).save(text, { resumable: false, metadata: { metadata } })
  await put('theirs/file', 'content', { 'goog-reserved-file-mtime': '1600000000' })
  await put('theirs/plain', 'plain')
  await put('theirs/hollow/', '')
  const entries = await listAll(driver, at('theirs'))
  await put('theirs//', '')
  await put('theirs/../x', 'x')
  await put('theirs/full/', 'not empty')
  expect(entries.map(({ name, type }) => `${name.toString()} ${type}`).toSorted()).toEqual([
    'file file',
    'hollow folder',
    'plain file',
  ])
  const odd = await listAll(driver, at('theirs'))
  expect(odd.flatMap(({ name, type }) => (type === 'other' ? [name.toString()] : [])).toSorted()).toEqual([
    '',
    '..',
  ])
  expect((await listAll(driver, at('theirs/full'))).map(({ name, type }) => [name.toString(), type])).toEqual(
    [['', 'other']],
  )
  expect(await driver.stat(at('theirs/file'))).toMatchObject({ modifiedMs: 1_600_000_000_000 })
  expect((await contentOf(driver, at('theirs/plain'))).toString()).toBe('plain')
  const [{ timeCreated }] = await bucket.file('theirs/plain').getMetadata()
  expect(await driver.stat(at('theirs/plain'))).toMatchObject({ modifiedMs: Date.parse(timeCreated!) })
})

gcsTest(
  'an upload whose parts somebody removed is not taken for committed because of an older file',
  async () => {
    await using driver = openGcs(server.options('clients'))
    const upload = await driver.beginUpload(at('lost'), { sizeBytes: 4, tag: 't', attributes })
    await driver.writePart(upload, 0, 0, bodyOf(at('part')))
    await driver.put(at('lost'), at('same'), attributes)
    const [files] = await bucket.getFiles({ prefix: '.gantry~' })
    await Promise.all(files.map((file) => file.delete()))
    const [, token, begun] = /^(.*)\.(\d+)$/.exec(upload.token)!
    // As if the file were a minute older.
    const later = { ...upload, token: `${token}.${Number(begun) + 60_000}` }
    expect(await failureOf(driver.commitUpload(later, 1, attributes))).toBe('corrupt')
  },
)

gcsTest(
  'what the official client replaced meanwhile is not read as what it was, and not removed',
  async () => {
    await using driver = openGcs(
      server.options('clients', { 'fs.gs.inputstream.min.range.request.size': '4' }),
    )
    await driver.put(at('changing'), at('content of before'), {})
    const file = await driver.open(at('changing'))
    const version = await driver.version(at('changing'))
    await bucket.file('changing').save('another content', { resumable: false })
    expect(await failureOf(file.read(8, 4))).toBe('changed')
    expect(await failureOf(file.verifyUnchanged())).toBe('changed')
    expect(await failureOf(driver.removeVersion(at('changing'), version!))).toBe('changed')
    expect((await contentOf(driver, at('changing'))).toString()).toBe('another content')
  },
)

gcsTest(
  'another key than that of the service account is refused, and no bucket is told apart from none',
  async () => {
    const { privateKeyId: _known, ...others } = server.options('clients')
    await using driver = openGcs({ ...others, privateKeyId: 'another' })
    expect(await failureOf(driver.stat(at('ours')))).toBe('refused')
    await using missing = openGcs(server.options('not-there'))
    expect(await failureOf(missing.probe(new AbortController().signal))).toBe('gone')
  },
)

gcsTest('that a bucket keeps versions is told, of another nothing', async () => {
  await server.createBucket('kept')
  const storage = new Storage({ apiEndpoint: server.bareEndpoint, projectId: 'p' })
  await storage.bucket('kept').setMetadata({ versioning: { enabled: true } })
  await using kept = openGcs(server.options('kept'))
  expect(await kept.describe(never)).toMatch(/^it keeps versions: of each object the latest is migrated/)
  await using plain = openGcs(server.options('clients'))
  expect(await plain.describe(never)).toBeUndefined()
})

gcsTest('files are copied at the service from bucket to bucket', async () => {
  await server.createBucket('copies')
  await using from = openGcs(server.options('clients'))
  await using to = openGcs(server.options('copies'))
  const bytes = pattern(300_000)
  await from.put(at('copied/a file'), bytes, attributes)
  const copy = to.copyWithin(from)
  expect(await copy?.file(await from.open(at('copied/a file')), at('there/a file'), attributes)).toEqual([])
  expect((await contentOf(to, at('there/a file'))).equals(bytes)).toBe(true)
  expect(await to.attributesOf(at('there/a file'))).toMatchObject(attributes)
})
