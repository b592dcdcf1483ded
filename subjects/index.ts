import { agentWork } from './agent-work.ts'
import { agentKeys, agents } from './agents.ts'
import { alertEvents, alerts } from './alerts.ts'
import { assignments } from './assignments.ts'
import { audit } from './audit.ts'
import { authentication } from './authentication.ts'
import { authenticationInternal } from './authentication-internal.ts'
import { bandwidth } from './bandwidth.ts'
import { cleanupEvents, cleanups } from './cleanups.ts'
import type { Contract, EventContract } from './contract.ts'
import { diagnostics } from './diagnostics.ts'
import { exclusions } from './exclusions.ts'
import { filesystemsInternal } from './filesystems-internal.ts'
import { filesystems } from './filesystems.ts'
import { extensionStorage } from './extension-storage.ts'
import { extensions, extensionsInternal } from './extensions.ts'
import { inclusions } from './inclusions.ts'
import { keys, keysInternal } from './keys.ts'
import { logging } from './logging.ts'
import { migrationEvents } from './migration-events.ts'
import { migrationsInternal } from './migrations-internal.ts'
import { migrations } from './migrations.ts'
import { observability, observabilityInternal } from './observability.ts'
import { pathMappings } from './path-mappings.ts'
import { platform } from './platform.ts'
import { rbac, roles } from './roles.ts'
import { settings, settingsEvents } from './settings.ts'
import { signIn } from './sign-in.ts'
import { stats } from './stats.ts'
import { usage } from './usage.ts'
import { users } from './users.ts'
import { verificationEvents, verifications } from './verifications.ts'

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
  extensions,
  extensionStorage,
  usage,
  observability,
  logging,
  alerts,
} as const

/** Requests between the platform's own services. */
export const internalResources = {
  authenticationInternal,
  keysInternal,
  filesystemsInternal,
  migrationsInternal,
  extensionsInternal,
  observabilityInternal,
} as const

export const contracts: readonly Contract[] = Object.values(resources).flatMap((resource) =>
  Object.values(resource),
)
/** Requests of transfer agents. */
export const agentResources = { agentWork } as const

export const internalContracts: readonly Contract[] = Object.values({
  ...internalResources,
  ...agentResources,
}).flatMap((resource) => Object.values(resource))
export const eventContracts: readonly EventContract[] = [
  migrationEvents,
  settingsEvents,
  verificationEvents,
  cleanupEvents,
  alertEvents,
].flatMap((events) => Object.values(events))
