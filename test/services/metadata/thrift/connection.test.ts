import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { BinaryReader, BinaryWriter } from '../../../../services/metadata/thrift/binary.ts'
import { ThriftConnection } from '../../../../services/metadata/thrift/connection.ts'
import {
  ThriftBroken,
  ThriftException,
  ThriftRefusal,
} from '../../../../services/metadata/thrift/failures.ts'
import { MalformedThrift } from '../../../../services/metadata/thrift/scanner.ts'
import { list, method, struct } from '../../../../services/metadata/thrift/types.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'

const never = new AbortController().signal
const limits = { connectTimeoutMs: 2_000, callTimeoutMs: 2_000, maxReplyBytes: 100_000 }
const names = method('names', { like: [1, 'string'] }, list('string'), { 1: 'Missing' })

const result = struct({ success: [0, list('string')] })
const thrown = struct({ missing: [1, struct({ message: [1, 'string'] })] })
const refusal = struct({ message: [1, 'string'], type: [2, 'i32'] })

/** A message as servers send it. */
function message(
  type: number,
  name: string,
  sequence: number,
  write: (writer: BinaryWriter) => void,
): Buffer {
  const writer = new BinaryWriter()
  writer.i32(0x80010000 | type)
  writer.raw(Buffer.from(name))
  writer.i32(sequence)
  write(writer)
  return writer.bytes
}
const reply = (values: readonly string[], sequence = 1, name = 'names') =>
  message(2, name, sequence, (writer) => writer.struct(result, { success: values }))
const frame = (bytes: Buffer): Buffer => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** A server of the test's own that answers each piece that comes; and a connection to it. */
async function connected(
  answer: (asked: Buffer, socket: Socket) => void,
  { framed = false, callTimeoutMs = limits.callTimeoutMs } = {},
) {
  await using starting = new AsyncDisposableStack()
  const server = createServer((socket) =>
    socket.on('data', (asked) => answer(asked, socket)).on('error', () => undefined),
  )
  const { port } = starting.use(await listenOnLoopback(server))
  const endpoint = { host: '127.0.0.1', port, secure: false, framed }
  const connection = await ThriftConnection.open(endpoint, { ...limits, callTimeoutMs }, { signal: never })
  starting.defer(() => connection.close())
  const all = starting.move()
  return { connection, [Symbol.asyncDispose]: () => all.disposeAsync() }
}
const ask = (connection: ThriftConnection, signal = never) => connection.call(names, { like: '*' }, signal)

test('a call is answered, whatever the pieces in which the answer comes', async () => {
  const values = ['a', 'ü'.repeat(1_000)]
  await using to = await connected((asked, socket) => {
    const reader = new BinaryReader(asked)
    expect([reader.i32() >>> 0, reader.string()]).toEqual([0x80010001, 'names'])
    const sequence = reader.i32()
    expect(reader.struct(names.parameters)).toEqual({ like: '*' })
    const bytes = reply(values, sequence)
    void (async () => {
      for (let at = 0; at < bytes.length; at += 100) {
        socket.write(bytes.subarray(at, at + 100))
        await new Promise(setImmediate)
      }
    })()
  })
  expect(await ask(to.connection)).toEqual(values)
  expect(await ask(to.connection)).toEqual(values)
})

test('frames', async () => {
  await using to = await connected(
    (asked, socket) => {
      expect(asked.readInt32BE()).toBe(asked.length - 4)
      socket.write(frame(reply(['a'])))
    },
    { framed: true },
  )
  expect(await ask(to.connection)).toEqual(['a'])
})

test('an exception of the definition, and a function that there is not', async () => {
  const answers = [
    message(2, 'names', 1, (writer) => writer.struct(thrown, { missing: { message: 'no such' } })),
    message(3, 'names', 2, (writer) => writer.struct(refusal, { message: 'Invalid method name', type: 1 })),
  ]
  await using to = await connected((_, socket) => socket.write(answers.shift()!))
  const first = await ask(to.connection).catch((error: unknown) => error)
  expect(first).toBeInstanceOf(ThriftException)
  expect(first).toMatchObject({ name: 'Missing', message: 'no such' })
  const second = await ask(to.connection).catch((error: unknown) => error)
  expect(second).toBeInstanceOf(ThriftRefusal)
  expect(second).toMatchObject({ isUnknownMethod: true })
  expect(to.connection.isUsable).toBe(true)
})

test.each([
  ['another service', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ['an answer to another call', reply(['a'], 7)],
  ['an answer to another function', reply(['a'], 1, 'other')],
  ['more than an answer', Buffer.concat([reply(['a']), Buffer.from([0])])],
  ['an answer without a result', message(2, 'names', 1, (writer) => writer.struct(struct({}), {}))],
  ['an answer that is too long', reply(['a'.repeat(limits.maxReplyBytes)])],
])('%s: the connection is given up', async (_, answer) => {
  await using to = await connected((_asked, socket) => socket.write(answer))
  await expect(ask(to.connection)).rejects.toThrow(MalformedThrift)
  expect(to.connection.isUsable).toBe(false)
})

test('a server that says nothing is given up, and so is one that closes the connection', async () => {
  await using silent = await connected(() => undefined, { callTimeoutMs: 50 })
  await expect(ask(silent.connection)).rejects.toThrow('not answered within 0.05 s')
  expect(silent.connection.isUsable).toBe(false)
  await using closing = await connected((_, socket) => socket.destroy())
  await expect(ask(closing.connection)).rejects.toThrow(ThriftBroken)
})

test('a call that is given up leaves no answer for the next one', async () => {
  await using to = await connected(() => undefined)
  const controller = new AbortController()
  const asked = ask(to.connection, controller.signal)
  controller.abort(new Error('enough'))
  await expect(asked).rejects.toThrow('enough')
  expect(to.connection.isUsable).toBe(false)
})

test('nobody listens', async () => {
  const server = createServer()
  const { port, ...gone } = await listenOnLoopback(server)
  const closed = once(server, 'close')
  await gone[Symbol.asyncDispose]()
  await closed.catch(() => undefined)
  const endpoint = { host: '127.0.0.1', port, secure: false, framed: false }
  await expect(ThriftConnection.open(endpoint, limits, { signal: never })).rejects.toMatchObject({
    code: 'ECONNREFUSED',
  })
})
