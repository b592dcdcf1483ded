import type { Collection } from '../../../broker/state/collection.ts'
import type { Log } from '../../../broker/common/log.ts'
import type { Admission } from '../../scheduling/admission.ts'
import { begun } from '../../scheduling/recurrence.ts'
import { type MigrationRecord, restarted } from './record.ts'
import { applyTransition } from './transition.ts'

/** Tells a migration of its turn; resolves to whether that was still so. */
export async function admit(
  { records, log }: { readonly records: Collection<typeof MigrationRecord>; readonly log: Log },
  { migrationId, internalId, trigger }: Admission,
): Promise<boolean> {
  const now = new Date()
  const record = await applyTransition(records, migrationId, trigger, (current) => {
    if (current.internalId !== internalId) return undefined
    if (trigger === 'due') return { ...current, scheduled: now.toISOString() }
    return trigger === 'admitted' ? admitted(current, now) : current
  })
  if (record === undefined) return false
  log.debug({ migration: migrationId, state: record.state }, 'A migration had its turn.')
  return true
}

/** A record that begins or goes on to run. A recurrence is a beginning from the root. */
export function admitted(current: MigrationRecord, now: Date): MigrationRecord {
  const started = now.toISOString()
  const record = current.state === 'RECURRENCE_SCHEDULED' ? restarted(current) : current
  const { recurrence } = record
  return {
    ...record,
    started: record.started ?? started,
    ...(recurrence === undefined || record.seeded ? {} : { recurrence: begun(recurrence, now.getTime()) }),
  }
}
