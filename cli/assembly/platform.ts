import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { AuditTrail } from '../../broker/audit/trail.ts'
import { addressMarks } from '../../broker/messages/client-address.ts'
import { connectAs } from '../../broker/rpc/connection.ts'
import { Announcer } from '../../broker/rpc/discovery.ts'
import { Events } from '../../broker/state/events.ts'
import { readTextFile, writeSecretFile } from '../../broker/common/files.ts'
import { defaultLeaseMs, Lease } from '../../broker/lease/lease.ts'
import type { Log } from '../../broker/common/log.ts'
import { loadMessagingConfig } from '../../config/messaging.ts'
import { loadPlatformConfig } from '../../config/platform.ts'
import { RecordJournals } from '../../broker/state/books/record-journal.ts'
import { createSealer } from '../../broker/identity/seal.ts'
import { logTaskFailures } from '../../broker/tasks/tasks.ts'
import { isSealed } from '../../broker/identity/token.ts'
import type { Service } from '../../broker/rpc/serve.ts'
import { startBroker } from '../../broker/server/server.ts'
import { version } from '../../broker/common/version.ts'
import { StoreClaim } from '../../broker/lease/store-claim.ts'
import { StreamBook } from '../../broker/state/books/stream-book.ts'
import { type Violation, watchViolations } from '../../broker/callout/violations.ts'
import { startEdge } from '../../http-edge/index.ts'
import {
  type ListenOptions,
  loadListenOptions,
  loadMetricsAccess,
  loadSecurity,
} from '../../http-edge/server/properties.ts'
import { startAccess } from '../../services/access/index.ts'
import { startAlerts } from '../../services/alerts/index.ts'
import { auditRecorder } from '../../services/audit/recorder.ts'
import { allow, createBounds } from '../../services/drivers/contract/bounds.ts'
import { startExtensions } from '../../services/extensions/index.ts'
import { startFilesystems } from '../../services/filesystems/index.ts'
import { startMigrations } from '../../services/migrations/index.ts'
import { startObservability } from '../../services/observability/index.ts'
import { platformHandlers } from '../../services/platform/handlers.ts'
import { startUsage } from '../../services/usage/index.ts'
import type { AuditEntry } from '../../subjects/access/audit.ts'
import { contracts, internalResources } from '../../subjects/index.ts'
import { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import { edgeUser, files, hostInUrl, type HttpServerName, httpServers } from '../../subjects/kit/names.ts'
import { loginPath } from '../../subjects/access/sign-in.ts'
import {
  auditComponent,
  lossesComponent,
  recordsComponent,
  storageComponent,
  tellOfSetAside,
} from './components.ts'
import { startGuards } from './guards.ts'
import { ownFolders, secretFiles, storeFolder } from '../up/own-folders.ts'
import { connectServices, serveAll } from './serve-all.ts'
import { Shutdown } from './shutdown.ts'

export interface PlatformOptions {
  /** Configuration folder; made when it is not there. */
  readonly home: string
  /** Path of nats-server. */
  readonly natsServer: string
  /** How long the store stays reserved for a platform that does not renew its lease. */
  readonly leaseMs?: number
  /** Another platform may use the store from now on: this one must end at once. */
  readonly onLeaseLost?: (reason: string) => void
  readonly log: Log
}

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
  /** By name, when the development provider has just made them. */
  readonly developmentPasswords: Readonly<Record<string, string>> | undefined
  /** Process id of nats-server, undefined while it is down. */
  brokerPid(): number | undefined
  /** Stops in order: no new requests, work in hand finished, broker last. */
  stop(): Promise<void>
}

/**
 * Starts everything: nats-server as a child process, all services, all HTTP servers.
 * @throws ConfigError in one line when the configuration or the machine does not allow it
 */
