import { idOfToken } from '../../subjects/kit/names.ts'
import type { Directory } from './directory.ts'
import type { ExtensionState } from './record.ts'

/** The prefixes whose last instance went without a goodbye, as all nodes see them: stored with the prefix, followed. */
export class LostExtensions {
  readonly #owned: ExtensionState['owned']
  readonly #directory: Directory
  readonly #since = new Map<string, string>()
  readonly #listeners: ((prefix: string) => void)[] = []

  private constructor(owned: ExtensionState['owned'], directory: Directory) {
    this.#owned = owned
    this.#directory = directory
  }

  static async open(
    { owned }: Pick<ExtensionState, 'owned'>,
    directory: Directory,
  ): Promise<{ lost: LostExtensions; stop(): Promise<void> }> {
    const lost = new LostExtensions(owned, directory)
    const watch = await owned.watch((token, prefix) => {
      const id = idOfToken(token)
      if (lost.#since.get(id) === prefix?.lost) return
      if (prefix?.lost === undefined) lost.#since.delete(id)
      else lost.#since.set(id, prefix.lost)
      for (const listener of lost.#listeners) listener(id)
    })
    return { lost, stop: () => watch.stop() }
  }

  /** Those that are not back, by prefix, with when they were lost. */
  list(): { prefix: string; since: string }[] {
    return [...this.#since]
      .map(([prefix, since]) => ({ prefix, since }))
      .filter(({ prefix }) => this.#directory.instances(prefix).length === 0)
      .toSorted((a, b) => (a.prefix < b.prefix ? -1 : 1))
  }

  /** When the last instance of a prefix was lost that is not back; undefined for any other. */
  since(prefix: string): string | undefined {
    return this.#directory.instances(prefix).length === 0 ? this.#since.get(prefix) : undefined
  }

  /** Calls back with the prefix whenever an extension is lost, or back. */
  onChange(listener: (prefix: string) => void): void {
    this.#listeners.push(listener)
  }

  /** Notes that an instance is gone, if it was the last one. */
  async left(prefix: string): Promise<void> {
    if (this.#directory.instances(prefix).length > 0) return
    await this.#owned.update(prefix, (owned) => ({ ...owned, lost: new Date().toISOString() }))
  }

  /** Notes that there is an instance again. */
  async back(prefix: string): Promise<void> {
    if (!this.#since.has(prefix)) return
    await this.#owned.update(prefix, ({ lost: _over, ...owned }) => owned)
  }
}
