import type { Collection } from '../../../../broker/state/collection.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'
import type { KeptRecords } from '../../../jobs/kept-records.ts'
import { type CleanupRecord, newCleanup } from './record.ts'
import { cleanupDueMs } from './setting.ts'

export interface DueDependencies {
  readonly records: Collection<typeof MigrationRecord>
  readonly cleanups: Pick<KeptRecords<CleanupRecord>, 'create' | 'all'>
  readonly wake: () => void
}

/**
 * Begins the cleanups whose time has come, each once, whoever is killed in between.
 * @returns when the next is due, in milliseconds since 1970; undefined when none is
 */
export const cleanupsDue =
  ({ records, cleanups, wake }: DueDependencies) =>
  async (migrations: readonly MigrationRecord[], nowMs: number): Promise<number | undefined> => {
    const planned = migrations.flatMap((migration) => {
      const dueMs = cleanupDueMs(migration)
      return dueMs === undefined ? [] : [{ migration, dueMs }]
    })
    for (const { migration, dueMs } of planned) if (dueMs <= nowMs) await begin(migration)
    const later = planned.filter(({ dueMs }) => dueMs > nowMs).map(({ dueMs }) => dueMs)
    return later.length === 0 ? undefined : Math.min(...later)

    async function begin({ migrationId, internalId, completed }: MigrationRecord): Promise<void> {
      if (completed === undefined) return
      const known = await cleanups.all()
      const isBegun = known.some((one) => one.internalId === internalId && one.after === completed)
      if (!isBegun) {
        const cleanup = newCleanup(
          { migrationId, internalId },
          { dryRun: false, onlyIfAll: false, after: completed },
        )
        await cleanups.create(cleanup.id, cleanup)
      }
      await records.update(migrationId, (current) =>
        current.internalId === internalId && current.completed === completed
          ? { ...current, cleanedAfter: completed }
          : undefined,
      )
      wake()
    }
  }
