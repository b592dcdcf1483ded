import { EventEmitter } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../broker/common/log.ts'
import { version } from '../../broker/common/version.ts'
import { createSealer } from '../../broker/identity/seal.ts'
import { Lease, leaseStream } from '../../broker/lease/lease.ts'
import { StoreClaim } from '../../broker/lease/store-claim.ts'
import { connectAs } from '../../broker/rpc/platform-connection.ts'
import { type BrokerServer, startBroker } from '../../broker/server/server.ts'
import { RecordJournals } from '../../broker/state/books/record-journal.ts'
import { StreamBook } from '../../broker/state/books/stream-book.ts'
import { Events } from '../../broker/state/events.ts'
import { readAll } from '../../config/config-error.ts'
import { loadMessagingConfig, type MessagingConfig } from '../../config/messaging.ts'
import { loadPlatformConfig, readPlatformOptions, type PlatformConfig } from '../../config/platform.ts'
import {
  type ConfiguredPort,
  type ConfiguredPorts,
  configuredPorts,
  type GivenPorts,
  type ListenAddress,
} from '../../config/ports.ts'
import type { Reach } from '../../config/reach.ts'
import {
  liveMetadataUser,
  loadListenOptions,
  loadMetadataAccess,
  loadMetricsAccess,
  loadSecurity,
} from '../../http-edge/properties.ts'
import { allow, createBounds } from '../../services/drivers/contract/bounds.ts'
import { addKinds } from '../../services/drivers/index.ts'
import type { Notices } from '../../services/kit/notices.ts'
import { contracts, internalResources } from '../../subjects/index.ts'
import {
  developmentProviderPort,
  edgeUser,
  hostInUrl,
  type HttpServerName,
  httpServers,
  ofEachServer,
  product,
} from '../../subjects/kit/names.ts'
import { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import { ownFolders, secretFiles, storeFolder } from './own-folders.ts'
import { connectServices } from './serve-all.ts'
import type { Shutdown } from './shutdown.ts'

export interface HostOptions {
  /** Configuration folder; made when it is not there. */
  readonly home: string
  /** Path of nats-server. */
  readonly natsServer: string
  /** How long the store stays reserved for a platform that does not renew its lease. */
  readonly leaseMs: number
  /** Another platform may use the store from now on: this one must end at once. */
  readonly onLeaseLost?: (reason: string) => void
  /** URLs of modules with kinds of filesystems that are not in the list, or take the place of one (`addKinds`). */
  readonly kinds?: readonly string[]
  /** Folder with the web interface as it was built; without it there is none. */
  readonly uiFolder?: string
  /** How the command line is called where the platform runs, for pages that name commands; default: by its name. */
  readonly command?: string
  /** Ports that count for more than those of the configuration. */
  readonly ports?: GivenPorts
  /** From where it can be reached, where that counts for more than the configuration. */
  readonly reach?: Reach
  readonly log: Log
}

/** What all parts of the platform stand on. */
export type Host = Awaited<ReturnType<typeof openHost>>

/**
 * Reads the configuration, starts nats-server, and opens what everything else needs.
 * @throws ConfigError in one line when the configuration or the machine does not allow it
 */
export async function openHost(options: HostOptions, shutdown: Shutdown) {
  const { home, kinds = [], command = product, log } = options
  await addKinds(kinds)
  const configuration = await readConfiguration(options)
  const { messaging, ports, listen, security, identity } = configuration
  const onLost = (reason: string) => {
    log.error({ reason }, 'The lease on the store has ended.')
    options.onLeaseLost?.(reason)
  }
  const claim = await StoreClaim.make(messaging.storeDir, { leaseMs: options.leaseMs, onLost, log })
  shutdown.push(async () => claim.release())
  StreamBook.dropIndexes(home, messaging.storeDir)
  const http = ofEachServer((name) => urlOf(listen[name]))
  const publicUrl = configuration.publicUrl ?? http.platform
  const broker = await startBroker({
    binary: options.natsServer,
    runDir: join(home, 'run'),
    identity,
    // Our own pages come from another port.
    messaging: {
      ...messaging,
      allowedOrigins: [...new Set([new URL(publicUrl).origin, ...messaging.allowedOrigins])],
    },
    ports: [
      ports.broker,
      ports.websocket,
      ...Object.values(listen),
      ...(ports.signIn === undefined ? [] : [ports.signIn]),
    ],
    log,
  })
  shutdown.pushBroker(broker)
  const websocketUrl = configuration.publicWebsocketUrl ?? broker.websocketUrl
  const journals = RecordJournals.open(home, log)
  shutdown.push(() => journals.close())
  const { connections, doors } = await openConnections(broker, configuration, shutdown)
  const connection = connections.platform

  // Before anything is written.
  const book = await StreamBook.open(connection, { journals, home, log, without: [leaseStream] })
  shutdown.push(() => book.close())
  // Before anything is swept or started.
  const { holder, ended } = claim
  const lease = await Lease.take(connection, { leaseMs: options.leaseMs, onLost, log, holder, ended })
  shutdown.push(() => lease.release())

  const { notices, bounds } = createBoundsBySettings([
    ...ownFolders(process.env, home),
    storeFolder(messaging.storeDir),
    ...secretFiles(security),
  ])
  return {
    ...configuration,
    broker,
    uiFolder: options.uiFolder,
    command,
    trustsThisHost: options.reach?.address === undefined,
    brokerLog: broker.logFile,
    connection,
    connections,
    doors,
    journals,
    events: await Events.open(connection, messaging),
    metrics: new MetricRegistry(),
    notices,
    bounds,
    kinds,
    sealer: createSealer(identity),
    version,
    location: { instance: identity.instance, nats: broker.tcpUrl, http: http.platform },
    addresses: { broker: { tcp: broker.tcpUrl, websocket: websocketUrl }, http },
    websocketUrl,
    publicUrl,
    signInConfig: {
      home,
      oidc: configuration.oidc,
      host: listen.platform.host,
      publicUrl,
      command,
      developmentPort: options.reach?.signInPort,
      firstDevelopmentPort: developmentProviderPort + offsetOf(listen.platform),
    },
    maxFileBytes: messaging.maxFileBytes,
    reportsFolder: join(home, 'reports'),
    cleanupsFolder: join(home, 'cleanups'),
    log,
  }
}

/** How far an offset has moved a port. */
const offsetOf = ({ port, base = port }: ConfiguredPort): number => port - base

interface Configuration extends PlatformConfig {
  readonly messaging: MessagingConfig
  readonly listen: Record<HttpServerName, ConfiguredPort>
}

async function readConfiguration({ home, ports: given, reach, log }: HostOptions) {
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const { messaging, metadata, listen, security, metricsAccess } = readAll({
    messaging: () => loadMessagingConfig(home),
    metadata: () => loadMetadataAccess(home),
    listen: () => readAll(ofEachServer((name) => () => loadListenOptions(home, name))),
    security: () => loadSecurity(home),
    metricsAccess: () => loadMetricsAccess(home),
    // With the others, though it is loaded after them.
    platform: () => readPlatformOptions(home),
  })
  const { access, user, advice } = metadata
  if (advice !== undefined) log.warn({ file: httpServers.metadata.propertiesFile }, advice)
  const platform = await loadPlatformConfig(home, messaging, log)
  const ports = portsOf(listen, messaging, { ...platform.givenPorts, ...given }, reach)
  const { host, port } = ports.broker
  return {
    ...platform,
    messaging: { ...messaging, host, port, websocketPort: ports.websocket.port },
    ports,
    listen: ofEachServer((name) => ports[name]),
    security,
    metadataAccess: access,
    metadataUser: liveMetadataUser(home, user, log),
    metricsAccess,
  }
}

/** The platform's own connections, those of the HTTP servers with what little they may ask, and one for each service. */
async function openConnections(broker: BrokerServer, { identity }: Configuration, shutdown: Shutdown) {
  const connect = async (account: Parameters<typeof connectAs>[0], name: string, pub?: string[]) => {
    const capabilities =
      pub === undefined ? {} : { capabilities: { pub: { allow: pub }, sub: { allow: [] } } }
    const connection = await connectAs(account, { url: broker.tcpUrl, identity, name, ...capabilities })
    shutdown.pushConnection(connection)
    return connection
  }
  const publicSubjects = contracts
    .filter(({ http }) => http.some((route) => route.public))
    .map(({ subject }) => subject)
  const subjectsOf = (resource: keyof typeof internalResources) =>
    Object.values(internalResources[resource]).map(({ subject }: { readonly subject: string }) => subject)
  // nats-server reads an account when somebody first connects to it, and reads it again for each who does so meanwhile: for
  // a moment it offers nothing then, and an account that is to take it over would have nothing for as long as the server runs.
  const platform = await connect('PLATFORM', 'state')
  const edge = await connect('GANTRY', edgeUser, publicSubjects)
  const [auth, system, discovery, credentials, lookup, doors] = await Promise.all([
    connect('AUTH', 'callout'),
    connect('SYS', 'system'),
    connect('PLATFORM', 'discovery'),
    connect('PLATFORM', edgeUser, subjectsOf('authenticationInternal')),
    connect('PLATFORM', edgeUser, subjectsOf('extensionsInternal')),
    connectServices((name) => connect('PLATFORM', name)),
  ])
  return { connections: { platform, auth, system, discovery, edge, credentials, lookup }, doors }
}

/** Where filesystems may be: nowhere in the platform's own folders, and as the settings say. */
function createBoundsBySettings(own: Parameters<typeof createBounds>[0]) {
  const notices: Notices = new EventEmitter()
  const bounds = createBounds(own)
  notices.on('settings', ({ filesystemRoots, storeHosts, hostCredentials }) =>
    allow(bounds, {
      roots: filesystemRoots.length === 0 ? undefined : filesystemRoots,
      hosts: storeHosts,
      hostCredentials,
    }),
  )
  return { notices, bounds }
}

/** Where everything listens, by the files of the servers and by what counts for more. */
function portsOf(
  listen: Record<HttpServerName, ListenAddress>,
  { host, port, websocketPort }: MessagingConfig,
  given: GivenPorts,
  reach: Reach | undefined,
): ConfiguredPorts {
  return configuredPorts(
    { ...listen, broker: { host, port }, websocket: { host, port: websocketPort } },
    given,
    reach,
  )
}

/** Where clients on this host reach a server. */
function urlOf({ host, port }: ListenAddress): string {
  return `http://${hostInUrl(host)}:${port}`
}
