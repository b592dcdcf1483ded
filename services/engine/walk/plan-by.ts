import type { StorePath } from '../../drivers/contract/driver.ts'

/** What a plan goes by. Plain data. */
export interface PlanBy {
  /**
   * `scan`: what is only at the target stays; `match`: it is deleted; `comparison`: as a live migration that was started
   * compares, which deletes what came to the target since then.
   */
  readonly as: 'scan' | 'match' | 'comparison'
  /** Of `comparison`: `ToldNames`, packed. */
  readonly told?: SharedArrayBuffer
}

/** How a name was told of: `tree`, with all that is below it. */
type Told = 'name' | 'tree'

/** Names whose changes wait in a queue: what is gone under them goes at the target, however old. */
export class ToldNames {
  readonly #names = new Map<string, Told>()

  /** @param path relative to the migration's path */
  add(path: StorePath, how: Told): void {
    const key = path.toString('latin1')
    if (how === 'tree' || !this.#names.has(key)) this.#names.set(key, how)
  }

  of(path: StorePath): Told | undefined {
    return this.#names.get(path.toString('latin1'))
  }

  get size(): number {
    return this.#names.size
  }

  /** In shared memory, for all threads. */
  pack(): SharedArrayBuffer {
    const json = Buffer.from(JSON.stringify([...this.#names]))
    const shared = new SharedArrayBuffer(json.length)
    new Uint8Array(shared).set(json)
    return shared
  }

  static unpack(shared: SharedArrayBuffer | undefined): ToldNames {
    const told = new ToldNames()
    if (shared === undefined) return told
    const names = JSON.parse(Buffer.from(new Uint8Array(shared)).toString()) as [string, Told][]
    for (const [path, how] of names) told.#names.set(path, how)
    return told
  }
}
