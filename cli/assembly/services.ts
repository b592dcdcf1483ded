import { accessService } from '../../services/access/index.ts'
import { alertsService } from '../../services/alerts/index.ts'
import { auditService } from '../../services/audit/index.ts'
import { extensionsService } from '../../services/extensions/index.ts'
import { filesystemsService } from '../../services/filesystems/index.ts'
import { Assembly } from '../../services/kit/assembly.ts'
import { metadataService } from '../../services/metadata/index.ts'
import { migrationsService } from '../../services/migrations/index.ts'
import { notificationsService } from '../../services/notifications/index.ts'
import { observabilityService } from '../../services/observability/index.ts'
import { platformService } from '../../services/platform/index.ts'
import { usageService } from '../../services/usage/index.ts'
import { floodGuard, violationWatch } from './guards.ts'
import type { Host } from './host.ts'

/** All that the platform is put together of, in the order of its start; it ends in the reverse order. */
export const platformParts = new Assembly<Host>()
  .add(auditService)
  .add(floodGuard)
  .add(accessService)
  .add(extensionsService)
  .add(violationWatch)
  .add(observabilityService)
  .add(filesystemsService)
  .add(migrationsService)
  .add(metadataService)
  .add(usageService)
  .add(alertsService)
  .add(notificationsService)
  .add(platformService)
