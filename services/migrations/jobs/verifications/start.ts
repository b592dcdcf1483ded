import { Collection } from '../../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import type { Owners } from '../../../../broker/rpc/owners.ts'
import type { RecordJournals } from '../../../../broker/state/books/record-journal.ts'
import { emission, type Events } from '../../../../broker/state/events.ts'
import type { Log } from '../../../../broker/common/log.ts'
import { verificationReports } from '../../../../subjects/migrations/model/verification-terms.ts'
import { verificationEvents } from '../../../../subjects/migrations/verifications.ts'
import type { Mover, MoveSpec } from '../../../engine/mover.ts'
import { csvHead } from '../../../engine/walk/compare.ts'
import { encodeFolder } from '../../../engine/walk/walk-folder.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'
import { forgetJobsOf } from '../forget-jobs.ts'
import { ReportStore } from '../reports.ts'
import { walkAll } from '../../../engine/walk/walk-all.ts'
import { type JobOutcome, WalkJobs, type Work } from '../walk-jobs.ts'
import { verificationHandlers } from './handlers.ts'
import { pathWithin } from './paths.ts'
import { publicVerification, VerificationRecord } from './record.ts'

export interface VerificationsOptions {
  readonly connection: NatsConnection
  readonly owners: Owners
  readonly journals: RecordJournals
  readonly events: Events
  readonly mover: Pick<Mover, 'compare' | 'walksAtOnce'>
  /** Reports, and what walks have no room for in memory. */
  readonly folder: string
  /** @throws GantryError NOT_FOUND */
  readonly findMigration: (migrationId: string) => Promise<MigrationRecord>
  /** The stores of a migration; undefined when it is gone. */
  readonly resolve: (migrationId: string, internalId: string) => Promise<MoveSpec | undefined>
  readonly log: Log
}

/** Opens the verifications; `jobs` works on them, `forgetOf` forgets those of a migration. */
export async function startVerifications(options: VerificationsOptions) {
  const { connection, journals, events, folder, log } = options
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
    work: (record, work) => verify(options, record, work),
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
    handlers: verificationHandlers({ ...options, ...known }),
    jobs,
    forgetOf: (internalId: string) => forgetJobsOf(known, internalId),
  }
}

async function verify(
  { mover, resolve, folder }: VerificationsOptions,
  { migrationId, internalId, level, ignoreAfterMs, depth, paths }: VerificationRecord,
  { take, signal }: Work,
): Promise<JobOutcome> {
  const spec = await resolve(migrationId, internalId)
  if (spec === undefined) return { status: 'CANCELLED', message: 'the migration was deleted' }
  const comparison = { level, ...(ignoreAfterMs === undefined ? {} : { ignoreAfterMs }) }
  const side = 'unknown'
  const levels = depth === undefined ? {} : { levels: depth }
  await walkAll({
    start: paths.map((path) => encodeFolder({ path: pathWithin(spec.root, path), side, ...levels })),
    atOnce: mover.walksAtOnce,
    spillFolder: folder,
    step: (folders, step, stop) => mover.compare(spec, comparison, folders, step, stop),
    take,
    signal,
  })
  return { status: 'COMPLETE' }
}
