import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pino } from 'pino'
import { findNatsServer } from '../../broker/server/nats-server.ts'

/** What a user of the server may do; as in its configuration file. */
export interface Permissions {
  readonly publish?: { readonly allow: readonly string[] }
  readonly subscribe?: { readonly allow: readonly string[]; readonly deny?: readonly string[] }
}

/** A real nats-server whose only purpose is to decide. Its users are numbered as their permissions were given. */
export interface PermissionServer extends AsyncDisposable {
  connect(user: number): Promise<Wire>
}

/** A client of nothing but the protocol, so that each line of the server is seen, and in order. */
export interface Wire extends Disposable {
  /** Sends the lines; what the server has said when it has read them all. */
  send(...lines: string[]): Promise<string[]>
}

const password = 'local'

/** Starts a server with these users; it ends with its scope. */
export async function startPermissionServer(users: readonly Permissions[]): Promise<PermissionServer> {
  const { path } = await findNatsServer({ log: pino({ level: 'silent' }) })
  const folder = await mkdtemp(join(tmpdir(), 'gantry-permissions-'))
  const configFile = join(folder, 'nats-server.conf')
  const config = {
    listen: '127.0.0.1:-1',
    authorization: {
      users: users.map((permissions, index) => ({ user: `user${index}`, password, permissions })),
    },
  }
  await writeFile(configFile, JSON.stringify(config))
  const server = spawn(path, ['-c', configFile], { stdio: ['ignore', 'ignore', 'pipe'] })
  const port = await portOf(createInterface(server.stderr))
  // It logs every refusal, and stops when nobody reads.
  server.stderr.resume()
  return {
    connect: (user) => connectWire(port, `user${user}`),
    [Symbol.asyncDispose]: async () => {
      const ended = once(server, 'exit')
      server.kill()
      await ended
      await rm(folder, { recursive: true })
    },
  }
}

async function portOf(log: AsyncIterable<string>): Promise<number> {
  const lines: string[] = []
  for await (const line of log) {
    const port = /Listening for client connections on .*:(\d+)/.exec(line)?.[1]
    if (port !== undefined) return Number(port)
    lines.push(line)
  }
  throw new Error(`nats-server did not start: ${lines.join('\n')}`)
}

async function connectWire(port: number, user: string): Promise<Wire> {
  const socket = connect(port, '127.0.0.1')
  const lines = createInterface(socket)[Symbol.asyncIterator]()
  const wire = {
    send: async (...sent: string[]) => {
      socket.write([...sent, 'PING', ''].join('\r\n'))
      return untilPong(lines)
    },
    [Symbol.dispose]: () => {
      socket.destroy()
    },
  }
  const said = await wire.send(`CONNECT ${JSON.stringify({ user, pass: password, verbose: false })}`)
  const refusal = said.find((line) => line.startsWith('-ERR'))
  if (refusal !== undefined) throw new Error(`${user} cannot connect: ${refusal}`)
  return wire
}

async function untilPong(lines: AsyncIterator<string>): Promise<string[]> {
  const said: string[] = []
  for (;;) {
    const { value, done } = await lines.next()
    if (done === true) throw new Error(`the server has closed the connection: ${said.join('\n')}`)
    if (value === 'PONG') return said
    said.push(value)
  }
}
