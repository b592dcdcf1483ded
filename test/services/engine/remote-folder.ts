import type { Capabilities, Entry, Losses, StorePath } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'

/**
 * A store that is a folder, but does not say so: the engine goes through the driver as it does with a remote one, many
 * operations at once. Capabilities can be taken away.
 */
export class RemoteFolder extends LocalDriver {
  override readonly capabilities: Capabilities
  override readonly direct = undefined
  /** Most operations on files that were under way at once. */
  most = 0
  #underWay = 0

  constructor(fsRoot: string, changes: Partial<Capabilities> = {}) {
    super({ fsRoot })
    const own = new LocalDriver({ fsRoot }).capabilities
    this.capabilities = { ...own, clock: { ownGrainMs: 1_000, tickMs: 2_000 }, concurrency: 8, ...changes }
  }

  override copyFrom(): undefined {
    return undefined
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
