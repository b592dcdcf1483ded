import { afterAll, beforeAll, expect, test } from 'vitest'
import { Collection } from '../../../broker/state/collection.ts'
import { emission, Events } from '../../../broker/state/events.ts'
import { cleanupReports } from '../../../subjects/migrations/model/cleanup-terms.ts'
import { cleanupEvents } from '../../../subjects/migrations/cleanups.ts'
import { type ErrorCode, GantryError } from '../../../subjects/kit/errors.ts'
import {
  CleanupRecord,
  newCleanup,
  publicCleanup,
} from '../../../services/migrations/jobs/cleanups/record.ts'
import { KeptRecords } from '../../../services/jobs/kept-records.ts'
import { ReportStore } from '../../../services/jobs/reports.ts'
import { type JobOutcome, WalkJobs } from '../../../services/jobs/walk-jobs.ts'
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

const aCleanup = () =>
  newCleanup({ migrationId: 'm', internalId: crypto.randomUUID() }, { dryRun: false, onlyIfAll: false })

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
  const record = aCleanup()
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

test('records in memory are those that are stored, also after a write whose answer was lost; they are read for that alone', async () => {
  let reads = 0
  let isLost = false
  const kept = new KeptRecords<CleanupRecord>({
    get: (id) => records.get(id),
    all: () => {
      reads += 1
      return records.all()
    },
    create: (id, record) => records.create(id, record),
    update: async (id, change) => {
      const next = await records.update(id, change)
      if (isLost) throw new Error('the broker is away')
      return next
    },
    delete: (id, allowed) => records.delete(id, allowed),
  })
  const [one, other] = [aCleanup(), aCleanup()]
  await Promise.all([one, other].map((record) => kept.create(record.id, record)))
  const become = (status: CleanupRecord['status']) =>
    kept.update(one.id, (current) => ({ ...current, status }))
  // The last that was asked for holds, whatever they wait for.
  await Promise.all([become('IN_PROGRESS'), become('COMPLETE'), kept.delete(other.id)])
  expect(await kept.all()).toEqual([{ ...one, status: 'COMPLETE' }])
  expect(reads).toBe(1)

  isLost = true
  await expect(become('CANCELLED')).rejects.toThrow('the broker is away')
  expect(await kept.all()).toEqual([{ ...one, status: 'CANCELLED' }])
  expect(reads).toBe(2)
  await kept.delete(one.id)
  expect(await kept.all()).toEqual([])
})
