import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { limitSockets } from '../../../http-edge/server/socket-limit.ts'
import { until } from '../../support/until.ts'

const most = 4
const limited = { most, isExempt: () => false }

/** A server that answers `/held` when it is told to, and everything else at once. */
async function serverWith(limit: (server: Server) => void) {
  const held: (() => void)[] = []
  const server = createServer((request, response) => {
    if (request.url === '/held') held.push(() => response.end('held'))
    else response.end('ok')
  })
  limit(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  return {
    held,
    open: async (): Promise<Socket> => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined)
      sockets.push(socket)
      await once(socket, 'connect')
      return socket.resume()
    },
    ask: async (socket: Socket, path = '/'): Promise<string> => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      const [data] = (await once(socket, 'data')) as [Buffer]
      return data.toString()
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

test('an address that has as many sockets as it may loses the one that was idle longest', async () => {
  await using server = await serverWith((one) => limitSockets(one, limited))
  const sockets: Socket[] = []
  for (let n = 0; n < most; n++) sockets.push(await server.open())
  // The first one has sent half a request, and the second was used since.
  sockets[0]!.write('GET / HTTP/1.1\r\nHost')
  expect(await server.ask(sockets[1]!)).toMatch(/^HTTP\/1.1 200 /)
  expect(await server.ask(await server.open())).toMatch(/^HTTP\/1.1 200 /)
  await until('the first is closed', () => sockets[0]!.destroyed)
  expect(await server.ask(await server.open())).toMatch(/^HTTP\/1.1 200 /)
  await until('the third is closed', () => sockets[2]!.destroyed)
  expect(await server.ask(sockets[1]!)).toMatch(/^HTTP\/1.1 200 /)
})

test('what is being answered stays, and the new one goes', async () => {
  await using server = await serverWith((one) => limitSockets(one, limited))
  const answers: Promise<string>[] = []
  for (let n = 0; n < most; n++) answers.push(server.ask(await server.open(), '/held'))
  await until('all are being answered', () => server.held.length === most)
  const more = await server.open()
  await until('the new one is closed', () => more.destroyed)
  for (const answer of server.held) answer()
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/held$/)
})

test('this host itself has no limit', async () => {
  await using server = await serverWith((one) => limitSockets(one, { most }))
  const sockets: Socket[] = []
  for (let n = 0; n < 3 * most; n++) sockets.push(await server.open())
  for (const socket of sockets) expect(await server.ask(socket)).toMatch(/^HTTP\/1.1 200 /)
})
