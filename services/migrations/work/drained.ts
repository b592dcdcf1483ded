import type { Collection } from '../../../broker/state/collection.ts'
import { Queue } from '../../../broker/queue/queue.ts'
import type { Mover } from '../../engine/mover.ts'
import { type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { applyTransition } from '../lifecycle/transition.ts'
import { forgetWork, type WorkStores } from '../progress/work.ts'

interface Stores extends WorkStores {
  readonly records: Collection<typeof MigrationRecord>
  readonly mover: Pick<Mover, 'forget'>
}

type Behind = Pick<MigrationRecord, 'behindSince'>

/** The work was ended: by a stop, by somebody more urgent, by a reset, which leaves what nobody needs any more. */
export async function halted(stores: Stores, record: MigrationRecord, behind: Behind): Promise<void> {
  const { records } = stores
  const { migrationId } = record
  const workId = workIdOf(record)
  await drained(stores, record, behind)
  const latest = await records.get(migrationId)
  if (latest === undefined || workIdOf(latest) !== workId) {
    await stores.mover.forget(record.internalId)
    return forgetWork(stores, workId)
  }
  if (latest.state !== 'SCHEDULED' || behind.behindSince === undefined) return
  await records.update(migrationId, (current) =>
    workIdOf(current) === workId && current.state === 'SCHEDULED' ? { ...current, ...behind } : undefined,
  )
}

/** A stopped migration has nothing in hand any more. */
export async function drained(
  { records, connection, mover }: Stores,
  { migrationId, internalId }: MigrationRecord,
  behind: Behind,
): Promise<void> {
  const record = await applyTransition(records, migrationId, 'drained', (current) =>
    current.internalId === internalId ? left(current, behind) : undefined,
  )
  if (record === undefined || record.resumable) return
  await mover.forget(internalId)
  await Queue.deleteByName(connection, workIdOf(record))
}

/** One that cannot go on is not behind: it does not follow its source any more. */
const left = ({ behindSince: _before, ...current }: MigrationRecord, behind: Behind): MigrationRecord =>
  current.resumable ? { ...current, ...behind } : current
