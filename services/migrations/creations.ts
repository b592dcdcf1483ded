import type { MigrationRecord } from './record.ts'

/** What of a migration says whether another one may be beside it. */
export type Planned = Pick<
  MigrationRecord,
  'migrationId' | 'path' | 'source' | 'target' | 'kind' | 'pathMappings'
> & {
  readonly cleaned?: MigrationRecord['cleaned']
  readonly targetMatch?: MigrationRecord['targetMatch'] | undefined
}

/**
 * Migrations that are being made: nobody finds them among the records yet. Of two that may not be beside each other, and
 * are asked for at the same moment, the later one sees the earlier one here.
 */
export class Creations {
  readonly #open = new Set<Promise<Planned | undefined>>()

  /** Begins with one, before the records are read; it is over with the scope. */
  begin(): Creation {
    const { promise, resolve } = Promise.withResolvers<Planned | undefined>()
    const earlier = [...this.#open]
    this.#open.add(promise)
    return {
      planned: resolve,
      earlier: async () => (await Promise.all(earlier)).filter((one) => one !== undefined),
      [Symbol.dispose]: () => {
        resolve(undefined)
        this.#open.delete(promise)
      },
    }
  }
}

interface Creation extends Disposable {
  /** What it will be, once that is known. */
  planned(migration: Planned): void
  /** Those that were begun before and were not over then. */
  earlier(): Promise<Planned[]>
}
