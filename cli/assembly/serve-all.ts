import type { AuditTrail } from '../../broker/audit/trail.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { serve, type ServeOptions, type Service } from '../../broker/rpc/serve.ts'
import type { Access } from '../../services/access/index.ts'
import type { startAlerts } from '../../services/alerts/index.ts'
import { auditHandlers } from '../../services/audit/handlers.ts'
import type { startExtensions } from '../../services/extensions/index.ts'
import type { startFilesystems } from '../../services/filesystems/index.ts'
import type { startMigrations } from '../../services/migrations/index.ts'
import type { startObservability } from '../../services/observability/index.ts'
import type { startUsage } from '../../services/usage/index.ts'
import type { AuditEntry } from '../../subjects/access/audit.ts'
import type { Handlers, Resource } from '../../subjects/kit/contract.ts'
import { agentResources, internalResources, resources } from '../../subjects/index.ts'

/** Each agent has one question open all the time, and some for each piece of work that it has in hand. */
const agentQuestions = 10_000

/** Calls on the storage of extensions at once; one that waits takes a few kB. */
const maxWatchers = 4_096

/** The capabilities that are there, each with its state open. */
export interface Capabilities {
  readonly access: Access
  readonly trail: Pick<AuditTrail<AuditEntry>, 'reader'>
  readonly filesystems: Awaited<ReturnType<typeof startFilesystems>>
  readonly migrations: Awaited<ReturnType<typeof startMigrations>>
  readonly extensions: Awaited<ReturnType<typeof startExtensions>>
  readonly observability: Awaited<ReturnType<typeof startObservability>>
  readonly usage: Awaited<ReturnType<typeof startUsage>>
  readonly alerts: Awaited<ReturnType<typeof startAlerts>>
  /** What the platform says of itself. */
  readonly platform: Handlers<typeof resources.platform>
}

const served: readonly Resource[] = Object.values({ ...resources, ...internalResources, ...agentResources })
const nameOf = (contracts: Resource): string => Object.values(contracts)[0]!.resource

/** Names of the services, and of their connections. */
export const serviceNames: ReadonlySet<string> = new Set(served.map(nameOf))

/** The connection of each service. */
export type ServiceConnections = ReadonlyMap<Resource, NatsConnection>

/**
 * A connection for each service: what callers send to one of them arrives there alone, and can neither hold up nor cut off
 * the others, nor the connection on which the platform keeps its state.
 */
export async function connectServices(
  connect: (name: string) => Promise<NatsConnection>,
): Promise<ServiceConnections> {
  return new Map(
    await Promise.all(
      served.map(async (contracts) => [contracts, await connect(nameOf(contracts))] as const),
    ),
  )
}

/** Answers the contracts of all capabilities; resolves when the broker knows that. */
export async function serveAll(
  connections: ServiceConnections,
  {
    access,
    trail,
    filesystems,
    migrations,
    extensions,
    observability,
    usage,
    alerts,
    platform,
  }: Capabilities,
  serving: ServeOptions,
): Promise<Service[]> {
  const on = <R extends Resource>(contracts: R, handlers: Handlers<R>, options: ServeOptions = serving) =>
    serve(connections.get(contracts)!, contracts, handlers, options)
  const services = [
    on(resources.platform, platform),
    on(resources.authentication, access.handlers.authentication),
    on(internalResources.authenticationInternal, access.internalHandlers.authentication),
    on(internalResources.keysInternal, access.internalHandlers.keys),
    on(resources.keys, access.handlers.keys),
    on(resources.agentKeys, access.handlers.agentKeys),
    on(resources.signIn, access.handlers.signIn),
    on(resources.roles, access.handlers.roles),
    on(resources.assignments, access.handlers.assignments),
    on(resources.users, access.handlers.users),
    on(resources.settings, access.handlers.settings),
    on(resources.rbac, access.handlers.rbac),
    on(resources.audit, auditHandlers(trail.reader)),
    on(resources.filesystems, filesystems.handlers),
    on(internalResources.filesystemsInternal, filesystems.internalHandlers),
    on(resources.migrations, migrations.handlers),
    on(resources.bandwidth, migrations.bandwidthHandlers),
    on(resources.agents, migrations.agentHandlers),
    on(agentResources.agentWork, migrations.agentApiHandlers, {
      ...serving,
      concurrency: agentQuestions,
    }),
    on(resources.verifications, migrations.verificationHandlers),
    on(resources.cleanups, migrations.cleanupHandlers),
    on(resources.stats, migrations.statsHandlers),
    on(resources.diagnostics, migrations.diagnosticsHandlers),
    on(resources.exclusions, migrations.exclusionHandlers),
    on(resources.inclusions, migrations.inclusionHandlers),
    on(resources.pathMappings, migrations.mappingHandlers),
    on(internalResources.migrationsInternal, migrations.internalHandlers),
    on(resources.extensions, extensions.handlers.extensions),
    // Those who watch wait inside.
    on(resources.extensionStorage, extensions.handlers.extensionStorage, {
      ...serving,
      concurrency: maxWatchers,
    }),
    on(internalResources.extensionsInternal, extensions.internalHandlers),
    on(resources.usage, usage.handlers),
    on(resources.alerts, alerts.handlers),
    on(resources.logging, observability.loggingHandlers),
    on(resources.observability, observability.handlers),
    on(internalResources.observabilityInternal, observability.internalHandlers),
  ]
  await Promise.all(Array.from(connections.values(), (connection) => connection.flush()))
  return services
}
