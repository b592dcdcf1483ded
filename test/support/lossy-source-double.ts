import { setTimeout as delay } from 'node:timers/promises'
import { monotonicMs } from '../../broker/common/monotonic.ts'
import type { StoreKind } from '../../services/drivers/contract/kind.ts'
import type { Changes } from '../../services/drivers/contract/driver.ts'
import type { DirtyFolder } from '../../services/drivers/feeds/dirty-folders.ts'
import type { ChangeFeed, FeedListener } from '../../services/drivers/feeds/feed.ts'
import { local } from '../../services/drivers/local/index.ts'
import { randomBelow } from './random.ts'

/** What happens to what a source tells, and who hears what became of it. In the process that set it, and nowhere else. */
export interface Lossy {
  readonly random: () => number
  /** Shares of all that is told. */
  readonly lost: number
  readonly repeated: number
  /** What is told later than what came after it waits up to so long. */
  readonly longestMs: number
  readonly counts: { lost: number; repeated: number; told: number; done: number }
  /** The migration is told of it now. @returns what is called when it says that it is done */
  readonly telling: (folders: readonly DirtyFolder[]) => () => void
}

const place = Symbol.for('gantry.test.lossy')
const held = globalThis as { [place]?: Lossy | undefined }
export const setLossy = (lossy: Lossy | undefined): void => void (held[place] = lossy)

/** Stands for a store whose notifications are lost, come twice and in any order: folders of this host, and what the system tells. */
class LossyFeed implements ChangeFeed {
  readonly detection = 'notified'
  readonly #feed: ChangeFeed
  readonly #lossy: Lossy
  readonly #end = new AbortController()

  constructor(feed: ChangeFeed, lossy: Lossy) {
    this.#feed = feed
    this.#lossy = lossy
  }

  open(listener: FeedListener, signal: AbortSignal): Promise<boolean> {
    const { random, lost, repeated, counts } = this.#lossy
    const changed = (folders: readonly DirtyFolder[]) => {
      if (random() < lost) {
        counts.lost++
        return
      }
      void this.#tell(listener, folders)
      if (random() >= repeated) return
      counts.repeated++
      void this.#tell(listener, folders)
    }
    return this.#feed.open({ ...listener, changed }, signal)
  }

  async #tell(listener: FeedListener, folders: readonly DirtyFolder[]): Promise<void> {
    const { random, longestMs, counts, telling } = this.#lossy
    try {
      await delay(randomBelow(random, longestMs), undefined, { signal: this.#end.signal })
    } catch {
      return
    }
    const done = telling(folders)
    counts.told++
    const sinceMs = monotonicMs()
    listener.changed(
      folders.map((folder) => ({ ...folder, sinceMs })),
      () => {
        counts.done++
        done()
      },
    )
  }

  async close(): Promise<void> {
    this.#end.abort()
    await this.#feed.close()
  }
}

const lossyKind: StoreKind<'local'> = {
  ...local,
  open: async (options, side, bounds) => {
    const driver = await local.open(options, side, bounds)
    const { changes } = driver
    const lossy = held[place]
    if (lossy === undefined || side === 'target' || changes === undefined) return driver
    const feed: Changes['feed'] = async (...args) => {
      const found = await changes.feed(...args)
      return 'refusal' in found ? found : new LossyFeed(found, lossy)
    }
    return Object.assign(driver, { changes: { ...changes, feed } })
  },
}
// In place of the kind of this name, where it is added.
export default lossyKind
