import { expect, test } from 'vitest'
import { Collection } from '../../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import { Events } from '../../../../broker/state/events.ts'
import {
  FailureEvents,
  failuresChange,
  nothingTold,
} from '../../../../services/migrations/reporting/failure-events.ts'
import {
  type FailureLedger,
  noteFailure,
  openFailures,
} from '../../../../services/migrations/failures/failures.ts'
import { KnownRecords } from '../../../../services/migrations/lifecycle/known-records.ts'
import { MigrationRecord, recordVersion, workIdOf } from '../../../../services/migrations/lifecycle/record.ts'
import type { FailureClass } from '../../../../subjects/migrations/model/failure-classes.ts'
import { migrationEvents } from '../../../../subjects/migrations/events.ts'
import { smallLimits, startTestBroker } from '../../../support/broker.ts'
import { migrationRecord } from '../../../support/migration-records.ts'
import { testLog } from '../../../support/platform.ts'
import { until } from '../../../support/until.ts'

const failed = (path: string, failure: FailureClass = 'io') => ({
  path,
  failure,
  message: 'broken',
  attempts: 1,
})
const entry = (sequence: number, failure?: FailureClass) => ({
  sequence,
  entry: { ...failed(`/${sequence}`, failure), timeMs: 0 },
})
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

test('what came onto the list is told by class, with the first of the paths; what is known is not told', () => {
  const fresh = [...upTo(9).map((n) => entry(n)), entry(10, 'name')]
  const change = failuresChange(nothingTold, 10, fresh)
  expect(change).toMatchObject({
    failedPathCount: 10,
    added: 10,
    addedByClass: { io: 9, name: 1 },
    lastFailureId: 10,
    failedPaths: upTo(5).map((id) => ({ id, path: `/${id}`, failureMessage: 'broken' })),
  })
  expect(failuresChange(change!, 10, [])).toBeUndefined()
  expect(failuresChange(change!, 0, [])).toMatchObject({ failedPathCount: 0, added: 0, lastFailureId: 10 })
  // As many came as left.
  expect(failuresChange(change!, 10, [entry(11)])).toMatchObject({ failedPathCount: 10, added: 1 })
})

/** A teller with one migration whose list it knows; `told` says what it has told last. */
async function startTeller(connection: NatsConnection, record: MigrationRecord) {
  const events = await Events.open(connection, smallLimits)
  const failures = await openFailures(connection, smallLimits.maxFileBytes)
  const records = await Collection.open(connection, {
    bucket: 'migrations',
    schema: MigrationRecord,
    version: recordVersion,
  })
  await records.put(record.migrationId, record)
  const known = new KnownRecords(records)
  await known.start()
  const teller = new FailureEvents({ records: known, failures, events, log: testLog })
  const told = () => events.last(migrationEvents['failures-changed'], record.migrationId)
  return { teller, failures, records, told, stop: () => known.stop() }
}
const note = async (failures: FailureLedger, record: MigrationRecord, ...paths: string[]) =>
  Promise.all(
    paths.map((path) =>
      noteFailure(
        failures,
        workIdOf(record),
        { item: '1', failure: failed(path) },
        AbortSignal.timeout(5_000),
      ),
    ),
  )

test('the last event tells the right total: of many at once, after a kill in between, of an empty list', async () => {
  await using broker = await startTestBroker()
  const connection = await broker.connect('PLATFORM')
  const record = migrationRecord({ state: 'RUNNING' })
  const first = await startTeller(connection, record)
  const many = upTo(6_000).map((n) => `/${n}`)
  await note(first.failures, record, ...many)
  const all = await until('all are told', async () => {
    await first.teller.look()
    const told = await first.told()
    return told?.lastFailureId === 6_000 ? told : undefined
  })
  // At most 5,000 are read for one event, and all are in its total.
  expect(all).toMatchObject({ state: 'RUNNING', failedPathCount: 6_000, addedByClass: { io: all.added } })
  await first.stop()

  // Nobody tells of what happens now, as the platform was killed.
  const [sequence] = await note(first.failures, record, '/late', '/later')
  await first.failures.forget(sequence!)
  const second = await startTeller(connection, record)
  const late = await until('it is told', async () => {
    await second.teller.look()
    const told = await second.told()
    return told?.failedPathCount === 6_001 ? told : undefined
  })
  expect(late).toMatchObject({ added: 1, failedPaths: [{ path: '/later' }] })

  // It begins from the start.
  await second.records.put(record.migrationId, { ...record, generation: 2, state: 'NONSCHEDULED' })
  await second.failures.remove(workIdOf(record))
  const none = await until('the list is empty', async () => {
    await second.teller.look()
    const told = await second.told()
    return told?.failedPathCount === 0 ? told : undefined
  })
  expect(none).toMatchObject({ added: 0, failedPaths: [] })
  await second.stop()
})
