import { logTaskFailures } from '../../broker/tasks/tasks.ts'
import { isSealed } from '../../broker/identity/token.ts'
import { defaultLeaseMs } from '../../broker/lease/lease.ts'
import { addressMarks } from '../../broker/messages/client-address.ts'
import { Announcer } from '../../broker/rpc/discovery.ts'
import { markSeen } from '../../config/development-accounts.ts'
import { startEdge } from '../../http-edge/index.ts'
import { auditRecorder } from '../../services/audit/index.ts'
import type { Running } from '../../services/kit/assembly.ts'
import { type HttpServerName, loginPath } from '../../subjects/kit/names.ts'
import { type HostOptions, openHost } from './host.ts'
import { serveAll } from './serve-all.ts'
import { platformParts } from './services.ts'
import { Shutdown } from './shutdown.ts'

export type PlatformOptions = Omit<HostOptions, 'leaseMs'> & Partial<Pick<HostOptions, 'leaseMs'>>

/** A running platform: broker, services and HTTP servers in this process. */
export interface Platform {
  readonly instance: string
  readonly tcpUrl: string
  readonly websocketUrl: string
  readonly httpUrls: Record<HttpServerName, string>
  /** Token of the local operator key, as stored in the configuration folder. */
  readonly operatorToken: string
  /** Where people sign in with a browser; undefined when there is no identity provider. */
  readonly signInUrl: string | undefined
  /** Whether they do at the development provider, whose passwords the command line can reset. */
  readonly isDevelopmentSignIn: boolean
  /** By name, when the development provider has just made them. */
  readonly developmentPasswords: Readonly<Record<string, string>> | undefined
  /** Says that somebody has seen them; until then each start makes others. */
  markPasswordsSeen(): void
  /** Process id of nats-server, undefined while it is down. */
  brokerPid(): number | undefined
  /** Stops in order: no new requests, work in progress finished, broker last. */
  stop(): Promise<void>
}

/**
 * Starts everything: nats-server as a child process, all services, all HTTP servers.
 * @throws ConfigError in one line when the configuration or the machine does not allow it
 */
export async function startPlatform({
  leaseMs = defaultLeaseMs,
  ...options
}: PlatformOptions): Promise<Platform> {
  const { log } = options
  const shutdown = new Shutdown(log)
  logTaskFailures(log)
  try {
    const host = await openHost({ leaseMs, ...options }, shutdown)
    const parts = await platformParts.start(host)
    shutdown.push(() => parts.stop())
    const services = await serveAll(host.doors, parts.served, servingOf(parts.known))
    shutdown.push(() => Promise.all(services.map((service) => service.stop())))
    shutdown.push(() => parts.halt())
    // Work goes on only when the services that it asks are there.
    await parts.run()
    const edge = await startEdge(edgeOptions(parts.known))
    shutdown.push(() => edge.stop())
    const {
      identity,
      broker,
      publicUrl,
      aboutSignIn,
      isDevelopmentSignIn,
      developmentPasswords,
      operatorToken,
    } = parts.known
    return {
      instance: identity.instance,
      tcpUrl: broker.tcpUrl,
      websocketUrl: broker.websocketUrl,
      httpUrls: edge.urls,
      operatorToken: operatorToken(),
      signInUrl: aboutSignIn.identityProvider && `${publicUrl}${loginPath}`,
      isDevelopmentSignIn,
      developmentPasswords,
      markPasswordsSeen: () => {
        if (developmentPasswords !== undefined) markSeen(options.home)
      },
      brokerPid: () => broker.pid(),
      stop: () => shutdown.run(),
    }
  } catch (error) {
    await shutdown.run()
    throw error
  }
}

/** All that is there when every part has started. */
type Known = Awaited<ReturnType<typeof platformParts.start>> extends Running<infer K> ? K : never

/** How all services answer. */
const servingOf = ({
  identity,
  version,
  trail,
  ownerOf,
  floods,
  connections,
  metrics,
  beginSpan,
  log,
}: Known) => ({
  identity,
  version,
  log,
  recorder: auditRecorder(trail, ownerOf),
  floods,
  announcer: new Announcer(connections.discovery, floods),
  metrics,
  beginSpan,
})

const edgeOptions = ({
  listen,
  broker,
  websocketUrl,
  identity,
  connections,
  security,
  metadataAccess,
  rolesOf,
  notices,
  metricsAccess,
  trustsThisHost,
  operatorToken,
  publicUrl,
  uiFolder,
  salt,
  floods,
  limitsOf,
  version,
  metrics,
  beginSpan,
  log,
}: Known): Parameters<typeof startEdge>[0] => ({
  listen,
  brokerUrl: broker.tcpUrl,
  websocketUrl,
  marks: addressMarks(identity),
  edgeConnection: connections.edge,
  credentialConnection: connections.credentials,
  migratorAsksWho: security.type !== 'off',
  metadataAccess,
  rolesOf,
  lookupConnection: connections.lookup,
  onExtensionsChange: (listener) => notices.on('extension', listener),
  metricsAccess,
  trustsThisHost,
  operatorToken,
  publicUrl,
  uiFolder,
  isSealed: (token) => isSealed(salt, token),
  floods,
  limitsOf,
  onRefusal: (refusal) => notices.emit('refusal', refusal),
  onViolation: (violation) => notices.emit('violation', violation),
  version,
  metrics,
  beginSpan,
  log,
})
