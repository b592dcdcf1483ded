import { basename } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { listedAtOnce, namedBeforeListing } from '../../../services/drivers/gcs/listed-objects.ts'
import { failureOf } from '../../conformance/driver-store.ts'
import { type GcsServer, gcsTest, noGcs, openGcs, startGcs } from '../../support/gcs.ts'
import { startInterferingProxy } from '../../support/interfering-proxy.ts'

/** Files are read with one request each, their metadata by listings, where answers prove that these are right. */
let server: GcsServer
beforeAll(async () => {
  if (noGcs !== undefined) return
  server = await startGcs()
  await server.createBucket('listed')
})
afterAll(async () => server?.[Symbol.asyncDispose]())

const pathOf = (folder: string, index: number) =>
  Buffer.from(`${folder}/file-${String(index).padStart(3, '0')}`)
const contentOf = (index: number) => Buffer.from(`content ${index}`)
const attributesOf = (index: number) => ({ modifiedMs: 1_700_000_000_000 + index, mode: 0o640 + (index % 8) })
/** By the first one it is known that answers prove something. */
const namedAtFirst = namedBeforeListing + 1

/**
 * Files of a folder, a driver that writes them, and another one that reads them and whose requests for files are counted; all
 * gone with the scope.
 * @param endpoint what the reader talks to
 */
async function createFiles(folder: string, count: number, endpoint = server.endpoint) {
  const asked = { content: 0, metadata: 0, listings: 0 }
  const proxy = await startInterferingProxy(new URL(endpoint).host, ({ url = '' }) => {
    const { pathname, searchParams } = new URL(url, 'http://proxy')
    if (searchParams.get('alt') === 'media') asked.content++
    else if (pathname.endsWith('/o')) asked.listings++
    else asked.metadata++
    return undefined
  })
  const writer = openGcs(server.options('listed'))
  const reader = openGcs({ ...server.options('listed'), endpoint: `http://${proxy.endpoint}` })
  for (let index = 0; index < count; index++)
    await writer.put(pathOf(folder, index), contentOf(index), attributesOf(index))
  const read = async (index: number) => {
    const file = await reader.open(pathOf(folder, index))
    const content = await file.read(0, file.sizeBytes)
    await file.verifyUnchanged()
    return { content, attributes: file.attributes, version: file.version }
  }
  /** Reads a file, and compares it with what was written. */
  const readSame = async (index: number) =>
    expect(await read(index)).toMatchObject({ content: contentOf(index), attributes: attributesOf(index) })
  return {
    asked,
    writer,
    reader,
    read,
    readSame,
    [Symbol.asyncDispose]: async () => {
      await writer.close()
      await reader.close()
      await proxy[Symbol.asyncDispose]()
    },
  }
}

gcsTest('files in a row take one request each, and a listing for many of them', async () => {
  const count = namedAtFirst + 3 * listedAtOnce
  await using files = await createFiles('row', count)
  for (let index = 0; index < count; index++) await files.readSame(index)
  expect(files.asked).toEqual({ content: count, metadata: namedAtFirst, listings: 3 })
})

gcsTest('files that are read at once wait for one listing', async () => {
  const count = namedAtFirst + listedAtOnce
  await using files = await createFiles('at-once', count)
  await files.readSame(0)
  const others = Array.from({ length: count - 1 }, (_, index) => index + 1)
  await Promise.all(others.map((index) => files.readSame(index)))
  expect(files.asked).toEqual({ content: count, metadata: namedAtFirst, listings: 1 })
})

gcsTest('files that are announced take one listing, wherever they begin', async () => {
  const count = 2 * listedAtOnce
  await using files = await createFiles('announced', count + 1)
  await files.readSame(0)
  const others = Array.from({ length: count }, (_, index) => index + 1)
  const names = others.map((index) => Buffer.from(basename(pathOf('announced', index).toString())))
  files.reader.announce(Buffer.from('announced'), names)
  await Promise.all(others.map((index) => files.readSame(index)))
  expect(files.asked).toEqual({ content: count + 1, metadata: 1, listings: 1 })
})

gcsTest('what changes between listing and reading is read as it is', async () => {
  await using files = await createFiles('changing', 20)
  const { reader, writer } = files
  for (let index = 0; index <= namedAtFirst; index++) await files.readSame(index)
  expect(files.asked.listings).toBe(1)
  const [replaced, touched, gone, same] = [10, 11, 12, 13]
  await writer.put(pathOf('changing', replaced), Buffer.from('another'), attributesOf(7))
  const attributes = { modifiedMs: 1_600_000_000_000, mode: 0o600 }
  await writer.setAttributes(pathOf('changing', touched), attributes)
  await writer.remove(pathOf('changing', gone))
  expect(await files.read(replaced)).toMatchObject({
    content: Buffer.from('another'),
    attributes: attributesOf(7),
  })
  expect(await files.read(touched)).toMatchObject({ content: contentOf(touched), attributes })
  expect((await files.read(touched)).version).toBe(await writer.version(pathOf('changing', touched)))
  expect(await failureOf(reader.open(pathOf('changing', gone)))).toBe('gone')
  const before = { ...files.asked }
  await files.readSame(same)
  expect(files.asked).toEqual({ ...before, content: before.content + 1 })
})

gcsTest('a server that does not say which metadata an object has is asked for those of each', async () => {
  const count = 3 * namedAtFirst
  await using files = await createFiles('unproven', count, server.bareEndpoint)
  for (let index = 0; index < count; index++) await files.readSame(index)
  expect(files.asked).toEqual({ content: count, metadata: count, listings: 0 })
})

gcsTest('single files here and there are asked for by name', async () => {
  await using files = await createFiles('few', namedAtFirst)
  await using others = await createFiles('others', namedBeforeListing)
  for (let index = 0; index < namedAtFirst; index++) await files.readSame(index)
  for (let index = 0; index < namedBeforeListing; index++) await files.reader.open(pathOf('others', index))
  expect(files.asked.listings + others.asked.listings).toBe(0)
})
