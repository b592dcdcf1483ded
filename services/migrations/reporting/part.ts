import type { Log } from '../../../broker/common/log.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import type { RecordLosses } from '../../../broker/state/books/record-losses.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import type { Events } from '../../../broker/state/events.ts'
import { lossKinds } from '../../../subjects/platform/loss-kinds.ts'
import { part } from '../../kit/part.ts'
import type { Assignments } from '../assignments/assignments.ts'
import type { Limits } from '../../bandwidth/limits.ts'
import type { CleanupRecord } from '../jobs/cleanups/record.ts'
import type { KnownRecords } from '../lifecycle/known-records.ts'
import { type MigrationRecord, recordBucket } from '../lifecycle/record.ts'
import type { ChangesView } from '../live/following.ts'
import { Conditions, type WorkState } from '../progress/conditions.ts'
import type { InFlightProgress } from '../progress/in-flight-progress.ts'
import type { WorkStores } from '../progress/work.ts'
import type { RuleBook } from '../rules/book.ts'
import { workHealth } from '../execution/work-health.ts'
import { FailureEvents } from './failure-events.ts'
import { Figures } from './figures.ts'
import { ProgressEvents } from './progress-events.ts'

interface ReportingNeeds extends WorkStores {
  readonly journals: RecordJournals
  readonly events: Events
  readonly records: Collection<typeof MigrationRecord>
  readonly knownRecords: KnownRecords
  readonly rules: RuleBook
  readonly limits: Limits
  readonly assignments: Assignments
  readonly inFlight: InFlightProgress
  readonly changesOf: (record: MigrationRecord) => ChangesView | undefined
  readonly workStates: () => readonly WorkState[]
  readonly allCleanups: () => Promise<readonly CleanupRecord[]>
  readonly log: Log
}

/** What is known of migrations, for those who ask and as events. */
export const reporting = part({
  name: 'reporting',
  tasks: ['migrations.conditions', 'migrations.failure-events', 'migrations.progress-events'],
  start: (needs: ReportingNeeds) => {
    const { journals, events, records, knownRecords, limits, assignments, workStates, log } = needs
    const known = { ...needs, records: knownRecords }
    const failureEvents = new FailureEvents(known)
    const conditions = new Conditions({
      states: workStates,
      waitsForAgent: (workId) => assignments.waits(workId),
      limitsOf: (migrationId, target) => limits.inWords(migrationId, target),
      failedPaths: (record) => failureEvents.failedPaths(record),
      failingSince: (record) => failureEvents.failingSince(record),
      latest: (migrationId) => records.get(migrationId),
      damageOf: (migrationId) => damageOf(journals.losses, migrationId),
      publish: (emission) => events.publish(emission),
      log,
    })
    const conditionsOf = (record: MigrationRecord, failed: number) => conditions.of(record, failed)
    const figures = new Figures({ ...needs, conditionsOf })
    const progressEvents = new ProgressEvents({ ...known, figures })
    return {
      gives: { conditionsOf, figures },
      health: () => [workHealth(knownRecords.all().values())],
      run: () => {
        conditions.start()
        failureEvents.start()
        progressEvents.start()
      },
      halt: async () => {
        conditions.stop()
        await Promise.all([failureEvents.stop(), progressEvents.stop()])
      },
    }
  },
})

/** What was wrong with the stored record of a migration, or with all of them. */
function damageOf(losses: RecordLosses, migrationId: string) {
  const loss = losses.of(recordBucket, migrationId) ?? losses.of(recordBucket)
  return loss?.kind === 'JOURNAL_DAMAGED' || loss === undefined
    ? undefined
    : { message: lossKinds[loss.kind], since: loss.found }
}
