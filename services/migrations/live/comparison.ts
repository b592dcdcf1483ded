import { every, type Task } from '../../../broker/tasks/tasks.ts'
import { defaultComparisonSeconds } from '../../../subjects/migrations/model/changes.ts'
import type { DirtyFolder } from '../../drivers/feeds/dirty-folders.ts'
import type { ChangeFeed } from '../../drivers/feeds/feed.ts'
import { monotonicMs } from '../../../broker/common/monotonic.ts'

/** Says from time to time that everything may have changed: for stores that tell nothing. */
export class Comparison implements ChangeFeed {
  readonly detection = 'comparing'
  readonly #seconds: number
  #task: Task | undefined

  constructor(seconds = defaultComparisonSeconds) {
    this.#seconds = seconds
  }

  async open(onChange: (folders: readonly DirtyFolder[]) => void): Promise<void> {
    this.#task = every('migrations.comparisons', () => onChange([everything()]), this.#seconds * 1_000)
  }

  async close(): Promise<void> {
    this.#task?.stop()
  }
}

/** All that there is. */
export const everything = (): DirtyFolder => ({
  folder: '',
  names: [],
  trees: [],
  scope: 'tree',
  sinceMs: monotonicMs(),
})
