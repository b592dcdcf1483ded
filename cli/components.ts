import type { AuditTrail } from '../broker/audit-trail.ts'
import type { NatsConnection } from '../broker/connection.ts'
import type { Log } from '../broker/log.ts'
import { namesSetAside, setAsideBucket } from '../broker/set-aside.ts'
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

/** Whether all that is stored can be read. */
export async function recordsComponent(connection: NatsConnection): Promise<Component> {
  const name = 'records'
  try {
    const names = await namesSetAside(connection)
    return names.length === 0
      ? { name, healthy: true }
      : { name, healthy: false, message: setAsideText(names) }
  } catch (error) {
    return { name, healthy: false, message: `the broker does not answer: ${(error as Error).message}` }
  }
}

/** Says in the log what cannot be read. */
export async function tellOfSetAside(connection: NatsConnection, log: Log): Promise<void> {
  const names = await namesSetAside(connection)
  if (names.length > 0) log.error({ names }, setAsideText(names))
}

/** More of them say no more. */
const maxNames = 5

function setAsideText(names: readonly string[]): string {
  const some = names.slice(0, maxNames).join(', ') + (names.length > maxNames ? ', …' : '')
  return `Stored records cannot be read, and were set aside in the bucket ${setAsideBucket}: ${some}. Make anew what they were of, then remove them there.`
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
