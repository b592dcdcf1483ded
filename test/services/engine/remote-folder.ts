import type { Entry, Features, Losses, StorePath } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'

/**
 * A store that is a folder, but does not say so: the engine goes through the driver as it does with a remote one, many
 * operations at once. Features can be taken away.
 */
export class RemoteFolder extends LocalDriver {
  override readonly features: Features
  /** Most operations on files that were under way at once. */
  most = 0
  #underWay = 0

  constructor(fsRoot: string, features: Partial<Features> = {}) {
    super({ fsRoot })
    const { localRoot: _, ...own } = new LocalDriver({ fsRoot }).features
    this.features = { ...own, concurrency: 8, ...features }
  }

  override async put(...args: Parameters<LocalDriver['put']>): Promise<Losses> {
    this.most = Math.max(this.most, ++this.#underWay)
    // As from the network: the answer comes later.
    await new Promise((resolve) => setImmediate(resolve))
    const losses = await super.put(...args)
    this.#underWay--
    return losses
  }

  override refuses(path: StorePath, entry: Pick<Entry, 'type' | 'sizeBytes'>): string | undefined {
    if (path.toString().includes('refused')) return 'the name has the word refused in it'
    if (entry.sizeBytes > 1_000_000_000) return 'files of more than 1 GB do not fit'
    return super.refuses(path, entry)
  }
}
