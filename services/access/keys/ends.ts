import { subjectToken } from '../../../subjects/kit/names.ts'
import type { KeyCollection, StoredKey } from './keys.ts'

/** When a key ends, by itself or because it was revoked. */
export type KeyEnd = Pick<StoredKey, 'id' | 'kind' | 'created' | 'expires' | 'revoked'>

/**
 * The keys that end or have ended, in memory: whoever looks for them again and again need not read all keys. A change is
 * there soon after it is stored.
 */
export class KeyEnds {
  /** By subject token. */
  readonly #byToken = new Map<string, KeyEnd>()
  #watch: { stop(): Promise<void> } | undefined

  /** Reads all keys once; resolves when they are known. */
  static async open(keys: Pick<KeyCollection, 'watch' | 'all'>): Promise<KeyEnds> {
    const ends = new KeyEnds()
    const told = new Set<string>()
    let isSeeded = false
    ends.#watch = await keys.watch((token, key) => {
      if (!isSeeded) told.add(token)
      ends.#note(token, key)
    })
    for (const key of await keys.all()) {
      const token = subjectToken(key.id)
      // What was told meanwhile is newer.
      if (!told.has(token)) ends.#note(token, key)
    }
    isSeeded = true
    return ends
  }

  #note(token: string, key: StoredKey | undefined): void {
    const isOver = key?.kind !== 'session' && key?.revoked !== undefined
    // Nobody asks for the end of a key that was revoked, and nobody is told when it is erased.
    if (isOver || (key?.expires === undefined && key?.revoked === undefined)) {
      this.#byToken.delete(token)
      return
    }
    const { id, kind, created, expires, revoked } = key
    this.#byToken.set(token, {
      id,
      kind,
      created,
      ...(expires === undefined ? {} : { expires }),
      ...(revoked === undefined ? {} : { revoked }),
    })
  }

  all(): Iterable<KeyEnd> {
    return this.#byToken.values()
  }

  /** A key was erased, which those who watch need not hear of. */
  forget(id: string): void {
    this.#byToken.delete(subjectToken(id))
  }

  async stop(): Promise<void> {
    await this.#watch?.stop()
  }
}
