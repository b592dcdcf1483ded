import type { Condition } from '../../../subjects/migrations/model/conditions.ts'
import type { ChangesView } from '../live/following.ts'
import { add, bytesInParts, type Counts, noCounts } from '../../engine/run/counts.ts'
import { type Moved, nothingMoved } from '../../engine/run/meter.ts'
import type { InFlightProgress } from './in-flight-progress.ts'
import { isCounted, type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { isActive } from '../lifecycle/states.ts'
import { followsOnly } from '../../scheduling/admission.ts'
import { scannedFiles } from './wire.ts'

/** A record with what was done for it. */
export interface WithFigures {
  readonly record: MigrationRecord
  readonly counts: Counts
  /** What is at the target of what is not counted yet. */
  readonly underWay: Moved
  readonly failed: number
  /** Of a live migration. */
  readonly changes: ChangesView | undefined
  readonly conditions: readonly Condition[]
}

/**
 * What was done for a migration's generation so far: the totals of its last scan, and what its workers have done since.
 * When a scan is over these are the same, and may not be forgotten yet.
 */
export function countsOf(record: MigrationRecord, running: Map<string, Counts>): Counts {
  const counts = { ...noCounts(), ...record.counts }
  return isCounted(record) ? counts : add(counts, running.get(workIdOf(record)) ?? noCounts())
}

/**
 * What is under way, or waits for somebody to go on with it, is at the target, but never more than was found and is left to do; a change of a live migration is found
 * and done at once. To be asked after the counts were: an item is counted first, and goes off here then.
 */
export function underWayOf(
  record: MigrationRecord,
  counts: Readonly<Counts>,
  inFlight: Pick<InFlightProgress, 'of'>,
): Moved {
  const { bytes, files } = isActive(record.state)
    ? inFlight.of(workIdOf(record))
    : (record.handedBack ?? nothingMoved)
  const left = followsOnly(record)
    ? { bytes: Number.POSITIVE_INFINITY, files: Number.POSITIVE_INFINITY }
    : {
        bytes: counts.bytesScanned - counts.bytesMigrated - counts.bytesSkipped - counts.bytesVanished,
        files: scannedFiles(counts) - settledFiles(counts),
      }
  return {
    bytes: between(0, bytes + bytesInParts(counts), left.bytes),
    files: between(0, files, left.files),
  }
}

/**
 * What was found and is not to come as it was found: it changed or went before it was copied, or had failed and was found again.
 * @param failed how many are in the list of failures: all that were given up besides are over
 */
export function supersededOf(counts: Readonly<Counts>, failed: number): Moved {
  const givenUp = Math.max(0, counts.filesFailed - counts.filesRetried)
  const over = Math.max(0, givenUp - failed)
  // Which ones are in the list, the counts do not say: when none is, all of their bytes are over.
  const share = over === 0 ? 0 : over / givenUp
  const bytes = Math.round(share * Math.max(0, counts.bytesFailed - counts.bytesRetried))
  return { files: counts.filesVanished + over, bytes: counts.bytesVanished + bytes }
}

/** Files and links that need no more work. */
const settledFiles = (counts: Readonly<Counts>): number =>
  arrivedFiles(counts) + counts.filesVanished + counts.failures - counts.filesRetried - counts.foldersRetried

const between = (least: number, value: number, most: number): number => Math.max(least, Math.min(value, most))

/** Files that are at the target. */
export const arrivedFiles = (counts: Readonly<Counts>): number =>
  counts.filesMigrated + counts.linksMigrated + counts.filesSkipped + counts.linksSkipped
