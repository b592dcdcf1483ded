import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** An endpoint that accepts connections and never answers. */
export async function silentEndpoint() {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket.on('error', () => undefined)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const spec = {
    kind: 'adls2-shared-key',
    options: {
      accountName: 'account',
      sharedKey: 'AAAA',
      containerName: 'container',
      endpoint: `127.0.0.1:${(server.address() as AddressInfo).port}`,
      insecure: true,
    },
  } as const
  return {
    spec,
    connections: () => sockets.length,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
