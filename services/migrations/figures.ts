import type { Collection } from '../../broker/collection.ts'
import { GantryError } from '../../subjects/errors.ts'
import type { Migration } from '../../subjects/migration-model.ts'
import type { Counts } from './engine/counts.ts'
import { type MigrationRecord, workIdOf } from './record.ts'
import { countsOf, publicMigration } from './view.ts'
import type { WorkStores } from './work.ts'

/** A record with what was done for it. */
export interface WithFigures {
  readonly record: MigrationRecord
  readonly counts: Counts
  readonly failed: number
}

/**
 * Records with their figures. Those are asked for first: they are forgotten when a scan is over, and then its record has
 * them.
 */
export class Figures {
  readonly #records: Collection<typeof MigrationRecord>
  readonly #stores: Pick<WorkStores, 'progress' | 'failures'>

  constructor(
    records: Collection<typeof MigrationRecord>,
    stores: Pick<WorkStores, 'progress' | 'failures'>,
  ) {
    this.#records = records
    this.#stores = stores
  }

  /** @throws GantryError NOT_FOUND */
  async record(migrationId: string): Promise<MigrationRecord> {
    const record = await this.#records.get(migrationId)
    if (record === undefined) throw new GantryError('NOT_FOUND', `there is no migration ${migrationId}`)
    return record
  }

  /** @throws GantryError NOT_FOUND */
  async one(migrationId: string): Promise<WithFigures> {
    const { progress, failures } = this.#stores
    const running = await progress.totals()
    const record = await this.record(migrationId)
    return { record, counts: countsOf(record, running), failed: await failures.count(workIdOf(record)) }
  }

  /** All, or those whose names come after one. */
  async all(after?: string): Promise<WithFigures[]> {
    const { progress, failures } = this.#stores
    const [running, failed] = await Promise.all([progress.totals(), failures.counts()])
    const all = await this.#records.list({
      limit: Number.POSITIVE_INFINITY,
      ...(after === undefined ? {} : { after }),
    })
    return all.map((record) => ({
      record,
      counts: countsOf(record, running),
      failed: failed.get(workIdOf(record)) ?? 0,
    }))
  }

  /** A migration as callers see it. @throws GantryError NOT_FOUND */
  async view(migrationId: string): Promise<Migration> {
    return publicMigration(await this.one(migrationId))
  }
}
