import type { FastifyInstance } from 'fastify'
import { edgeName, plainAddress } from '../broker/messages/client-address.ts'
import type { NatsConnection } from '../broker/rpc/connection.ts'
import type { HttpServerName } from '../subjects/kit/names.ts'
import { BrowserSessions } from './callers/browser-sessions.ts'
import { charging } from './callers/charging.ts'
import { Guard } from './callers/guard.ts'
import { ConnectionPool } from './callers/pool.ts'
import { metadataServer } from './metadata/index.ts'
import { migratorServer } from './migrator/index.ts'
import { platformServer } from './platform/index.ts'
import type { Edge, EdgeOptions, ServerDefinition } from './server/definition.ts'
import { listenOn } from './server/listener.ts'
import { BrokerPulse } from './server/pulse.ts'
import { createHttpServer } from './server/server.ts'

/** All HTTP servers. One more: docs/ARCHITECTURE.md, "A new server". */
export const servers: readonly ServerDefinition[] = [platformServer, migratorServer, metadataServer]

export interface RunningEdge {
  readonly urls: Record<HttpServerName, string>
  stop(): Promise<void>
}

/** Starts all HTTP servers. @throws ConfigError when a port is taken */
export async function startEdge(options: EdgeOptions): Promise<RunningEdge> {
  const edge = edgeOf(options)
  const apps: FastifyInstance[] = []
  const urls = {} as Record<HttpServerName, string>
  const stop = async (): Promise<void> => {
    await Promise.all(apps.map((app) => app.close()))
    edge.pulse.stop()
    await edge.pool.close()
  }
  try {
    for (const definition of servers) {
      const { name } = definition
      const app = await createHttpServer(definition, edge)
      apps.push(app)
      urls[name] = await listenOn(app, options.listen[name])
    }
  } catch (error) {
    await stop()
    throw error
  }
  return { urls, stop }
}

function edgeOf(options: EdgeOptions): Edge {
  const { marks, floods, isSealed, limitsOf, onRefusal, onViolation } = options
  const pool = new ConnectionPool(options.brokerUrl, {
    nameFor: (address, token) => edgeName(marks, address, token),
    guard: new Guard({ onRefusal, isSealed }),
    limitsOf,
  })
  const keyIdOf = (connection: NatsConnection) => pool.keyIdOf(connection)
  return {
    ...options,
    pool,
    keyIdOf,
    sessions: new BrowserSessions(options.publicUrl),
    pulse: new BrokerPulse(options.edgeConnection),
    charged: charging(floods, keyIdOf),
    onDenied: (connection, subject, address) => {
      const keyId = keyIdOf(connection)
      if (keyId !== undefined) onViolation({ keyId, action: 'publish', subject, from: plainAddress(address) })
    },
  }
}
