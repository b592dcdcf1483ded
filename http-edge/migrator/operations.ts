import type { MigratorOperation } from './operation.ts'
import { agentOperations } from './resources/agents.ts'
import { authenticationOperations } from './resources/authentication.ts'
import { bandwidthOperations } from './resources/bandwidth.ts'
import { cleanupOperations } from './resources/cleanups.ts'
import { diagnosticOperations } from './resources/diagnostics.ts'
import { filesystemOperations } from './resources/filesystems.ts'
import { infoOperations } from './resources/info.ts'
import { migrationOperations } from './resources/migrations.ts'
import { notificationOperations } from './resources/notifications.ts'
import { pathMappingOperations } from './resources/path-mappings.ts'
import { ruleOperations } from './resources/rules.ts'
import { statsOperations } from './resources/stats.ts'
import { verificationOperations } from './resources/verifications.ts'

/** All operations of the surface that there are. */
export const operations: readonly MigratorOperation[] = [
  ...authenticationOperations,
  ...filesystemOperations,
  ...migrationOperations,
  ...bandwidthOperations,
  ...agentOperations,
  ...verificationOperations,
  ...cleanupOperations,
  ...statsOperations,
  ...diagnosticOperations,
  ...ruleOperations,
  ...pathMappingOperations,
  ...notificationOperations,
  ...infoOperations,
]
