import type { Log } from '../../../broker/common/log.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import type { ChangeFeed, FeedPositions } from '../../drivers/feeds/feed.ts'
import { openDriver } from '../../drivers/index.ts'
import type { MoveSpec } from '../../engine/mover.ts'
import { Changes } from './changes.ts'
import { Comparison, WithComparisons } from './comparison.ts'
import type { KnownFailures } from './known-failures.ts'
import type { CountedFirst } from './on-hold.ts'

export interface FollowOptions {
  /** What tells of changes in place of the source itself. */
  readonly reported?: ChangeFeed
  /** Name of the migration, for the log. */
  readonly migration: string
  /** How often everything is compared, where that is the way or notifications tell; undefined for the usual period of each. */
  readonly comparisonSeconds: number | undefined
  /** See `ChangesOptions`. */
  readonly gapSinceMs: number | undefined
  /** See `ChangesOptions`. */
  readonly comparesFirst: boolean
  /** See `ChangesOptions`. */
  readonly positions: FeedPositions
  /** Changes after the scan are not applied. */
  readonly endsWithScan: boolean
  readonly failures: KnownFailures
  /** For a source that does not tell of its changes. */
  readonly countedFirst?: CountedFirst
  /** Folders that may be watched; undefined for as many as usual. */
  readonly maxWatches?: number | undefined
  /** Where filesystems may be; undefined for anywhere. */
  readonly bounds?: StoreBounds
  readonly log: Log
}

/** What follows the changes of a live migration: told of them where the source tells. */
export async function changesOf(
  spec: Pick<MoveSpec, 'source' | 'root'>,
  { reported, comparisonSeconds, maxWatches, bounds, countedFirst, ...options }: FollowOptions,
): Promise<Changes> {
  const driver = await openDriver(spec.source, 'source', bounds)
  const { changes, hostFolder } = driver
  await driver.close()
  const told = reported ?? (await changes?.feed(Buffer.from(spec.root), maxWatches))
  const comparison = () => new Comparison(comparisonSeconds)
  const counting = hostFolder === undefined ? { countedFirst } : {}
  const all = { ...options, ...counting, fallback: comparison }
  if (told !== undefined && !('refusal' in told)) {
    const feed = told.compares === true ? told : new WithComparisons(told, comparisonSeconds)
    return new Changes({ ...all, feed, reason: told.reason })
  }
  return new Changes({
    ...all,
    feed: comparison(),
    reason: told?.refusal ?? 'the source does not report changes',
  })
}
