import type { Condition } from '../../subjects/conditions.ts'
import type { ChangesView } from './changes/following.ts'
import { add, type Counts, noCounts } from './engine/counts.ts'
import { type MigrationRecord, workIdOf } from './record.ts'
import { isBetweenScans } from './states.ts'

/** A record with what was done for it. */
export interface WithFigures {
  readonly record: MigrationRecord
  readonly counts: Counts
  readonly failed: number
  /** Of a live migration that is worked on here. */
  readonly changes: ChangesView | undefined
  readonly conditions: readonly Condition[]
}

/**
 * What was done for a migration's generation so far: the totals of its last scan, and what its workers have done since.
 * When a scan is over these are the same, and may not be forgotten yet.
 */
export function countsOf(record: MigrationRecord, running: Map<string, Counts>): Counts {
  const counts = { ...noCounts(), ...record.counts }
  return isBetweenScans(record.state) ? counts : add(counts, running.get(workIdOf(record)) ?? noCounts())
}
