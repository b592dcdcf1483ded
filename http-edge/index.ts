import type { FastifyInstance } from 'fastify'
import { type AddressMarks, edgeName } from '../broker/client-address.ts'
import { ConfigError } from '../broker/config-error.ts'
import type { NatsConnection } from '../broker/connection.ts'
import type { Log } from '../broker/log.ts'
import { contracts } from '../subjects/index.ts'
import {
  type HttpServerName,
  httpServers,
  loopback,
  serverAddressKey,
  serverPortKey,
} from '../subjects/names.ts'
import { byConnection, byToken, byTokenOrLocalHost } from './authority.ts'
import { addDocs } from './docs.ts'
import { ConnectionPool } from './pool.ts'
import type { ListenOptions } from './properties.ts'
import { createHttpServer } from './server.ts'

export interface EdgeOptions {
  readonly listen: Record<HttpServerName, ListenOptions>
  /** Broker address for pooled connections. */
  readonly brokerUrl: string
  /** Makes the broker believe what the edge says of its clients. */
  readonly marks: AddressMarks
  /** Connection of the edge's own narrow key. */
  readonly edgeConnection: NatsConnection
  /** The token with which the migrator serves programs on its own host. */
  readonly operatorToken: string
  readonly version: string
  readonly log: Log
}

export interface Edge {
  readonly urls: Record<HttpServerName, string>
  stop(): Promise<void>
}

/** Starts all HTTP servers. @throws ConfigError when a port is taken */
export async function startEdge(options: EdgeOptions): Promise<Edge> {
  const { listen, brokerUrl, marks, edgeConnection, operatorToken, version, log } = options
  const pool = new ConnectionPool(brokerUrl, { nameFor: (address, token) => edgeName(marks, address, token) })
  const authorities = {
    platform: byToken(pool),
    migrator: byTokenOrLocalHost(pool, () => pool.get(operatorToken)),
  }
  const apps: FastifyInstance[] = []
  const urls = {} as Record<HttpServerName, string>
  const stop = async (): Promise<void> => {
    await Promise.all(apps.map((app) => app.close()))
    await pool.close()
  }
  try {
    for (const server of Object.keys(httpServers) as HttpServerName[]) {
      const app = createHttpServer({
        server,
        contracts,
        authority: authorities[server],
        publicAuthority: byConnection(edgeConnection),
        marks,
        log,
      })
      apps.push(app)
      await addDocs(app, server, version)
      urls[server] = await listenOn(app, server, listen[server])
    }
  } catch (error) {
    await stop()
    throw error
  }
  return { urls, stop }
}

async function listenOn(
  app: FastifyInstance,
  server: HttpServerName,
  { host, port }: ListenOptions,
): Promise<string> {
  try {
    await app.listen({ host, port })
  } catch (cause) {
    throw new ConfigError(listenProblem(server, host, port, cause as NodeJS.ErrnoException), { cause })
  }
  const address = app.server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  const name = host === '::' || host === '0.0.0.0' ? loopback : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${bound}`
}

function listenProblem(
  server: HttpServerName,
  host: string,
  port: number,
  { code }: NodeJS.ErrnoException,
): string {
  const { propertiesFile } = httpServers[server]
  const fix =
    code === 'EADDRINUSE'
      ? `is taken by another program: stop what uses it, or change ${serverPortKey}`
      : `cannot be used (${code}): change ${code === 'EACCES' ? serverPortKey : serverAddressKey}`
  return `${propertiesFile}: port ${port} on ${host} ${fix}`
}
