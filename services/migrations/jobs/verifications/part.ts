import { Collection } from '../../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import type { Owners } from '../../../../broker/rpc/owners.ts'
import type { RecordJournals } from '../../../../broker/state/books/record-journal.ts'
import { emission, type Events } from '../../../../broker/state/events.ts'
import type { Log } from '../../../../broker/common/log.ts'
import { verificationReports } from '../../../../subjects/migrations/model/verification-terms.ts'
import { verificationsInternal } from '../../../../subjects/migrations/internal.ts'
import { verificationEvents, verifications } from '../../../../subjects/migrations/verifications.ts'
import type { Mover, MoveSpec } from '../../../engine/mover.ts'
import { csvHead } from '../../../engine/walk/compare.ts'
import { encodeFolder } from '../../../engine/walk/walk-folder.ts'
import { service } from '../../../kit/part.ts'
import type { FailureLedger } from '../../failures/failures.ts'
import { type MigrationRecord, workIdOf } from '../../lifecycle/record.ts'
import { forgetJobsOf } from '../../../jobs/forget-jobs.ts'
import { ReportStore } from '../../../jobs/reports.ts'
import { walkAll } from '../../../engine/walk/walk-all.ts'
import { type JobOutcome, WalkJobs, type Work } from '../../../jobs/walk-jobs.ts'
import { verificationHandlers } from './handlers.ts'
import { pathWithin } from './paths.ts'
import { publicVerification, VerificationRecord } from './record.ts'
import { unresolved } from './unresolved.ts'

interface VerificationNeeds {
  readonly connection: NatsConnection
  readonly owners: Owners
  readonly journals: RecordJournals
  readonly events: Events
  readonly mover: Pick<Mover, 'compare' | 'walksAtOnce'>
  /** Reports, and what walks have no room for in memory. */
  readonly reportsFolder: string
  /** @throws GantryError NOT_FOUND */
  readonly findMigration: (migrationId: string) => Promise<MigrationRecord>
  readonly records: Collection<typeof MigrationRecord>
  readonly failures: Pick<FailureLedger, 'count'>
  readonly resolve: (record: MigrationRecord) => Promise<MoveSpec>
  readonly log: Log
}

/** Comparisons of sources with targets. */
export const verificationService = service({
  name: 'verifications',
  contracts: { verifications, verificationsInternal },
  start: async (needs: VerificationNeeds) => {
    const { connection, journals, events, reportsFolder: folder, log } = needs
    const records = await Collection.open(connection, {
      bucket: 'verifications',
      schema: VerificationRecord,
      version: 1,
      events,
      journals,
    })
    const reports = new ReportStore(folder, {
      ...verificationReports,
      DISCREPANCIES_CSV: { ...verificationReports.DISCREPANCIES_CSV, head: csvHead },
    })
    const jobs = new WalkJobs({
      name: 'verification',
      records,
      reports,
      work: (record, work) => verify(needs, record, work),
      view: (record) => publicVerification(record),
      finished: ({ id, migrationId, status, counts }) =>
        emission(verificationEvents.finished, id, {
          verificationId: id,
          migrationId,
          status,
          totalDiscrepancies: counts?.['totalDiscrepancies'] ?? 0,
        }),
      log,
    })
    const known = { records, reports, jobs }
    return {
      gives: {
        /** Forgets the verifications of a migration, with their reports. */
        forgetVerifications: (internalId: string) => forgetJobsOf(known, internalId),
      },
      handlers: {
        verifications: verificationHandlers({ ...needs, ...known }),
        verificationsInternal: { unresolved: async () => unresolved(await records.all()) },
      },
      run: () => jobs.start(),
      halt: () => jobs.stop(),
    }
  },
})

async function verify(
  { mover, records, failures, resolve, reportsFolder }: VerificationNeeds,
  { migrationId, internalId, level, ignoreAfterMs, depth, paths }: VerificationRecord,
  { take, signal }: Work,
): Promise<JobOutcome> {
  const migration = await records.get(migrationId)
  if (migration?.internalId !== internalId)
    return { status: 'CANCELLED', message: 'the migration was deleted' }
  const spec = await resolve(migration)
  const comparison = { level, ...(ignoreAfterMs === undefined ? {} : { ignoreAfterMs }) }
  const side = 'unknown'
  const levels = depth === undefined ? {} : { levels: depth }
  await walkAll({
    start: paths.map((path) => encodeFolder({ path: pathWithin(spec.root, path), side, ...levels })),
    atOnce: mover.walksAtOnce,
    spillFolder: reportsFolder,
    step: (folders, step, stop) => mover.compare(spec, comparison, folders, step, stop),
    take,
    signal,
  })
  // They explain what is found to be missing.
  await take({ lines: {}, counts: { failedPaths: await failures.count(workIdOf(migration)) } })
  return { status: 'COMPLETE' }
}
