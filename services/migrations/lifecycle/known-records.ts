import type { Collection } from '../../../broker/state/collection.ts'
import type { MigrationRecord } from './record.ts'

/** The records of all migrations in memory, for whoever looks at them again and again: a change is there soon after it is stored. */
export class KnownRecords {
  readonly #records: Pick<Collection<typeof MigrationRecord>, 'watch'>
  readonly #known = new Map<string, MigrationRecord>()
  #watch: { stop(): Promise<void> } | undefined

  constructor(records: Pick<Collection<typeof MigrationRecord>, 'watch'>) {
    this.#records = records
  }

  async start(): Promise<void> {
    this.#watch = await this.#records.watch((token, record) => {
      if (record === undefined) this.#known.delete(token)
      else this.#known.set(token, record)
    })
  }

  async stop(): Promise<void> {
    await this.#watch?.stop()
  }

  /** By name, as a subject token. */
  all(): ReadonlyMap<string, MigrationRecord> {
    return this.#known
  }
}
