import { type Static, Type } from 'typebox'
import { cleanupCounts, cleanupReportNames } from '../../../../subjects/migrations/model/cleanup-terms.ts'
import type { Migration } from '../../../../subjects/migrations/model/model.ts'
import type { Cleanup } from '../../../../subjects/migrations/cleanups.ts'
import { strict, Timestamp } from '../../../../subjects/kit/schemas.ts'
import { jobRecordFields, publicJob } from '../../../jobs/job-record.ts'

/** A cleanup as it is stored. */
export const CleanupRecord = strict({
  ...jobRecordFields(cleanupReportNames),
  dryRun: Type.Boolean(),
  onlyIfAll: Type.Boolean(),
  /** Of one that began by itself. */
  after: Type.Optional(Timestamp('When the migration was completed')),
})
export type CleanupRecord = Static<typeof CleanupRecord>

/** One that waits for its turn. */
export const newCleanup = (
  { migrationId, internalId }: Pick<CleanupRecord, 'migrationId' | 'internalId'>,
  asked: Pick<CleanupRecord, 'dryRun' | 'onlyIfAll' | 'after'>,
): CleanupRecord => ({
  id: crypto.randomUUID(),
  migrationId,
  internalId,
  status: 'QUEUED',
  created: new Date().toISOString(),
  ...asked,
})

/** A cleanup as callers see it. @param running counts of one that is under way */
export function publicCleanup(
  record: CleanupRecord,
  running: Readonly<Record<string, number>> = {},
): Cleanup {
  const { dryRun, onlyIfAll, after, counts = running } = record
  return {
    ...publicJob(record, counts, cleanupCounts),
    dryRun,
    onlyIfAll,
    ...(after === undefined ? {} : { after }),
  }
}

/** What is known of the cleanups of a migration's source; a look alone is none. */
export function cleanupTracker(
  cleanups: readonly CleanupRecord[],
  internalId: string,
): Migration['sourceCleanupTracker'] {
  const its = cleanups.filter((one) => one.internalId === internalId && !one.dryRun)
  const lastStart = its
    .flatMap(({ started }) => started ?? [])
    .toSorted()
    .at(-1)
  return {
    count: its.length,
    inProgress: its.some(({ status }) => status === 'IN_PROGRESS'),
    ...(lastStart === undefined ? {} : { lastStartTime: lastStart }),
  }
}