export async function startPlatform({
  home,
  natsServer,
  leaseMs = defaultLeaseMs,
  onLeaseLost,
  log,
}: PlatformOptions): Promise<Platform> {
  const shutdown = new Shutdown(log)
  logTaskFailures(log)
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 })
    const messaging = loadMessagingConfig(home)
    const { identity, salt, rules, oidc, auditRetentionMs, ...config } = await loadPlatformConfig(
      home,
      messaging,
      log,
    )
    const listen = listenOptions(home)
    const security = loadSecurity(home)
    const onLost = (reason: string) => {
      log.error({ reason }, 'The lease on the store is over.')
      onLeaseLost?.(reason)
    }
    const claim = await StoreClaim.make(messaging.storeDir, { leaseMs, onLost, log })
    shutdown.push(async () => claim.release())
    StreamBook.dropIndexes(home, messaging.storeDir)
    const broker = await startBroker({
      binary: natsServer,
      runDir: join(home, 'run'),
      identity,
      messaging,
      log,
    })
    shutdown.pushBroker(broker)

    const journals = RecordJournals.open(home, log)
    shutdown.push(() => journals.close())
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
    const credentialSubjects = Object.values(internalResources.authenticationInternal).map(
      ({ subject }) => subject,
    )
    const lookupSubjects = Object.values(internalResources.extensionsInternal).map(({ subject }) => subject)
    const [platform, auth, system, discovery, edgeConnection, credentialConnection, lookupConnection, doors] =
      await Promise.all([
        connect('PLATFORM', 'state'),
        connect('AUTH', 'callout'),
        connect('SYS', 'system'),
        connect('PLATFORM', 'discovery'),
        connect('GANTRY', edgeUser, publicSubjects),
        connect('PLATFORM', edgeUser, credentialSubjects),
        connect('PLATFORM', edgeUser, lookupSubjects),
        connectServices((name) => connect('PLATFORM', name)),
      ])

    // Before anything is written.
    const book = await StreamBook.open(platform, { journals, home, log })
    shutdown.push(() => book.close())
    // Before anything is swept or started.
    const lease = await Lease.take(platform, {
      leaseMs,
      onLost,
      log,
      holder: claim.holder,
      ended: claim.ended,
    })
    shutdown.push(() => lease.release())
    const urls = { nats: broker.tcpUrl, http: urlOf(listen.platform) }
    const location = { instance: identity.instance, ...urls }
    const publicUrl = config.publicUrl ?? urls.http
    const { maxFileBytes } = messaging
    const trail = await AuditTrail.open<AuditEntry>(platform, {
      instance: identity.instance,
      maxFileBytes,
      retentionMs: auditRetentionMs,
      log,
    })
    shutdown.push(() => trail.close())
    const events = await Events.open(platform, messaging)
    const metrics = new MetricRegistry()
    const guards = startGuards({
      system,
      identity,
      onFlood: (flood) => access.onFlood(flood),
      onSlowReader: (reader) => access.onSlowReader(reader),
      log,
    })
    shutdown.push(async () => guards.stop())
    const access = await startAccess({
      admit: guards.admit,
      journals,
      events,
      connections: { platform, auth, system },
      identity,
      salt,
      location,
      rules,
      security,
      sealer: createSealer(identity, 'flow'),
      signIn: { home, oidc, host: listen.platform.host, publicUrl },
      trail,
      metrics,
      log,
    })
    shutdown.push(() => access.stop())

    const marks = addressMarks(identity)
    const { onRefusal } = access
    const extensions = await startExtensions({
      journals,
      connections: { platform, system, discovery },
      identity,
      floods: guards.floods,
      log,
    })
    shutdown.push(() => extensions.stop())
    const onViolation = (violation: Violation) => {
      access.onViolation(violation)
      extensions.onViolation(violation)
    }
    const violations = await watchViolations(broker.logFile, { marks, onViolation, log })
    shutdown.push(() => violations.stop())

    const observability = await startObservability({
      connection: platform,
      registry: metrics,
      extensions: () => extensions.count(),
      otlp: config.otlp,
      about: { version, instance: identity.instance },
      log,
    })
    shutdown.push(() => observability.stop())
    const { beginSpan } = observability
    const serving = {
      identity,
      version,
      log,
      recorder: auditRecorder(trail, access.ownerOf),
      floods: guards.floods,
      announcer: new Announcer(discovery, guards.floods),
      metrics,
      beginSpan,
    }
    const services: Service[] = []
    shutdown.push(() => Promise.all(services.map((service) => service.stop())))
    shutdown.push(async () => extensions.hangUp())
    const sealer = createSealer(identity)
    const bounds = createBounds([
      ...ownFolders(process.env, home),
      storeFolder(messaging.storeDir),
      ...secretFiles(security),
    ])
    await access.followSettings(({ filesystemRoots, storeHosts }) =>
      allow(bounds, {
        roots: filesystemRoots.length === 0 ? undefined : filesystemRoots,
        hosts: storeHosts,
      }),
    )
    const filesystems = await startFilesystems({ connection: platform, journals, sealer, bounds, log })
    shutdown.push(async () => filesystems.stop())
    const migrations = await startMigrations({
      connection: platform,
      journals,
      sealer,
      bounds,
      events,
      maxFileBytes,
      reportsFolder: join(home, 'reports'),
      metrics,
      cleanupsFolder: join(home, 'cleanups'),
      log,
    })
    shutdown.push(() => migrations.stop())
    const usage = await startUsage(platform, maxFileBytes)
    const { webhookHosts } = config
    const alerts = await startAlerts({
      connection: platform,
      journals,
      sealer,
      events,
      webhookHosts,
      log,
    })
    shutdown.push(() => alerts.stop())
    services.push(
      ...(await serveAll(
        doors,
        {
          access,
          trail,
          filesystems,
          migrations,
          extensions,
          observability,
          usage,
          alerts,
          platform: platformHandlers({
            version,
            about: {
              ...access.provider.about,
              instance: identity.instance,
              broker: { tcp: broker.tcpUrl, websocket: broker.websocketUrl },
              http: { platform: urlOf(listen.platform), migrator: urlOf(listen.migrator) },
            },
            components: async () => [
              await storageComponent(platform),
              await recordsComponent(platform),
              auditComponent(trail),
            ],
            others: async () => [
              await lossesComponent(journals),
              ...(await access.provider.components()),
              migrations.health(),
            ],
            losses: journals.losses,
          }),
        },
        serving,
      )),
    )
    // Work goes on only when the services that it asks are there.
    await migrations.run()
    await tellOfSetAside(platform, log)
    await alerts.run()
    const credentials = join(home, files.credentials)
    const stored = readTextFile(credentials)?.trim()
    const operatorToken = await access.operatorToken(stored)
    if (operatorToken !== stored) writeSecretFile(credentials, `${operatorToken}\n`)
    const edge = await startEdge({
      listen,
      brokerUrl: broker.tcpUrl,
      marks,
      edgeConnection,
      credentialConnection: security.type === 'off' ? undefined : credentialConnection,
      lookupConnection,
      onExtensionsChange: (listener) => extensions.onChange(listener),
      metricsAccess: loadMetricsAccess(home),
      operatorToken: access.currentOperatorToken,
      publicUrl,
      isSealed: (token) => isSealed(salt, token),
      floods: guards.floods,
      limitsOf: access.limitsOf,
      onRefusal,
      onViolation,
      version,
      metrics,
      beginSpan,
      log,
    })
    shutdown.push(() => edge.stop())
    return {
      instance: identity.instance,
      tcpUrl: broker.tcpUrl,
      websocketUrl: broker.websocketUrl,
      httpUrls: edge.urls,
      operatorToken,
      signInUrl: access.provider.about.identityProvider && `${publicUrl}${loginPath}`,
      developmentPasswords: access.provider.passwords,
      brokerPid: () => broker.pid(),
      stop: () => shutdown.run(),
    }
  } catch (error) {
    await shutdown.run()
    throw error
  }
}

function listenOptions(home: string): Record<HttpServerName, ListenOptions> {
  const entries = (Object.keys(httpServers) as HttpServerName[]).map((name) => [
    name,
    loadListenOptions(home, name),
  ])
  return Object.fromEntries(entries) as Record<HttpServerName, ListenOptions>
}

/** Where clients on this host reach a server. */
function urlOf({ host, port }: ListenOptions): string {
  return `http://${hostInUrl(host)}:${port}`
}
