import type { Log } from '../../../broker/common/log.ts'
import type { Renamed, RenamedThere } from '../../drivers/feeds/dirty-folders.ts'
import type { ChangeDetection, ChangeFeed, FeedPositions } from '../../drivers/feeds/feed.ts'
import type { KnownFailures } from './known-failures.ts'
import type { CountedFirst } from './on-hold.ts'
import { monotonicMs } from '../../../broker/common/monotonic.ts'

/** What changes need of the migration that is worked on. */
export interface ChangesPort {
  /** Puts an item into the queue: that of a change, or one that is a part of scanning. */
  publish(lane: 'change' | 'region', item: Uint8Array, messageId: string): Promise<void>
  /**
   * Gives what was renamed at the source its new name at the target, if nothing is in the queue.
   * @returns those that are done; undefined where something is in the queue
   */
  rename(renamed: readonly Renamed[]): Promise<readonly RenamedThere[] | undefined>
  /** The work on the migration cannot go on like this. */
  fail(error: unknown): void
}

export interface ChangesOptions {
  /** What tells of changes; undefined for nothing. */
  readonly feed: ChangeFeed | undefined
  /** Why it is that one, where another would be better. */
  readonly reason: string | undefined
  /** Takes the place of a feed that has no room to watch all folders. */
  readonly fallback: () => ChangeFeed
  /** Since when nobody was told of the changes (`monotonicMs`): all is to be compared once; undefined where there is no gap. */
  readonly gapSinceMs: number | undefined
  /** Whether all is to be compared in any case, as something else than news of changes may be missing. */
  readonly comparesFirst?: boolean
  readonly positions: FeedPositions
  /** Changes after the scan are not applied. */
  readonly endsWithScan: boolean
  readonly failures: KnownFailures
  /** Removals are counted first, by whom; undefined for a source that is watched, or a folder of this host. */
  readonly countedFirst?: CountedFirst | undefined
  /** Name of the migration, for the log. */
  readonly migration: string
  readonly log: Log
}

/** How changes are found, and how far behind the target is. */
export interface ChangesView {
  readonly detection: ChangeDetection | 'off'
  readonly reason: string | undefined
  /**
   * Age of the oldest change that is not at the target yet, in seconds; 0 when there is none. Where nobody tells of changes,
   * or follows them, and until the first scan is over, since the last moment of which it is known that all was found.
   */
  readonly lagSeconds: number
  /** All that was changed before has been told, in milliseconds since 1970; undefined where changes are told at once. */
  readonly toldUntilMs?: number | undefined
  /** Changes that are not in the queue yet. */
  readonly unscheduled: number
  /** Changes that are in the queue. */
  readonly scheduled: number
  /** A path below the migration's whose change waits for long, as it is written to whenever it is looked at. */
  readonly writtenTo?: string | undefined
  /** When everything is compared for a file with several names whose change waits for long, in milliseconds since 1970. */
  readonly comparesAtMs?: number | undefined
}

/** @param oldestMs since when something waits (`monotonicMs`) */
export const lagSeconds = (oldestMs: number | undefined): number =>
  oldestMs === undefined ? 0 : Math.max(0, (monotonicMs() - oldestMs) / 1_000)

/** The earliest of those that there are. */
export const oldestOf = (times: readonly (number | undefined)[]): number | undefined =>
  times.reduce((oldest, time) => (time === undefined ? oldest : Math.min(oldest ?? time, time)), undefined)
