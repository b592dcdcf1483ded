import { defaultComparisonSeconds } from '../../../subjects/migration-changes.ts'
import type { DirtyFolder } from './dirty-folders.ts'
import type { ChangeFeed } from './feed.ts'
import { steadyMs } from './steady.ts'

/** Says from time to time that everything may have changed: for stores that tell nothing. */
export class Comparison implements ChangeFeed {
  readonly detection = 'comparing'
  readonly #seconds: number
  #timer: NodeJS.Timeout | undefined

  constructor(seconds = defaultComparisonSeconds) {
    this.#seconds = seconds
  }

  async open(onChange: (folders: readonly DirtyFolder[]) => void): Promise<void> {
    this.#timer = setInterval(() => onChange([everything()]), this.#seconds * 1_000)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
  }
}

/** All that there is. */
export const everything = (): DirtyFolder => ({
  folder: '',
  names: [],
  trees: [],
  scope: 'tree',
  sinceMs: steadyMs(),
})
