import type { Collection } from '../../../../broker/state/collection.ts'
import type { Owners } from '../../../../broker/rpc/owners.ts'
import type { Handlers } from '../../../../subjects/kit/contract.ts'
import { notAccepted } from '../../../../subjects/kit/errors.ts'
import {
  allReports,
  type VerificationReport,
  usualLevel,
} from '../../../../subjects/migrations/model/verification-terms.ts'
import type { verifications } from '../../../../subjects/migrations/verifications.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'
import { jobHandlers } from '../../../jobs/job-handlers.ts'
import type { ReportStore } from '../../../jobs/reports.ts'
import type { WalkJobs } from '../../../jobs/walk-jobs.ts'
import { pathsWithin } from './paths.ts'
import { publicVerification, type VerificationRecord } from './record.ts'

export interface VerificationDependencies {
  readonly owners: Owners
  readonly records: Collection<typeof VerificationRecord>
  readonly reports: ReportStore<VerificationReport>
  readonly jobs: Pick<WalkJobs<VerificationRecord, VerificationReport>, 'cancel' | 'countsOf' | 'wake'>
  /** @throws GantryError NOT_FOUND */
  readonly findMigration: (migrationId: string) => Promise<MigrationRecord>
}

export function verificationHandlers(dependencies: VerificationDependencies): Handlers<typeof verifications> {
  const { findMigration, records } = dependencies
  const known = jobHandlers({ name: 'verification', ...dependencies, view: publicVerification })
  /** The id of a verification, given that or the name of its migration. */
  const idOf = async (idOrMigration: string): Promise<string> => {
    if ((await records.get(idOrMigration)) !== undefined) return idOrMigration
    const [latest] = await known.list({ limit: 1 }, ({ migrationId }) => migrationId === idOrMigration)
    return latest?.id ?? idOrMigration
  }
  return {
    create: async (input, { caller }) => {
      const {
        migrationId,
        originalPaths = [],
        verificationDepth,
        ignoreAfterTimestamp,
        level = usualLevel,
      } = input
      const { internalId, path } = await findMigration(migrationId)
      const paths = pathsWithin(path, originalPaths)
      const record: VerificationRecord = {
        id: crypto.randomUUID(),
        migrationId,
        internalId,
        status: 'QUEUED',
        level,
        created: new Date().toISOString(),
        paths,
        originalPaths,
        ...(verificationDepth === undefined ? {} : { depth: verificationDepth }),
        ...(ignoreAfterTimestamp === undefined ? {} : { ignoreAfterMs: ignoreAfterTimestamp }),
      }
      return known.make(caller, record)
    },
    list: ({ migrationId, migrationIds, states, ...page }) =>
      known.list(
        page,
        (record) =>
          (migrationId === undefined || record.migrationId === migrationId) &&
          (migrationIds === undefined || migrationIds.includes(record.migrationId)) &&
          (states === undefined || states.includes(record.status)),
      ),
    get: async ({ verificationId }) => known.get(await idOf(verificationId)),
    cancel: ({ verificationId }) => known.cancel(verificationId),
    delete: ({ verificationId }) => known.delete(verificationId),
    reports: async ({ verificationId }) => known.reports(await idOf(verificationId)),
    report: async ({ verificationId, reportId = 'DISCREPANCIES_CSV', from }) => {
      const id = await idOf(verificationId)
      // By then another one may be the latest: its text would follow the beginning of this one's.
      if (from !== undefined && from > 0 && id !== verificationId)
        throw notAccepted(
          'verificationId',
          `must be the id of the verification for further parts, such as ${id}`,
        )
      const part = await (reportId === allReports.name
        ? known.archive(id, allReports.type, from)
        : known.report(id, reportId, from))
      return { ...part, of: id }
    },
  }
}
