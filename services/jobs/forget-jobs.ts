import { isGantryError } from '../../subjects/kit/errors.ts'
import { concurrently } from '../../broker/common/concurrently.ts'
import { hasEnded } from '../../subjects/migrations/model/jobs.ts'
import type { JobRecord } from './job-record.ts'
import type { ReportStore } from './reports.ts'
import type { JobRecords, WalkJobs } from './walk-jobs.ts'

/** Jobs of a sort with what they leave. */
export interface KnownJobs<R extends JobRecord, N extends string> {
  readonly records: JobRecords<R>
  readonly reports: ReportStore<N>
  readonly jobs: Pick<WalkJobs<R, N>, 'cancel'>
}

/** What was kept of one sort for a migration; `bytesDeleted` of the platform's storage. */
export interface Forgotten {
  readonly total: number
  readonly deleted: number
  readonly bytesDeleted: number
}

/** Enough to keep the broker busy with the records of many. */
const forgottenAtOnce = 16

/** Ends a job that waits or is under way; resolves when it has ended. */
export async function endJob<R extends JobRecord, N extends string>(
  { records, jobs }: KnownJobs<R, N>,
  id: string,
): Promise<void> {
  await records.update(id, (current) =>
    current.status === 'QUEUED'
      ? { ...current, status: 'CANCELLED', finished: new Date().toISOString() }
      : undefined,
  )
  await jobs.cancel(id)
}

/** Forgets all jobs of a migration, with their reports; those that have not ended are ended. */
export async function forgetJobsOf<R extends JobRecord, N extends string>(
  known: KnownJobs<R, N>,
  migrationInternalId: string,
): Promise<Forgotten> {
  const { records, reports } = known
  const its = (await records.all()).filter(({ internalId }) => internalId === migrationInternalId)
  let [deleted, bytesDeleted] = [0, 0]
  await concurrently(its, forgottenAtOnce, async (record) => {
    const { id } = record
    try {
      if (!hasEnded(record)) await endJob(known, id)
      await records.delete(id)
    } catch (error) {
      // Somebody else has deleted it meanwhile.
      if (isGantryError(error, 'NOT_FOUND')) return
      throw error
    }
    bytesDeleted += reports.bytesOf(id)
    reports.remove(id)
    deleted++
  })
  return { total: its.length, deleted, bytesDeleted }
}
