import { createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { jobSignal, withinJob } from '../../../../services/drivers/http/job-signal.ts'
import { isStaleConnection, Transport, UnreadableBody } from '../../../../services/drivers/http/transport.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'

const limits = { connectTimeoutMs: 20_000, idleTimeoutMs: 20_000, connections: 2 }
const get = { method: 'GET', target: '/', headers: ['host', 'store'] }
const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/**
 * A server that says what the test wants, byte for byte, and a transport to it.
 * @param answer called with each piece that came, and all that came over the connection so far
 */
async function startServer(
  answer: (socket: Socket, received: string, connection: number) => void,
  changed: Partial<typeof limits> = {},
) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    const number = sockets.push(socket)
    let received = ''
    socket.on('error', () => undefined)
    socket.on('data', (piece: Buffer) => {
      received += piece.toString('latin1')
      answer(socket, received, number)
    })
  })
  const listening = await listenOnLoopback(server)
  const { port } = listening
  const transport = new Transport({ secure: false, host: '127.0.0.1', port }, { ...limits, ...changed })
  onTestFinished(async () => {
    transport.close()
    for (const socket of sockets) socket.destroy()
    await listening[Symbol.asyncDispose]()
  })
  return { transport, port, sockets }
}

test('sends what it is given, and a connection serves the next request', async () => {
  const all: string[] = []
  const { transport, sockets } = await startServer((socket, received) => {
    if (!/\r\n\r\n(?:hello)?$/.test(received)) return
    all.push(received)
    socket.write(ok)
  })
  const put = { ...get, method: 'PUT', target: '/a?b=c', headers: ['host', 'store', 'content-length', '5'] }
  expect((await transport.exchange(get)).body.toString()).toBe('ok')
  await transport.exchange({ ...put, body: Buffer.from('hello') })
  await transport.exchange({ ...put, headers: ['host', 'store'] })
  expect(sockets).toHaveLength(1)
  expect(all.at(-1)).toBe(
    'GET / HTTP/1.1\r\nhost: store\r\nconnection: keep-alive\r\n\r\n' +
      'PUT /a?b=c HTTP/1.1\r\nhost: store\r\ncontent-length: 5\r\nconnection: keep-alive\r\n\r\nhello' +
      'PUT /a?b=c HTTP/1.1\r\nhost: store\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n',
  )
})

test('bodies of any size and in pieces arrive whole', async () => {
  const large = Buffer.alloc(3_000_000, 'content ')
  const { transport } = await startServer((socket, received) => {
    if (received.length - received.indexOf('\r\n\r\n') - 4 === large.length)
      socket.end(`HTTP/1.1 200 OK\r\n\r\n${received.slice(received.indexOf('\r\n\r\n') + 4)}`)
  })
  const put = { method: 'PUT', target: '/', headers: ['content-length', String(large.length)] }
  const pieces = async function* () {
    for (let at = 0; at < large.length; at += 70_000) yield large.subarray(at, at + 70_000)
  }
  expect((await transport.exchange({ ...put, body: large })).body.equals(large)).toBe(true)
  expect((await transport.exchange({ ...put, body: pieces() })).body.equals(large)).toBe(true)
})

test('no more connections than allowed; who waits comes in turn', async () => {
  const open: Socket[] = []
  const { transport, sockets } = await startServer((socket) => void open.push(socket))
  const answered: number[] = []
  const all = [0, 1, 2, 3, 4].map((index) => transport.exchange(get).then(() => answered.push(index)))
  for (let count = 0; count < all.length;) {
    await expect.poll(() => open.length).toBeGreaterThan(0)
    open.shift()?.write(ok)
    count++
    await expect.poll(() => answered.length).toBe(count)
  }
  await Promise.all(all)
  expect(answered.toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3, 4])
  expect(sockets).toHaveLength(2)
})

test('who waits for a connection reads what it sends within its own job, and not that of who had the connection', async () => {
  const { transport } = await startServer(
    (socket, received) => {
      if (/\r\n\r\n$|hello$/.test(received)) socket.write(ok)
    },
    { connections: 1 },
  )
  const [before, own] = [new AbortController().signal, new AbortController().signal]
  const seen: unknown[] = []
  const body = async function* () {
    seen.push(jobSignal())
    yield Buffer.from('hello')
    seen.push(jobSignal())
  }
  const put = { ...get, method: 'PUT', headers: ['host', 'store', 'content-length', '5'] }
  await Promise.all([
    withinJob(before, () => transport.exchange(get)),
    withinJob(own, () => transport.exchange({ ...put, body: body() })),
  ])
  expect(seen).toEqual([own, own])
})

