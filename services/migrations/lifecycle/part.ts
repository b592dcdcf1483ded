import { call } from '../../../broker/rpc/client.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { Log } from '../../../broker/common/log.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import { Collection } from '../../../broker/state/collection.ts'
import type { Events } from '../../../broker/state/events.ts'
import { settings, settingsEvents } from '../../../subjects/access/settings.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { eventSubject } from '../../../subjects/kit/names.ts'
import { part } from '../../kit/part.ts'
import { stoppedInDoubt } from './abort.ts'
import { admit } from './admit.ts'
import { KnownRecords } from './known-records.ts'
import { MigrationRecord, recordBucket, recordUpcasters, recordVersion } from './record.ts'
import { Scheduler, type SchedulerOptions } from '../../scheduling/scheduler.ts'

interface RecordNeeds {
  readonly connection: NatsConnection
  readonly journals: RecordJournals
  readonly events: Events
}

/** What is stored of each migration. */
export const migrationRecords = part({
  name: 'records',
  start: async ({ connection, journals, events }: RecordNeeds) => {
    const records = await Collection.open(connection, {
      bucket: recordBucket,
      schema: MigrationRecord,
      version: recordVersion,
      upcasters: recordUpcasters,
      groupOf: ({ owner }) => owner,
      events,
      journals,
      inDoubt: stoppedInDoubt,
      isKeptInMemory: true,
    })
    const knownRecords = new KnownRecords(records)
    return {
      gives: {
        records,
        knownRecords,
        /** @throws GantryError NOT_FOUND */
        findMigration: async (migrationId: string): Promise<MigrationRecord> => {
          const record = await records.get(migrationId)
          if (record === undefined) throw new GantryError('NOT_FOUND', `there is no migration ${migrationId}`)
          return record
        },
      },
      run: () => knownRecords.start(),
      halt: () => knownRecords.stop(),
    }
  },
})

const settingsChanged = eventSubject(settingsEvents.changed.resource, settingsEvents.changed.event, '*')

interface SchedulerNeeds {
  readonly connection: NatsConnection
  readonly records: Collection<typeof MigrationRecord>
  /** Begins the cleanups that are due. */
  readonly cleanupsDue: SchedulerOptions<MigrationRecord>['alsoDue']
  readonly log: Log
}

/** Gives migrations their turn. */
export const scheduling = part({
  name: 'scheduler',
  tasks: ['migrations.schedule'],
  start: ({ connection, records, cleanupsDue, log }: SchedulerNeeds) => {
    const limit = async () => (await call(connection, settings.get, {})).maxRunningMigrations
    const scheduler = new Scheduler({
      task: 'migrations.schedule',
      records,
      take: (admission) => admit({ records, log }, admission),
      limit,
      alsoDue: cleanupsDue,
      log,
    })
    let changes: { unsubscribe(): void } | undefined
    return {
      gives: {
        /** Gives migrations their turn now; resolves when that is done. */
        look: () => scheduler.look(),
      },
      run: async () => {
        changes = connection.subscribe(settingsChanged, { callback: () => void scheduler.look() })
        await scheduler.start()
      },
      halt: async () => {
        changes?.unsubscribe()
        await scheduler.stop()
      },
    }
  },
})
