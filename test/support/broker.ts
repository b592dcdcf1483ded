import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { connectAs } from '../../broker/rpc/platform-connection.ts'
import { createIdentity } from '../../broker/identity/create-identity.ts'
import type { Identity } from '../../broker/identity/identity.ts'
import type { Log } from '../../broker/common/log.ts'
import type { MessagingConfig } from '../../config/messaging.ts'
import { type BrokerServer, startBroker } from '../../broker/server/server.ts'
import type { Capabilities } from '../../broker/identity/user-jwt.ts'
import type { AccountName } from '../../subjects/kit/names.ts'
import { freePort, natsServerPath, testLog } from './platform.ts'
import { until } from './until.ts'

/** A real nats-server with the platform's accounts and nothing else. */
export interface TestBroker extends AsyncDisposable {
  readonly home: string
  readonly identity: Identity
  readonly server: BrokerServer
  /** Connects as the platform does; closed with the broker. */
  connect(account: AccountName, name?: string, capabilities?: Capabilities): Promise<NatsConnection>
  /** kill -9 of nats-server; resolves when the next one runs and the connections are back. */
  kill(): Promise<void>
}

export interface TestBrokerOptions {
  readonly home?: string
  readonly identity?: Identity
  readonly messaging?: Partial<MessagingConfig>
  readonly log?: Log
  /** Path of nats-server. */
  readonly binary?: string
}

export const smallLimits = { maxMemBytes: 64 * 2 ** 20, maxFileBytes: 2 ** 30 }

/** The configuration of a broker in a folder, on free ports. */
export const messagingIn = (home: string, changes: Partial<MessagingConfig> = {}): MessagingConfig => ({
  ...smallLimits,
  storeDir: join(home, 'jetstream'),
  host: '127.0.0.1',
  port: 0,
  websocketPort: 0,
  allowedOrigins: [],
  syncAlways: false,
  ...changes,
})

/** Starts a broker in a folder of its own. */
export async function startTestBroker(options: TestBrokerOptions = {}): Promise<TestBroker> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'gantry-broker-'))
  // One that the system gives to clients could be taken while the server is down.
  const ports = { port: await freePort(), websocketPort: await freePort() }
  const messaging = messagingIn(home, { ...ports, ...options.messaging })
  const identity = options.identity ?? (await createIdentity(messaging))
  const server = await startBroker({
    binary: options.binary ?? (await natsServerPath()),
    runDir: join(home, 'run'),
    identity,
    messaging,
    log: options.log ?? testLog,
  })
  const connections: NatsConnection[] = []
  return {
    home,
    identity,
    server,
    connect: async (account, name = 'test', capabilities) => {
      const shape = capabilities === undefined ? {} : { capabilities }
      const connection = await connectAs(account, { url: server.tcpUrl, identity, name, ...shape })
      connections.push(connection)
      return connection
    },
    kill: async () => {
      const open = connections.filter((connection) => !connection.isClosed())
      const back = open.map(reconnected)
      await killServer(server)
      await Promise.all(back)
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(connections.map((connection) => connection.close()))
      await server.stop()
      if (options.home === undefined) rmSync(home, { recursive: true, force: true })
    },
  }
}

/** What is there while nats-server removes the files of a stream of this name that was deleted. Returns its path. */
export function removalOf({ home }: Pick<TestBroker, 'home'>, stream: string): string {
  const [path] = globSync(`**/streams/${stream}`, { cwd: home })
  const removed = join(home, dirname(path!), `.${stream}`)
  mkdirSync(removed)
  writeFileSync(join(removed, '1.blk'), '')
  return removed
}

/** kill -9 of nats-server; resolves when the next one runs. */
export async function killServer(server: { pid(): number | undefined }): Promise<void> {
  const pid = await until('nats-server runs', () => server.pid())
  process.kill(pid, 'SIGKILL')
  await until('another nats-server runs', () => {
    const next = server.pid()
    return next !== undefined && next !== pid
  })
}

/** Resolves when the connection has been lost and is there again. */
async function reconnected(connection: NatsConnection): Promise<void> {
  for await (const { type } of connection.status()) if (type === 'reconnect') return
}
