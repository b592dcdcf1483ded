import { once } from 'node:events'
import { type AddressInfo, createServer, connect as open } from 'node:net'
import { expect, test } from 'vitest'
import { connectAs } from '../../../broker/rpc/platform-connection.ts'
import { startTestBroker } from '../../support/broker.ts'

test('a broker that dies while somebody connects costs that one a short while', async () => {
  await using broker = await startTestBroker()
  const { port } = new URL(broker.server.tcpUrl)
  let cut = 0
  const proxy = createServer((client) => {
    const server = open(Number(port), '127.0.0.1')
    for (const socket of [client, server]) socket.on('error', () => undefined)
    server.pipe(client)
    // The first to connect has said who it is, and gets no answer.
    if (cut++ === 0) return client.once('data', () => [client, server].map((socket) => socket.destroy()))
    return client.pipe(server)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const url = `nats://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const begunMs = performance.now()
  const connection = await connectAs('PLATFORM', { url, identity: broker.identity, name: 'test' })
  await connection.flush()
  expect(performance.now() - begunMs).toBeLessThan(5_000)
  expect(cut).toBeGreaterThan(1)
  await connection.close()
  proxy.close()
})
