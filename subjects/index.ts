import { agentWork } from './migrations/agent-work.ts'
import { agentKeys, agents } from './migrations/agents.ts'
import { alertEvents, alerts } from './observability/alerts.ts'
import { assignments } from './access/assignments.ts'
import { audit } from './access/audit.ts'
import { authentication } from './access/authentication.ts'
import { authenticationInternal } from './access/authentication-internal.ts'
import { bandwidth } from './migrations/bandwidth.ts'
import { cleanupEvents, cleanups } from './migrations/cleanups.ts'
import type { Contract, EventContract } from './kit/contract.ts'
import { diagnostics } from './migrations/diagnostics.ts'
import { exclusions } from './rules/exclusions.ts'
import { filesystemsInternal } from './filesystems/internal.ts'
import { filesystemEvents, filesystems } from './filesystems/filesystems.ts'
import { extensionStorage } from './extensions/storage.ts'
import { extensions, extensionsInternal } from './extensions/extensions.ts'
import { inclusions } from './rules/inclusions.ts'
import { keys, keysInternal } from './access/keys.ts'
import { logging } from './observability/logging.ts'
import { catalogWork } from './metadata/catalog-work.ts'
import { metadataCatalogs } from './metadata/catalogs.ts'
import { metadataComparisonEvents, metadataComparisons } from './metadata/comparisons.ts'
import { metadataMigrationEvents, metadataMigrations } from './metadata/migrations.ts'
import { metadataRules } from './metadata/rules.ts'
import { migrationEvents } from './migrations/events.ts'
import { migrationsInternal, verificationsInternal } from './migrations/internal.ts'
import { migrations } from './migrations/migrations.ts'
import { notifications } from './observability/notifications.ts'
import { observability, observabilityInternal } from './observability/observability.ts'
import { pathMappings } from './rules/path-mappings.ts'
import { platform } from './platform/platform.ts'
import { rbac, roles } from './access/roles.ts'
import { settings, settingsEvents } from './access/settings.ts'
import { signIn } from './access/sign-in.ts'
import { stats } from './migrations/stats.ts'
import { usage } from './observability/usage.ts'
import { users } from './access/users.ts'
import { verificationEvents, verifications } from './migrations/verifications.ts'

/** Every resource that callers can reach; routes, pages, commands and tests are made by looping over these. */
export const resources = {
  platform,
  authentication,
  signIn,
  keys,
  roles,
  assignments,
  users,
  settings,
  rbac,
  audit,
  filesystems,
  migrations,
  bandwidth,
  agents,
  agentKeys,
  verifications,
  cleanups,
  stats,
  diagnostics,
  exclusions,
  inclusions,
  pathMappings,
  metadataCatalogs,
  metadataRules,
  metadataMigrations,
  metadataComparisons,
  extensions,
  extensionStorage,
  usage,
  observability,
  logging,
  alerts,
  notifications,
} as const

/** Requests between the platform's own services. */
export const internalResources = {
  authenticationInternal,
  keysInternal,
  filesystemsInternal,
  migrationsInternal,
  verificationsInternal,
  extensionsInternal,
  observabilityInternal,
} as const

export const contracts: readonly Contract[] = Object.values(resources).flatMap((resource) =>
  Object.values(resource),
)
/** Requests of transfer agents. */
export const agentResources = { agentWork, catalogWork } as const

export const internalContracts: readonly Contract[] = Object.values({
  ...internalResources,
  ...agentResources,
}).flatMap((resource) => Object.values(resource))
export const eventContracts: readonly EventContract[] = [
  filesystemEvents,
  migrationEvents,
  settingsEvents,
  verificationEvents,
  cleanupEvents,
  alertEvents,
  metadataMigrationEvents,
  metadataComparisonEvents,
].flatMap((events) => Object.values(events))
