import type { Collection } from '../../../broker/state/collection.ts'
import type { Log } from '../../../broker/common/log.ts'
import type { MoveSpec } from '../../engine/mover.ts'
import { type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { applyTransition } from '../lifecycle/transition.ts'
import { type Deletions, type MatchDependencies, matchTarget } from './match-target.ts'

export interface MatchedDependencies extends MatchDependencies {
  readonly records: Collection<typeof MigrationRecord>
  readonly log: Log
}

/**
 * Deletes what is at the target only, where that is wanted, and notes it in the record; false when it has to be approved of
 * first, and the migration has stopped for it. Rejects with the signal's reason.
 */
export async function matchedTarget(
  dependencies: MatchedDependencies,
  record: MigrationRecord,
  spec: MoveSpec,
  signal: AbortSignal,
): Promise<boolean> {
  const { records, log } = dependencies
  const { migrationId } = record
  const workId = workIdOf(record)
  const note = (
    deletions: Deletions,
    change: (current: MigrationRecord) => MigrationRecord = (same) => same,
  ) =>
    records.update(migrationId, (current) =>
      workIdOf(current) === workId ? { ...change(current), deletions } : undefined,
    )
  const deletions = await matchTarget(dependencies, record, spec, signal, async (begun) => {
    await note(begun)
  })
  if (deletions === undefined) return true
  if (deletions.isHeld) {
    await applyTransition(records, migrationId, 'aborted', (current) =>
      workIdOf(current) === workId
        ? { ...current, deletions, resumable: true, abortReason: 'AUTO_ABORTED' }
        : undefined,
    )
    log.warn(
      { migration: migrationId, deletions },
      'The number of deletions exceeds the limit; they wait for approval.',
    )
    return false
  }
  await note(deletions, ({ approvedDeletions: _done, ...current }) => current)
  return true
}
