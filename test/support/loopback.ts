import { once } from 'node:events'
import { connect, type Server } from 'node:net'

/** Lets a server listen on a free port of loopback; it is closed with the scope, its connections cut. */
export async function listenOnLoopback(server: Server): Promise<AsyncDisposable & { readonly port: number }> {
  const sockets = new Set<{ destroy(): unknown }>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  return {
    port: address.port,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Whether somebody listens on a port of loopback. */
export const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const done = (does: boolean) => {
      socket.destroy()
      resolve(does)
    }
    socket.once('connect', () => done(true)).once('error', () => done(false))
  })
