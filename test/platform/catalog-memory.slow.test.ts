import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BinaryReader, BinaryWriter } from '../../services/metadata/thrift/binary.ts'
import { wireTypes } from '../../services/metadata/thrift/types.ts'
import { settings } from '../../subjects/access/settings.ts'
import { loopback } from '../../subjects/kit/names.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const catalogId = 'endless'

/** A server of the test's own that answers each call with a list of many structs with nothing in them. */
async function endlessListsDouble(count: number) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (asked) => {
      const reader = new BinaryReader(asked)
      reader.i32()
      const name = reader.string()
      const writer = new BinaryWriter()
      writer.i32(0x80010002 | 0)
      writer.raw(Buffer.from(name))
      writer.i32(reader.i32())
      writer.byte(wireTypes.list)
      writer.i16(0)
      const isOfTables = name === 'get_table_meta'
      writer.byte(isOfTables ? wireTypes.struct : wireTypes.string)
      writer.i32(isOfTables ? count : 0)
      // Each struct ends at once, and so does the answer.
      socket.write(Buffer.concat([writer.bytes, Buffer.alloc((isOfTables ? count : 0) + 1)]))
    })
  })
  return listenOnLoopback(server)
}

test('a server that answers with more than memory holds takes its thread and nothing else', async () => {
  await platform.call(settings.put, { storeHosts: [loopback] })
  await using server = await endlessListsDouble(30_000_000)
  const metastoreUris = `thrift://127.0.0.1:${server.port}`
  await platform.call(metadataCatalogs['create-hive'], { catalogId, metastoreUris })
  const tables = platform.call(metadataCatalogs.tables, { catalogId, database: 'default' })
  await expect(tables).rejects.toMatchObject({
    code: 'STORE_REFUSED',
    message: expect.stringContaining('MiB can hold'),
  })
  expect(await platform.call(metadataCatalogs.databases, { catalogId })).toEqual([])
  await platform.call(metadataCatalogs.delete, { catalogId })
})
