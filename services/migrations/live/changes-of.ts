import type { Log } from '../../../broker/common/log.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import { openDriver } from '../../drivers/index.ts'
import { LocalRoot } from '../../drivers/local/root.ts'
import type { MoveSpec } from '../../engine/mover.ts'
import { Changes } from './changes.ts'
import { Comparison } from './comparison.ts'
import type { KnownFailures } from './known-failures.ts'
import type { CountedFirst } from './on-hold.ts'
import { LocalWatch, unwatchable } from './watch/local-watch.ts'

export interface FollowOptions {
  /** Name of the migration, for the log. */
  readonly migration: string
  /** Where nothing tells of changes: how often everything is compared; undefined for the usual period. */
  readonly comparisonSeconds: number | undefined
  /** See `ChangesOptions`. */
  readonly gapSinceMs: number | undefined
  /** Changes after the scan are not applied. */
  readonly endsWithScan: boolean
  readonly failures: KnownFailures
  /** For a source that is no folder of this host. */
  readonly countedFirst?: CountedFirst
  /** Folders that may be watched; undefined for as many as usual. */
  readonly maxWatches?: number | undefined
  /** Where filesystems may be; undefined for anywhere. */
  readonly bounds?: StoreBounds
  readonly log: Log
}

/** What follows the changes of a live migration: told of them where the source is a folder of this host. */
export async function changesOf(
  spec: Pick<MoveSpec, 'source' | 'root'>,
  { comparisonSeconds, maxWatches, bounds, countedFirst, ...options }: FollowOptions,
): Promise<Changes> {
  const folder = await folderOf(spec, bounds)
  const reason = folder === undefined ? 'the source does not tell of its changes' : unwatchable(folder)
  const comparison = () => new Comparison(comparisonSeconds)
  const feed =
    folder === undefined || reason !== undefined ? comparison() : new LocalWatch(folder, maxWatches, bounds)
  const counting = folder === undefined ? { countedFirst } : {}
  return new Changes({ ...options, ...counting, feed, reason, fallback: comparison })
}

/** The folder of the host that a migration begins at; undefined where the source is none. */
async function folderOf(
  { source, root }: Pick<MoveSpec, 'source' | 'root'>,
  bounds: StoreBounds | undefined,
): Promise<Buffer | undefined> {
  const driver = await openDriver(source, 'source', bounds)
  const { localRoot } = driver.features
  await driver.close()
  return localRoot === undefined ? undefined : new LocalRoot(localRoot).absolute(Buffer.from(root))
}
