import {
  type CleanupReport,
  cleanupReportNames,
  cleanupReports,
} from '../../../../subjects/migrations/model/cleanup-terms.ts'
import type { Owners } from '../../../../broker/rpc/owners.ts'
import type { cleanups } from '../../../../subjects/migrations/cleanups.ts'
import type { Handlers } from '../../../../subjects/kit/contract.ts'
import { GantryError } from '../../../../subjects/kit/errors.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'
import { jobHandlers } from '../../../jobs/job-handlers.ts'
import { byAge } from '../../../jobs/job-record.ts'
import type { KeptRecords } from '../../../jobs/kept-records.ts'
import type { ReportStore } from '../../../jobs/reports.ts'
import type { WalkJobs } from '../../../jobs/walk-jobs.ts'
import { type CleanablesDependencies, requireCleanable } from './allowed.ts'
import { type CleanupRecord, newCleanup, publicCleanup } from './record.ts'

export interface CleanupDependencies {
  readonly owners: Owners
  readonly records: KeptRecords<CleanupRecord>
  readonly reports: ReportStore<CleanupReport>
  readonly jobs: Pick<WalkJobs<CleanupRecord, CleanupReport>, 'cancel' | 'countsOf' | 'wake'>
  /** @throws GantryError NOT_FOUND */
  readonly findMigration: (migrationId: string) => Promise<MigrationRecord>
  readonly cleanables: CleanablesDependencies
}

export function cleanupHandlers(dependencies: CleanupDependencies): Handlers<typeof cleanups> {
  const { records, findMigration, cleanables } = dependencies
  const known = jobHandlers({ name: 'cleanup', ...dependencies, view: publicCleanup })
  return {
    create: async ({ migrationId, dryRun = false, onlyIfAll = false }, { caller }) => {
      const migration = await findMigration(migrationId)
      await requireCleanable(cleanables, migration)
      return known.make(caller, newCleanup(migration, { dryRun, onlyIfAll }))
    },
    list: ({ migrationId, ...page }) =>
      known.list(page, (record) => migrationId === undefined || record.migrationId === migrationId),
    get: ({ cleanupId }) => known.get(cleanupId),
    cancel: ({ cleanupId }) => known.cancel(cleanupId),
    delete: ({ cleanupId }) => known.delete(cleanupId),
    reports: ({ cleanupId }) => known.reports(cleanupId),
    'reports-of': async ({ migrationId }) => {
      const all = await records.all()
      const its = all
        .filter((record) => record.migrationId === migrationId)
        .toSorted(byAge)
        .toReversed()
      if (its.length === 0) await findMigration(migrationId)
      const migration = await cleanables.records.get(migrationId)
      return its.flatMap(({ id, internalId, reports = [] }) =>
        reports.map(({ type, sizeBytes, checksum }) => ({
          descriptor: {
            name: nameOf(id, type),
            type: type === 'FULL' ? ('FULL' as const) : ('PARTIAL' as const),
            mimeType: cleanupReports[type].type,
          },
          size: sizeBytes,
          migrationId: internalId,
          migrationName: migrationId,
          migrationExists: migration?.internalId === internalId,
          checksum,
        })),
      )
    },
    'report-of': async ({ migrationId, reportName, from }) => {
      const all = await records.all()
      for (const { id } of all.filter((record) => record.migrationId === migrationId)) {
        const type = cleanupReportNames.find((name) => nameOf(id, name) === reportName)
        if (type !== undefined) return known.report(id, type, from)
      }
      throw new GantryError('NOT_FOUND', `the cleanups of ${migrationId} have no report ${reportName}`)
    },
    report: ({ cleanupId, reportId = 'KEPT_CSV', from }) => known.report(cleanupId, reportId, from),
  }
}

/** A report among those of all cleanups. */
const nameOf = (id: string, report: CleanupReport): string => `${id}-${cleanupReports[report].file}`
