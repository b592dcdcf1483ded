import type { AuditTrail } from '../broker/audit-trail.ts'
import type { NatsConnection } from '../broker/connection.ts'
import { serve, type ServeOptions, type Service } from '../broker/serve.ts'
import type { Access } from '../services/access/start.ts'
import type { startAlerts } from '../services/alerts/start.ts'
import { auditHandlers } from '../services/audit/index.ts'
import type { startExtensions } from '../services/extensions/start.ts'
import type { startFilesystems } from '../services/filesystems/start.ts'
import type { startMigrations } from '../services/migrations/start.ts'
import type { startObservability } from '../services/observability/start.ts'
import type { startUsage } from '../services/usage/start.ts'
import type { AuditEntry } from '../subjects/audit.ts'
import { agentResources, internalResources, resources } from '../subjects/index.ts'

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
}

/** Answers the contracts of all capabilities. */
export function serveAll(
  platform: NatsConnection,
  { access, trail, filesystems, migrations, extensions, observability, usage, alerts }: Capabilities,
  serving: ServeOptions,
): Service[] {
  return [
    serve(platform, resources.authentication, access.handlers.authentication, serving),
    serve(
      platform,
      internalResources.authenticationInternal,
      access.internalHandlers.authentication,
      serving,
    ),
    serve(platform, internalResources.keysInternal, access.internalHandlers.keys, serving),
    serve(platform, resources.keys, access.handlers.keys, serving),
    serve(platform, resources.agentKeys, access.handlers.agentKeys, serving),
    serve(platform, resources.signIn, access.handlers.signIn, serving),
    serve(platform, resources.roles, access.handlers.roles, serving),
    serve(platform, resources.assignments, access.handlers.assignments, serving),
    serve(platform, resources.users, access.handlers.users, serving),
    serve(platform, resources.settings, access.handlers.settings, serving),
    serve(platform, resources.rbac, access.handlers.rbac, serving),
    serve(platform, resources.audit, auditHandlers(trail.reader), serving),
    serve(platform, resources.filesystems, filesystems.handlers, serving),
    serve(platform, internalResources.filesystemsInternal, filesystems.internalHandlers, serving),
    serve(platform, resources.migrations, migrations.handlers, serving),
    serve(platform, resources.bandwidth, migrations.bandwidthHandlers, serving),
    serve(platform, resources.agents, migrations.agentHandlers, serving),
    serve(platform, agentResources.agentWork, migrations.deskHandlers, {
      ...serving,
      concurrency: agentQuestions,
    }),
    serve(platform, resources.verifications, migrations.verificationHandlers, serving),
    serve(platform, resources.cleanups, migrations.cleanupHandlers, serving),
    serve(platform, resources.stats, migrations.statsHandlers, serving),
    serve(platform, resources.diagnostics, migrations.diagnosticsHandlers, serving),
    serve(platform, resources.exclusions, migrations.exclusionHandlers, serving),
    serve(platform, resources.inclusions, migrations.inclusionHandlers, serving),
    serve(platform, resources.pathMappings, migrations.mappingHandlers, serving),
    serve(platform, internalResources.migrationsInternal, migrations.internalHandlers, serving),
    serve(platform, resources.extensions, extensions.handlers.extensions, serving),
    // Those who watch wait inside.
    serve(platform, resources.extensionStorage, extensions.handlers.extensionStorage, {
      ...serving,
      concurrency: maxWatchers,
    }),
    serve(platform, internalResources.extensionsInternal, extensions.internalHandlers, serving),
    serve(platform, resources.usage, usage.handlers, serving),
    serve(platform, resources.alerts, alerts.handlers, serving),
    serve(platform, resources.logging, observability.loggingHandlers, serving),
    serve(platform, resources.observability, observability.handlers, serving),
    serve(platform, internalResources.observabilityInternal, observability.internalHandlers, serving),
  ]
}
