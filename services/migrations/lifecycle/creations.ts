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
 * are asked for at the same moment, the later one sees the earlier one here, and waits for its outcome if it would be refused
 * because of it.
 */
export class Creations {
  readonly #open = new Set<Open>()

  /** Begins with one, before the records are read; it is over with the scope. */
  begin(): Creation {
    const plan = Promise.withResolvers<Planned | undefined>()
    const end = Promise.withResolvers<void>()
    const earlier = [...this.#open]
    const own = { plan: plan.promise, end: end.promise }
    this.#open.add(own)
    return {
      planned: plan.resolve,
      earlier: async () =>
        (await Promise.all(earlier.map((one) => one.plan))).filter((one) => one !== undefined),
      earlierEnded: async () => {
        await Promise.all(earlier.map((one) => one.end))
      },
      [Symbol.dispose]: () => {
        plan.resolve(undefined)
        end.resolve()
        this.#open.delete(own)
      },
    }
  }
}

interface Open {
  /** Undefined for one that was refused before it was known what it would be. */
  readonly plan: Promise<Planned | undefined>
  readonly end: Promise<void>
}

interface Creation extends Disposable {
  /** What it will be, once that is known. */
  planned(migration: Planned): void
  /** Those that were begun before and were not over then. */
  earlier(): Promise<Planned[]>
  /** Resolves when these are over: those that were made are among the records. */
  earlierEnded(): Promise<void>
}
