import type { Output } from '../kit/contract.ts'
import { brokenReasons } from './model/condition-terms.ts'
import { bytesForFile } from './model/terms.ts'
import type { Migration } from './model/model.ts'
import type { migrations } from './migrations.ts'

/** How far a migration is, as the platform says. */
export type Info = Output<(typeof migrations)['progress']>

/** How fast a migration is at the moment. */
export interface Rate {
  readonly filesPerSecond: number
  readonly bytesPerSecond: number
  /** Until all that was found so far is done; undefined when nothing moves, and when changes are followed. */
  readonly etaSeconds: number | undefined
}

interface Sample {
  readonly atMs: number
  /** What needs no more work, and what of it was copied. */
  readonly settled: Amount
  readonly copied: Amount
}

interface Amount {
  readonly files: number
  readonly bytes: number
}

/** Long enough to even out large files, short enough to follow a change of speed. */
const windowMs = 10_000

/** Files that need no more work. */
export const settledFiles = ({
  progress: { filesMigrated, filesSkipped, filesSuperseded },
}: {
  readonly progress: Pick<Info['progress'], 'filesMigrated' | 'filesSkipped' | 'filesSuperseded'>
}): number => filesMigrated + filesSkipped + filesSuperseded

const settledBytes = ({ progress: { migratedBytes, bytesSuperseded } }: Info): number =>
  migratedBytes + bytesSuperseded

/**
 * Whether it is a live one whose first scan is over, be it stopped: what is compared and copied from then on is no part of
 * a whole, and has no end.
 */
export const isFollowing = ({
  state,
  baseScanCompletionTime,
}: Pick<Info, 'state' | 'baseScanCompletionTime'>): boolean =>
  state === 'LIVE' || baseScanCompletionTime !== undefined

/** Of one that has ended, until it runs again. */
const isOver = ({ state }: Pick<Info, 'state'>): boolean =>
  state === 'COMPLETED' || state === 'WAITING_FOR_NEXT_RECURRENCE'

/**
 * Percentage of what was found that needs no more work; undefined where it says nothing: until everything is listed, of one
 * that follows its source, and of one that has ended with failures.
 */
export function shareOf(
  info: Pick<Info, 'state' | 'baseScanCompletionTime'> & {
    readonly progress: Pick<Info['progress'], 'failedPaths' | 'migratedPercentage'>
  },
): number | undefined {
  if (isFollowing(info)) return undefined
  const { failedPaths, migratedPercentage } = info.progress
  if (isOver(info)) return failedPaths === 0 ? 100 : undefined
  return migratedPercentage
}

/** The same by the migration itself, as lists have it. */
export const shareOfMigration = ({
  state,
  scanOnlyMigration,
  failedPathCount,
  migratedPercentage,
  scannerSummary: {
    progressSummary: { baseScanCompletionTime },
  },
}: Pick<
  Migration,
  'state' | 'scanOnlyMigration' | 'failedPathCount' | 'migratedPercentage' | 'scannerSummary'
>): number | undefined =>
  shareOf({
    state,
    ...(scanOnlyMigration || baseScanCompletionTime === undefined ? {} : { baseScanCompletionTime }),
    progress: {
      failedPaths: failedPathCount,
      ...(migratedPercentage === undefined ? {} : { migratedPercentage }),
    },
  })

/** The rates of one migration over the last seconds. */
export class RateMeter {
  #samples: Sample[] = []

  /** Takes what is known at a moment, in milliseconds of any clock that does not jump. */
  add(info: Info, atMs: number): Rate {
    const { filesMigrated, totalMigratedBytes } = info.progress
    const sample: Sample = {
      atMs,
      settled: { files: settledFiles(info), bytes: settledBytes(info) },
      copied: { files: filesMigrated, bytes: totalMigratedBytes },
    }
    this.#samples = [...this.#samples.filter((one) => one.atMs > atMs - windowMs), sample]
    const first = this.#samples[0]!
    const seconds = (atMs - first.atMs) / 1000
    const perSecond = (now: number, before: number) => (seconds > 0 ? Math.max(0, now - before) / seconds : 0)
    // Of one that follows its source, what a comparison finds to be the same already is no work.
    const what = isFollowing(info) ? 'copied' : 'settled'
    const filesPerSecond = perSecond(sample[what].files, first[what].files)
    const bytesPerSecond = perSecond(sample[what].bytes, first[what].bytes)
    return { filesPerSecond, bytesPerSecond, etaSeconds: etaSeconds(info, filesPerSecond, bytesPerSecond) }
  }
}

/** By files and bytes together, as they are measured for the share that is done; else the platform's own estimate. */
function etaSeconds(info: Info, filesPerSecond: number, bytesPerSecond: number): number | undefined {
  // What does not move has no end that could be told.
  if (isFollowing(info) || info.conditions.some(({ reason }) => brokenReasons.includes(reason)))
    return undefined
  const { filesScanned, failedPaths, totalBytes, etaEstimate } = info.progress
  const filesLeft = Math.max(0, filesScanned - settledFiles(info) - failedPaths)
  const left = filesLeft * bytesForFile + Math.max(0, totalBytes - settledBytes(info))
  const perSecond = filesPerSecond * bytesForFile + bytesPerSecond
  return left > 0 && perSecond > 0 ? left / perSecond : etaEstimate?.inSeconds
}
