import type { AuditTrail } from '../../broker/audit/trail.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Log } from '../../broker/common/log.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import { namesSetAside, setAsideBucket } from '../../broker/state/quarantine.ts'
import { storageUse } from '../../broker/state/storage.ts'
import type { AuditEntry } from '../../subjects/access/audit.ts'
import type { Component } from '../kit/part.ts'

/** Above this share of `max_file` the platform reports that its storage is nearly full. */
const storageWarningShare = 0.9

/** Whether there is room for what the platform stores. */
export async function storageComponent(connection: NatsConnection): Promise<Component> {
  const name = 'storage'
  try {
    const { fileBytes, maxFileBytes } = await storageUse(connection)
    if (fileBytes < maxFileBytes * storageWarningShare) return { name, healthy: true }
    const percent = Math.round((100 * fileBytes) / maxFileBytes)
    const message = `${percent} % of max_file is in use: raise max_file in messaging.config before work slows down`
    return { name, healthy: false, message }
  } catch (error) {
    return {
      name,
      healthy: false,
      message: `the broker’s storage does not respond: ${(error as Error).message}`,
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
    return { name, healthy: false, message: `the broker does not respond: ${(error as Error).message}` }
  }
}

/** Says in the log what cannot be read. */
export async function tellOfSetAside(connection: NatsConnection, log: Log): Promise<void> {
  const names = await namesSetAside(connection)
  if (names.length > 0) log.error({ names }, setAsideText(names))
}

/** More of them say no more. */
const maxNames = 5

const some = (names: readonly string[]): string =>
  names.slice(0, maxNames).join(', ') + (names.length > maxNames ? ', …' : '')

function setAsideText(names: readonly string[]): string {
  return `Unreadable records were moved to the bucket ${setAsideBucket}: ${some(names)}. Create these objects again, then remove the records from the bucket.`
}

/** Whether nothing of what was acknowledged was damaged, and changes are noted in the journals. */
export async function lossesComponent(journals: RecordJournals): Promise<Component> {
  const name = 'state'
  const [problem] = await journals.problems()
  if (problem !== undefined) {
    const message = `changes cannot be written to the journal ${problem}: free space on its disk`
    return { name, healthy: false, message }
  }
  const losses = journals.losses.all()
  if (losses.length === 0) return { name, healthy: true }
  const names = losses.map(({ store, id }) => (id === undefined ? store : `${store}/${id}`))
  const message = `Stored state was damaged, and restored where possible: ${some(names)}. Run "gantry platform losses", check the listed entries, then run "gantry platform accept-losses".`
  return { name, healthy: false, message }
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