test.each([
  ['is closed with its answer', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'],
  ['says that it closes at once', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nkeep-alive: timeout=1\r\n\r\nok'],
  ['has more than its answer', `${ok}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`],
])('a connection that %s is not used again', async (_what, answer) => {
  const { transport, sockets } = await startServer((socket) => void socket.write(answer))
  expect((await transport.exchange(get)).body.toString()).toBe('ok')
  expect((await transport.exchange(get)).body.toString()).toBe('ok')
  expect(sockets).toHaveLength(2)
})

test('a connection that was closed when it was used again says that the request was not begun', async () => {
  const { transport } = await startServer((socket, received) => {
    if (received.split('\r\n\r\n').length === 2) socket.write(ok)
    else socket.resetAndDestroy()
  })
  await transport.exchange(get)
  const error: unknown = await transport.exchange(get).catch((thrown: unknown) => thrown)
  expect(isStaleConnection(error)).toBe(true)
})

test.each([
  ['before the answer', ''],
  ['within the head', 'HTTP/1.1 200 OK\r\nconte'],
  ['within the body', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok'],
])('a new connection that is closed %s is an error of the network', async (_when, answer) => {
  const { transport } = await startServer((socket) => void socket.end(answer))
  const error: unknown = await transport.exchange(get).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'ECONNRESET' })
  expect(isStaleConnection(error)).toBe(false)
})

test('what is no answer fails, and its connection ends', async () => {
  const { transport, sockets } = await startServer((socket) => void socket.write('220 mail ready\r\n\r\n'))
  await expect(transport.exchange(get)).rejects.toThrow('does not begin like one of HTTP/1.1')
  await expect.poll(() => sockets[0]?.destroyed).toBe(true)
})

test('a server that says nothing is given up after the time that was allowed', async () => {
  const { transport } = await startServer(() => undefined, { idleTimeoutMs: 50 })
  await expect(transport.exchange(get)).rejects.toMatchObject({
    code: 'ETIMEDOUT',
    message: 'no data for 50 ms',
  })
})

test('an answer that drips is given up after minutes; one that services keep alive with blanks is not', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const drip = async (socket: Socket, minutes: number) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    for (let minute = 0; minute < minutes && !socket.destroyed; minute++) {
      // Each blank arrives by itself, a minute after the one before.
      await new Promise((resolve) => socket.write(' ', resolve))
      await turn()
      vi.advanceTimersByTime(60_000)
    }
    socket.end('done')
  }
  const { transport } = await startServer(
    (socket, received) => void drip(socket, /(\d+)/.exec(received)![1] === '14' ? 14 : 60),
  )
  const asked = (minutes: number) => transport.exchange({ ...get, target: `/${minutes}` })
  await expect(asked(60)).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  expect((await asked(14)).body.toString().trim()).toBe('done')
})

test('who aborts hears its own reason at once, under way, waiting and before', async () => {
  const { transport, sockets } = await startServer(() => undefined, { connections: 1 })
  const aborts = [new AbortController(), new AbortController()] as const
  const asked = aborts.map(({ signal }) =>
    transport.exchange({ ...get, signal }).catch((error: unknown) => error),
  )
  await expect.poll(() => sockets.length).toBe(1)
  aborts[1].abort('second')
  aborts[0].abort('first')
  expect(await Promise.all(asked)).toEqual(['first', 'second'])
  await expect(transport.exchange({ ...get, signal: AbortSignal.abort('third') })).rejects.toBe('third')
  await expect.poll(() => sockets[0]?.destroyed).toBe(true)
})

test('a body that cannot be read, or has another length, is told with its cause', async () => {
  const { transport } = await startServer(() => undefined)
  const put = { method: 'PUT', target: '/', headers: ['content-length', '10'] }
  const broken = async function* () {
    yield Buffer.from('12345')
    throw new Error('the disk is gone')
  }
  const of = async function* (...pieces: string[]) {
    for (const piece of pieces) yield Buffer.from(piece)
  }
  const failure = (body: AsyncIterable<Buffer>) =>
    transport.exchange({ ...put, body }).catch((error: unknown) => error)
  const unread = await failure(broken())
  expect(unread).toBeInstanceOf(UnreadableBody)
  expect(unread).toMatchObject({ cause: { message: 'the disk is gone' } })
  expect(await failure(of('12345'))).toBeInstanceOf(UnreadableBody)
  expect(await failure(of('12345', '678901'))).toBeInstanceOf(UnreadableBody)
})

test('an answer before all was sent ends the connection', async () => {
  const { transport, sockets } = await startServer((socket) => void socket.write(ok))
  const held = Promise.withResolvers<undefined>()
  const body = async function* () {
    yield Buffer.from('12345')
    await held.promise
    yield Buffer.from('67890')
  }
  const put = { method: 'PUT', target: '/', headers: ['content-length', '10'], body: body() }
  expect((await transport.exchange(put)).status).toBe(200)
  held.resolve(undefined)
  await expect.poll(() => sockets[0]?.destroyed).toBe(true)
})

test.each([
  ['a header', { ...get, headers: ['x-amz-meta-name', 'a\r\nevil: b'] }],
  ['a name of a header', { ...get, headers: ['a: b\r\nc', 'd'] }],
  ['a target', { ...get, target: '/a HTTP/1.1\r\nevil: b' }],
  ['a method', { ...get, method: 'GET /' }],
  ['a header of more than bytes', { ...get, headers: ['x-amz-meta-name', 'ü€'] }],
  ['a body of unknown length', { ...get, method: 'PUT', body: Buffer.from('a') }],
])('%s that would be read as something else is not sent', async (_what, wire) => {
  const { transport, sockets } = await startServer((socket) => void socket.write(ok))
  await expect(transport.exchange(wire)).rejects.toMatchObject({ code: 'ERR_INVALID_CHAR' })
  await turn()
  expect(sockets).toHaveLength(0)
})

test('after it went to another place, connections to the first are not used', async () => {
  const first = await startServer((socket) => void socket.write(ok.replace(/ok$/, 'no')))
  const second = await startServer((socket) => void socket.write(ok))
  await first.transport.exchange(get)
  first.transport.moveTo({ secure: false, host: '127.0.0.1', port: second.port })
  expect((await first.transport.exchange(get)).body.toString()).toBe('ok')
})

test('requests under way and waiting fail when it closes, and nothing keeps the process', async () => {
  const { transport, sockets } = await startServer(() => undefined, { connections: 1 })
  const asked = [transport.exchange(get), transport.exchange(get)].map((one) =>
    one.catch((error: NodeJS.ErrnoException) => error.code),
  )
  await expect.poll(() => sockets.length).toBe(1)
  transport.close()
  expect(await Promise.all(asked)).toEqual(['ECONNRESET', 'ECONNRESET'])
})
