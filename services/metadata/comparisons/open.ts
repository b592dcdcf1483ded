import type { Log } from '../../../broker/common/log.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { Owners } from '../../../broker/rpc/owners.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import { Collection } from '../../../broker/state/collection.ts'
import { emission, type Events } from '../../../broker/state/events.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { comparisonReports, metadataComparisonEvents } from '../../../subjects/metadata/comparisons.ts'
import { ReportStore } from '../../jobs/reports.ts'
import { type JobOutcome, WalkJobs, type Work } from '../../jobs/walk-jobs.ts'
import { ObjectBook } from '../migrations/book.ts'
import type { RunDependencies } from '../migrations/run.ts'
import { scopeOf } from '../migrations/scope.ts'
import { compareAll, csvHead } from './compare.ts'
import { comparisonHandlers } from './handlers.ts'
import { ComparisonRecord, publicComparison } from './record.ts'

interface ComparisonNeeds extends Omit<RunDependencies, 'progress'> {
  readonly connection: NatsConnection
  readonly journals: RecordJournals
  readonly events: Events
  readonly owners: Owners
  readonly reportsFolder: string
  readonly log: Log
}

/** Comparisons of catalogs, as jobs. */
export async function openComparisons(needs: ComparisonNeeds) {
  const { connection, journals, events, owners, log } = needs
  const records = await Collection.open(connection, {
    bucket: 'metadata-comparisons',
    schema: ComparisonRecord,
    version: 1,
    events,
    journals,
  })
  const reports = new ReportStore(needs.reportsFolder, {
    ...comparisonReports,
    DIFFERENCES_CSV: { ...comparisonReports.DIFFERENCES_CSV, head: csvHead },
  })
  const jobs = new WalkJobs({
    name: 'metadata-comparison',
    records,
    reports,
    work: (record, work) => compare(needs, record, work),
    view: (record) => publicComparison(record),
    finished: ({ id, migrationId, purpose, status, counts }) =>
      emission(metadataComparisonEvents.finished, id, {
        comparisonId: id,
        migrationName: migrationId,
        purpose,
        status,
        totalDifferences: counts?.['totalDifferences'] ?? 0,
      }),
    log,
  })
  const findMigration = async (migrationName: string) => {
    const record = await needs.records.get(migrationName)
    if (record === undefined)
      throw new GantryError('NOT_FOUND', `there is no metadata migration ${migrationName}`)
    return record
  }
  return {
    handlers: comparisonHandlers({ owners, records, reports, jobs, findMigration }),
    start: () => jobs.start(),
    stop: () => jobs.stop(),
  }
}

async function compare(
  { records, rules, objects, ends, work: ask }: ComparisonNeeds,
  { migrationId, internalId, purpose, owner = '' }: ComparisonRecord,
  work: Work,
): Promise<JobOutcome> {
  const record = await records.get(migrationId)
  if (record?.internalId !== internalId)
    return { status: 'CANCELLED', message: 'the migration was deleted or reset' }
  const scope = await scopeOf(rules, record)
  const onConflict = purpose === 'plan' ? record.onConflict : 'overwrite'
  const sides = { ...(await ends.sidesOf(record)), onConflict, isDry: true } as const
  const asker = { owner, signal: work.signal }
  return compareAll(
    {
      record,
      purpose,
      scope,
      book: await ObjectBook.open(objects, internalId),
      gates: await ends.gatesOf(record),
      ask: (kind, asked) => ask(kind, sides, asked, asker),
    },
    work,
  )
}
