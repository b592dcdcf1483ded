import type { Owners } from '../../../broker/rpc/owners.ts'
import type { Handlers } from '../../../subjects/kit/contract.ts'
import {
  type ComparisonReport,
  defaultPurpose,
  type metadataComparisons,
} from '../../../subjects/metadata/comparisons.ts'
import { allReports } from '../../../subjects/migrations/model/verification-terms.ts'
import { jobHandlers } from '../../jobs/job-handlers.ts'
import type { ReportStore } from '../../jobs/reports.ts'
import type { JobRecords, WalkJobs } from '../../jobs/walk-jobs.ts'
import type { StoredRecords } from '../../jobs/kept-records.ts'
import type { MetadataMigrationRecord } from '../migrations/record.ts'
import { type ComparisonRecord, publicComparison } from './record.ts'

export interface ComparisonDependencies {
  readonly owners: Owners
  readonly records: StoredRecords<ComparisonRecord> & JobRecords<ComparisonRecord>
  readonly reports: ReportStore<ComparisonReport>
  readonly jobs: Pick<WalkJobs<ComparisonRecord, ComparisonReport>, 'cancel' | 'countsOf' | 'wake'>
  /** @throws GantryError NOT_FOUND */
  readonly findMigration: (migrationName: string) => Promise<MetadataMigrationRecord>
}

export function comparisonHandlers(
  dependencies: ComparisonDependencies,
): Handlers<typeof metadataComparisons> {
  const { findMigration } = dependencies
  const known = jobHandlers({ name: 'metadata-comparison', ...dependencies, view: publicComparison })
  return {
    create: async ({ migrationName, purpose = defaultPurpose }, { caller }) => {
      const { internalId } = await findMigration(migrationName)
      return known.make(caller, {
        id: crypto.randomUUID(),
        migrationId: migrationName,
        internalId,
        status: 'QUEUED',
        purpose,
        created: new Date().toISOString(),
      })
    },
    list: ({ migrationName, ...page }) =>
      known.list(page, ({ migrationId }) => migrationName === undefined || migrationId === migrationName),
    get: ({ comparisonId }) => known.get(comparisonId),
    cancel: ({ comparisonId }) => known.cancel(comparisonId),
    delete: ({ comparisonId }) => known.delete(comparisonId),
    reports: ({ comparisonId }) => known.reports(comparisonId),
    report: ({ comparisonId, reportId = 'DIFFERENCES_CSV', from }) =>
      reportId === allReports.name
        ? known.archive(comparisonId, allReports.type, from)
        : known.report(comparisonId, reportId, from),
  }
}
