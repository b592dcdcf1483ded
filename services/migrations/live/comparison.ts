import { every, type Task } from '../../../broker/tasks/tasks.ts'
import {
  defaultComparisonSeconds,
  defaultHealingSeconds,
} from '../../../subjects/migrations/model/changes.ts'
import { type DirtyFolder, everythingSince } from '../../drivers/feeds/dirty-folders.ts'
import type { ChangeDetection, ChangeFeed, FeedListener } from '../../drivers/feeds/feed.ts'
import { monotonicMs } from '../../../broker/common/monotonic.ts'

/** Says from time to time that everything may have changed: for stores that tell nothing. */
export class Comparison implements ChangeFeed {
  readonly detection = 'comparing'
  readonly #seconds: number
  #task: Task | undefined

  constructor(seconds = defaultComparisonSeconds) {
    this.#seconds = seconds
  }

  async open({ changed }: Pick<FeedListener, 'changed'>): Promise<boolean> {
    this.#task = every('migrations.comparisons', () => changed([everything()]), this.#seconds * 1_000)
    return false
  }

  async close(): Promise<void> {
    this.#task?.stop()
  }
}

/**
 * A feed whose source tells of its changes by way of others, and everything from time to time besides: what one of those lost,
 * nobody else would find.
 */
export class WithComparisons implements ChangeFeed {
  readonly detection: ChangeDetection
  readonly reason?: string
  readonly #feed: ChangeFeed
  readonly #comparison: Comparison

  constructor(feed: ChangeFeed, seconds = defaultHealingSeconds) {
    this.detection = feed.detection
    if (feed.reason !== undefined) this.reason = feed.reason
    this.#feed = feed
    this.#comparison = new Comparison(seconds)
  }

  get toldUntilMs(): number | undefined {
    return this.#feed.toldUntilMs
  }

  async open(listener: FeedListener, signal: AbortSignal): Promise<boolean> {
    const missedNothing = await this.#feed.open(listener, signal)
    await this.#comparison.open(listener)
    return missedNothing
  }

  async close(): Promise<void> {
    await this.#comparison.close()
    await this.#feed.close()
  }
}

/** All that there is. */
export const everything = (): DirtyFolder => everythingSince(monotonicMs())
