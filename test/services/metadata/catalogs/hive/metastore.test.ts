import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { methods } from '../../../../../services/metadata/catalogs/hive/idl.ts'
import { Metastore } from '../../../../../services/metadata/catalogs/hive/metastore.ts'
import { BinaryReader, BinaryWriter } from '../../../../../services/metadata/thrift/binary.ts'
import { struct } from '../../../../../services/metadata/thrift/types.ts'
import { listenOnLoopback } from '../../../../support/loopback.ts'

const never = new AbortController().signal
const limits = { connectTimeoutMs: 2_000, callTimeoutMs: 2_000, maxReplyBytes: 100_000 }

const AnyException = struct({ message: [1, 'string'] })

/**
 * A server that says who one is, and ends the connection at whatever else it is asked: what was asked may have been done.
 * @param says with the message of a MetaException, it refuses to make a database instead
 */
async function losingDouble(says?: string) {
  const asked: string[] = []
  const server = createServer((socket) =>
    socket
      .on('data', (bytes) => {
        const reader = new BinaryReader(bytes, 4)
        const name = reader.string()
        const writer = new BinaryWriter()
        writer.i32(0x80010002 | 0)
        writer.raw(Buffer.from(name))
        writer.i32(reader.i32())
        if (name === 'set_ugi')
          writer.struct(struct({ success: [0, { kind: 'list', elements: 'string' }] }), { success: [] })
        else if (says !== undefined)
          writer.struct(struct({ failure: [3, AnyException] }), { failure: { message: says } })
        else {
          asked.push(name)
          socket.destroy()
          return
        }
        socket.write(writer.bytes)
      })
      .on('error', () => undefined),
  )
  const listening = await listenOnLoopback(server)
  return {
    asked,
    listening,
    port: listening.port,
    [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose](),
  }
}

test('what is asked is asked again, and what changes something is sent once', async () => {
  await using first = await losingDouble()
  await using second = await losingDouble()
  const addresses = [first, second].map(({ port }) => ({
    endpoint: { host: '127.0.0.1', port, secure: false, framed: false },
    address: undefined,
  }))
  const metastore = new Metastore(addresses, 'tester', limits, 'the metastore')
  const what = metastore.what('the work')
  const unreachable = { failure: 'unreachable' }
  await expect(metastore.ask(methods.database, { name: 'a' }, what, never)).rejects.toMatchObject({
    ...unreachable,
    message: expect.stringContaining('check metastoreUris') as string,
  })
  expect(first.asked.length + second.asked.length).toBe(3)
  const dropped = { name: 'a', deleteData: false, cascade: false }
  await expect(metastore.change(methods.dropDatabase, dropped, what, never)).rejects.toMatchObject(
    unreachable,
  )
  const all = [...first.asked, ...second.asked]
  expect(all.filter((name) => name === 'drop_database')).toHaveLength(1)
  metastore.close()
})

test('what changes something goes to an address that is there', async () => {
  await using there = await losingDouble()
  const addresses = [1, there.port].map((port) => ({
    endpoint: { host: '127.0.0.1', port, secure: false, framed: false },
    address: undefined,
  }))
  const metastore = new Metastore(addresses, 'tester', limits, 'the metastore')
  const dropped = { name: 'a', deleteData: false, cascade: false }
  await expect(
    metastore.change(methods.dropDatabase, dropped, metastore.what('the work'), never),
  ).rejects.toMatchObject({ failure: 'unreachable' })
  expect(there.asked).toEqual(['drop_database'])
  metastore.close()
})

const guess = 'This may result in access not allowed if the StorageBasedAuthorizationProvider is enabled'
test.for([
  [`Failed to create external path file:/lake/a for database a. ${guess}`, 'io'],
  ['Permission denied: user=ada, access=WRITE, inode="/lake"', 'permission'],
  ['database a is not allowed to be made by ada', 'permission'],
] as const)('what a metastore says: %s', async ([says, failure]) => {
  await using double = await losingDouble(says)
  const endpoint = { host: '127.0.0.1', port: double.port, secure: false, framed: false }
  const metastore = new Metastore([{ endpoint, address: undefined }], 'tester', limits, 'the metastore')
  await expect(
    metastore.change(methods.createDatabase, { database: {} }, metastore.what('the work'), never),
  ).rejects.toMatchObject({ failure })
  metastore.close()
})
