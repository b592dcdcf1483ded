import type { Collection } from '../../../broker/collection.ts'
import type { CleanupReport } from '../../../subjects/cleanup-terms.ts'
import type { cleanups } from '../../../subjects/cleanups.ts'
import type { Handlers } from '../../../subjects/contract.ts'
import type { MigrationRecord } from '../record.ts'
import { jobHandlers } from '../walks/job-handlers.ts'
import type { ReportStore } from '../walks/reports.ts'
import type { WalkJobs } from '../walks/walk-jobs.ts'
import { type CleanablesDependencies, requireCleanable } from './allowed.ts'
import { CleanupRecord, newCleanup, publicCleanup } from './record.ts'

export interface CleanupDependencies {
  readonly records: Collection<typeof CleanupRecord>
  readonly reports: ReportStore<CleanupReport>
  readonly jobs: Pick<WalkJobs<CleanupRecord, CleanupReport>, 'cancel' | 'countsOf' | 'wake'>
  /** @throws GantryError NOT_FOUND */
  readonly findMigration: (migrationId: string) => Promise<MigrationRecord>
  readonly cleanables: CleanablesDependencies
}

export function cleanupHandlers(dependencies: CleanupDependencies): Handlers<typeof cleanups> {
  const { records, jobs, findMigration, cleanables } = dependencies
  const known = jobHandlers({ name: 'cleanup', ...dependencies, view: publicCleanup })
  return {
    create: async ({ migrationId, dryRun = false, onlyIfAll = false }) => {
      const migration = await findMigration(migrationId)
      await requireCleanable(cleanables, migration)
      await known.forgetOldest()
      const record = newCleanup(migration, { dryRun, onlyIfAll })
      await records.create(record.id, record)
      jobs.wake()
      return known.shown(record)
    },
    list: ({ migrationId, ...page }) =>
      known.list(page, (record) => migrationId === undefined || record.migrationId === migrationId),
    get: ({ cleanupId }) => known.get(cleanupId),
    cancel: ({ cleanupId }) => known.cancel(cleanupId),
    delete: ({ cleanupId }) => known.delete(cleanupId),
    reports: ({ cleanupId }) => known.reports(cleanupId),
    report: ({ cleanupId, reportId = 'KEPT_CSV', from }) => known.report(cleanupId, reportId, from),
  }
}
