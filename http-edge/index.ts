import type { FastifyInstance } from 'fastify'
import { type AddressMarks, edgeName, plainAddress } from '../broker/messages/client-address.ts'
import { ConfigError } from '../config/config-error.ts'
import type { NatsConnection } from '../broker/rpc/connection.ts'
import type { FloodGuard } from '../broker/limits/flood-guard.ts'
import type { Log } from '../broker/common/log.ts'
import type { BeginSpan } from '../broker/messages/tracing.ts'
import type { Violation } from '../broker/callout/violations.ts'
import { contracts } from '../subjects/index.ts'
import type { MetricRegistry } from '../subjects/observability/metric-registry.ts'
import {
  hostInUrl,
  type HttpServerName,
  httpServers,
  serverAddressKey,
  serverPortKey,
} from '../subjects/kit/names.ts'
import { observability } from '../subjects/observability/observability.ts'
import {
  type Authority,
  byConnection,
  byCredentials,
  byTokenOrLocalHost,
  byTokenOrSession,
  whileAnswering,
} from './callers/authority.ts'
import { BrowserSessions } from './callers/browser-sessions.ts'
import { charging } from './callers/charging.ts'
import { addDocs } from './documents/docs.ts'
import { addExtensionRoutes } from './extensions/extensions.ts'
import { Guard, type OnRefusal } from './callers/guard.ts'
import { addLiveDocuments } from './documents/live-documents.ts'
import { ConnectionPool } from './callers/pool.ts'
import type { ListenOptions, MetricsAccess } from './server/properties.ts'
import { BrokerPulse } from './server/pulse.ts'
import { createHttpServer } from './server/server.ts'
import { addSignIn } from './callers/sign-in.ts'

export interface EdgeOptions {
  readonly listen: Record<HttpServerName, ListenOptions>
  /** Broker address for pooled connections. */
  readonly brokerUrl: string
  /** Makes the broker believe what the edge says of its clients. */
  readonly marks: AddressMarks
  /** Connection of the edge's own narrow key. */
  readonly edgeConnection: NatsConnection
  /** Where passwords and JSON Web Tokens are checked; undefined while the migrator has no access control. */
  readonly credentialConnection: NatsConnection | undefined
  /** Where endpoints of extensions are looked up. */
  readonly lookupConnection: NatsConnection
  /** Has a listener called whenever what a lookup says of an extension may have changed. */
  readonly onExtensionsChange: (listener: (prefix: string) => void) => void
  /** Who may read the metrics. */
  readonly metricsAccess: MetricsAccess
  /** The token with which the migrator serves programs on its own host. */
  readonly operatorToken: () => string
  /** Where browsers reach the platform's server. */
  readonly publicUrl: string
  /** Whether a token was made by this platform, whatever has become of its key. */
  readonly isSealed: (token: string) => boolean
  /** Where keys are charged for what their bodies take here. */
  readonly floods: Pick<FloodGuard, 'owes' | 'spent'>
  /** Whose a key is, and how many connections its owner may have. */
  readonly limitsOf: (
    keyId: string,
  ) => Promise<{ readonly owner: string; readonly maxConnections: number } | undefined>
  /** Hears of everybody whom the edge turns away by itself. */
  readonly onRefusal: OnRefusal
  /** Hears of calls that the broker does not let a key make. */
  readonly onViolation: (violation: Violation) => void
  readonly version: string
  readonly metrics: MetricRegistry
  readonly beginSpan: BeginSpan
  readonly log: Log
}

/** Where the metrics are. */
const metricsPaths = observability.prometheus.http.map(({ path }) => path)

export interface Edge {
  readonly urls: Record<HttpServerName, string>
  stop(): Promise<void>
}

/** Starts all HTTP servers. @throws ConfigError when a port is taken */
export async function startEdge(options: EdgeOptions): Promise<Edge> {
  const { listen, brokerUrl, marks, edgeConnection, credentialConnection, operatorToken, publicUrl } = options
  const {
    lookupConnection: lookup,
    onExtensionsChange: onChange,
    isSealed,
    floods,
    limitsOf,
    onRefusal,
    onViolation,
    version,
    metrics,
    metricsAccess,
    log,
    beginSpan,
  } = options
  const pool = new ConnectionPool(brokerUrl, {
    nameFor: (address, token) => edgeName(marks, address, token),
    guard: new Guard({ onRefusal, isSealed }),
    limitsOf,
  })
  const keyIdOf = (connection: NatsConnection) => pool.keyIdOf(connection)
  const charged = charging(floods, keyIdOf)
  const sessions = new BrowserSessions(publicUrl)
  const pulse = new BrokerPulse(edgeConnection)
  const answering = (authority: Authority) => whileAnswering(pulse, authority)
  const localOperator = answering(byTokenOrLocalHost(pool, () => pool.get(operatorToken())))
  const authorities = {
    platform: answering(byTokenOrSession(pool, sessions)),
    migrator:
      credentialConnection === undefined
        ? localOperator
        : answering(byCredentials(pool, credentialConnection, marks)),
  }
  const ownAuthorities: Record<HttpServerName, ReadonlyMap<string, Authority>> = {
    platform: new Map(
      metricsAccess === 'key' ? [] : metricsPaths.map((path): [string, Authority] => [path, localOperator]),
    ),
    migrator: new Map(),
  }
  const onDenied = (connection: NatsConnection, subject: string, address: string) => {
    const keyId = keyIdOf(connection)
    if (keyId !== undefined) onViolation({ keyId, action: 'publish', subject, from: plainAddress(address) })
  }
  const apps: FastifyInstance[] = []
  const urls = {} as Record<HttpServerName, string>
  const stop = async (): Promise<void> => {
    await Promise.all(apps.map((app) => app.close()))
    pulse.stop()
    await pool.close()
  }
  try {
    for (const server of Object.keys(httpServers) as HttpServerName[]) {
      const app = createHttpServer({
        server,
        contracts,
        authority: authorities[server],
        ownAuthorities: ownAuthorities[server],
        takesPasswords: server === 'migrator' && credentialConnection !== undefined,
        publicAuthority: answering(byConnection(edgeConnection)),
        pulse,
        marks,
        charged,
        onDenied,
        metrics,
        beginSpan,
        log,
      })
      apps.push(app)
      addDocs(app, server, version)
      if (server === 'platform') {
        await addSignIn(app, { publicUrl, edgeConnection, pool, sessions, marks, log })
        const { platform: authority } = authorities
        addExtensionRoutes(app, { authority, keyIdOf, charged, lookup, onChange, onDenied, beginSpan, log })
        addLiveDocuments(app, { authority, keyIdOf, lookup }, version)
      }
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
  return `http://${hostInUrl(host)}:${bound}`
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
