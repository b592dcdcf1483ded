import type { AuditTrail } from '../broker/audit-trail.ts'
import type { NatsConnection } from '../broker/connection.ts'
import { storageUse } from '../broker/storage.ts'
import type { AuditEntry } from '../subjects/audit.ts'
import type { platform } from '../subjects/platform.ts'
import type { Output } from '../subjects/contract.ts'

type Component = Output<(typeof platform)['health']>['components'][number]

/** Above this share of `max_file` the platform reports that its storage is nearly full. */
const storageWarningShare = 0.9

/** Whether there is room for what the platform stores. */
export async function storageComponent(connection: NatsConnection): Promise<Component> {
  const name = 'storage'
  try {
    const { fileBytes, maxFileBytes } = await storageUse(connection)
    if (fileBytes < maxFileBytes * storageWarningShare) return { name, healthy: true }
    const percent = Math.round((100 * fileBytes) / maxFileBytes)
    const message = `${percent} % of max_file is in use; raise it in messaging.config before work slows down`
    return { name, healthy: false, message }
  } catch (error) {
    return {
      name,
      healthy: false,
      message: `the broker’s storage does not answer: ${(error as Error).message}`,
    }
  }
}

/** Whether changes can be recorded. */
export function auditComponent(trail: Pick<AuditTrail<AuditEntry>, 'requireRoom'>): Component {
  const name = 'audit'
  try {
    trail.requireRoom()
    return { name, healthy: true }
  } catch (error) {
    return { name, healthy: false, message: (error as Error).message }
  }
}
