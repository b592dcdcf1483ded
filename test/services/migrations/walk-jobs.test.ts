import { afterAll, beforeAll, expect, test } from 'vitest'
import { Collection } from '../../../broker/collection.ts'
import { emission, Events } from '../../../broker/events.ts'
import { cleanupReports } from '../../../subjects/cleanup-terms.ts'
import { cleanupEvents } from '../../../subjects/cleanups.ts'
import { type ErrorCode, GantryError } from '../../../subjects/errors.ts'
import { CleanupRecord, newCleanup, publicCleanup } from '../../../services/migrations/cleanups/record.ts'
import { ReportStore } from '../../../services/migrations/walks/reports.ts'
import { type JobOutcome, WalkJobs } from '../../../services/migrations/walks/walk-jobs.ts'
import { smallLimits, startTestBroker, type TestBroker } from '../../support/broker.ts'
import { createFolder } from '../../support/migrations.ts'
import { testLog } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

let broker: TestBroker
let records: Collection<typeof CleanupRecord>
beforeAll(async () => {
  broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  records = await Collection.open(connection, {
    bucket: 'cleanups',
    schema: CleanupRecord,
    version: 1,
    events: await Events.open(connection, smallLimits),
  })
})
afterAll(() => broker[Symbol.asyncDispose]())

/** Does a job; what each try comes to is an outcome, or an error. Tells how it ended, and after how many tries. */
async function done(tries: readonly (Error | JobOutcome)[]) {
  using folder = createFolder('reports')
  let count = 0
  const jobs = new WalkJobs({
    name: 'cleanup',
    records,
    reports: new ReportStore(folder.reports, cleanupReports),
    work: async () => {
      const outcome = tries[Math.min(count++, tries.length - 1)]!
      if (outcome instanceof Error) throw outcome
      return outcome
    },
    view: (record: CleanupRecord) => publicCleanup(record),
    finished: ({ id, migrationId }) =>
      emission(cleanupEvents.finished, id, {
        cleanupId: id,
        migrationId,
        status: 'COMPLETE',
        filesRemoved: 0,
        filesKept: 0,
      }),
    log: testLog,
  })
  const record = newCleanup(
    { migrationId: 'm', internalId: crypto.randomUUID() },
    { dryRun: false, onlyIfAll: false },
  )
  await records.create(record.id, record)
  await jobs.start()
  const look = async () => (await records.get(record.id))!
  await until('it has ended', async () => (await look()).finished !== undefined)
  await jobs.stop()
  const { status, message } = await look()
  await records.delete(record.id)
  return { status, message, tries: count }
}

const failing = (code: ErrorCode) => new GantryError(code, `it is ${code}`)
const complete = { status: 'COMPLETE' } as const

test.each(['UNAVAILABLE', 'STORAGE_FULL'] as const)(
  'a job waits out %s, however often that comes',
  async (code) => {
    expect(await done([...Array.from({ length: 5 }, () => failing(code)), complete])).toEqual({
      status: 'COMPLETE',
      message: undefined,
      tries: 6,
    })
  },
)

test.each([
  ['what is refused', [failing('NOT_FOUND')], 1, 'it is NOT_FOUND'],
  ['a store that does not answer', [failing('STORE_UNREACHABLE')], 3, 'it is STORE_UNREACHABLE'],
  ['what fails for a reason of ours', [new Error('a thread has ended')], 3, 'a thread has ended'],
] as const)('%s ends a job', async (_, errors, tries, message) => {
  expect(await done(errors)).toEqual({ status: 'CANCELLED', message, tries })
})
