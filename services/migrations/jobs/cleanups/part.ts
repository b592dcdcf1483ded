import { Collection } from '../../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import type { Owners } from '../../../../broker/rpc/owners.ts'
import type { RecordJournals } from '../../../../broker/state/books/record-journal.ts'
import { emission, type Events } from '../../../../broker/state/events.ts'
import type { Log } from '../../../../broker/common/log.ts'
import { cleanupReports } from '../../../../subjects/migrations/model/cleanup-terms.ts'
import { cleanupEvents, cleanups } from '../../../../subjects/migrations/cleanups.ts'
import { type CleanupRow, cleanupHead, reported } from '../../../engine/walk/clean.ts'
import { Collected } from '../../../engine/walk/findings.ts'
import { service } from '../../../kit/part.ts'
import type { PlaceDependencies } from '../../places/places.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'
import { forgetJobsOf } from '../../../jobs/forget-jobs.ts'
import { hasEnded } from '../../../../subjects/migrations/model/jobs.ts'
import { KeptRecords } from '../../../jobs/kept-records.ts'
import { ReportStore } from '../../../jobs/reports.ts'
import { WalkJobs } from '../../../jobs/walk-jobs.ts'
import { clean, type CleaningOptions } from './clean.ts'
import { cleanupsDue } from './due.ts'
import { cleanupHandlers } from './handlers.ts'
import { CleanupRecord, publicCleanup } from './record.ts'

interface CleanupNeeds
  extends Omit<CleaningOptions, 'cleanables' | 'folder'>, Pick<PlaceDependencies, 'locate'> {
  readonly connection: NatsConnection
  readonly owners: Owners
  readonly journals: RecordJournals
  readonly events: Events
  readonly records: Collection<typeof MigrationRecord>
  readonly cleanupsFolder: string
  /** @throws GantryError NOT_FOUND */
  readonly findMigration: (migrationId: string) => Promise<MigrationRecord>
  readonly log: Log
}

/** Removal of what has arrived from sources. */
export const cleanupService = service({
  name: 'cleanups',
  contracts: { cleanups },
  start: async (needs: CleanupNeeds) => {
    const { connection, journals, events, cleanupsFolder: folder, log } = needs
    const options = { ...needs, folder, cleanables: needs }
    const stored = {
      bucket: 'cleanups',
      schema: CleanupRecord,
      version: 1,
      events,
      journals,
      inDoubt: cancelled,
    }
    // Each view of a migration tells of its cleanups.
    const records = new KeptRecords(await Collection.open(connection, stored))
    const reports = new ReportStore(folder, {
      ...cleanupReports,
      REMOVED_CSV: { ...cleanupReports.REMOVED_CSV, head: cleanupHead },
      KEPT_CSV: { ...cleanupReports.KEPT_CSV, head: cleanupHead },
    })
    const jobs = new WalkJobs({
      name: 'cleanup',
      records,
      reports,
      work: (record, work) => clean(options, record, work),
      view: (record) => publicCleanup(record),
      finished: ({ id, migrationId, status, counts }) =>
        emission(cleanupEvents.finished, id, {
          cleanupId: id,
          migrationId,
          status,
          filesRemoved: counts?.['filesRemoved'] ?? 0,
          filesKept: counts?.['filesKept'] ?? 0,
        }),
      again: stillTrue,
      log,
    })
    const due = cleanupsDue({ records: needs.records, cleanups: records, wake: () => jobs.wake() })
    const known = { records, reports, jobs }
    return {
      gives: {
        /** All of them; they are in memory. */
        allCleanups: () => records.all(),
        /** Begins those that are due; resolves to when the next one is, in milliseconds since 1970. */
        cleanupsDue: due,
        /** Forgets the cleanups of a migration, with their reports. */
        forgetCleanups: (internalId: string) => forgetJobsOf(known, internalId),
      },
      handlers: { cleanups: cleanupHandlers({ ...options, ...known }) },
      run: () => jobs.start(),
      halt: () => jobs.stop(),
    }
  },
})

/** Nobody knows whether it was cancelled, and it removes files. */
const cancelled = (record: CleanupRecord): CleanupRecord =>
  hasEnded(record)
    ? record
    : {
        ...record,
        status: 'CANCELLED',
        finished: new Date().toISOString(),
        message: 'The stored record of the cleanup may be outdated: start a new cleanup',
      }

/** What was removed stays removed; what was kept is looked at again. */
function stillTrue(line: string) {
  const found = new Collected()
  const row = parsed(line)
  if (row?.result === 'REMOVED') reported(row, found)
  return found.empty()
}

/** The last line may be cut off where a process was killed. */
function parsed(line: string): CleanupRow | undefined {
  try {
    return JSON.parse(line) as CleanupRow
  } catch {
    return undefined
  }
}
