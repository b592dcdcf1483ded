import { expect, test } from 'vitest'
import type { Emission } from '../../../../broker/state/events.ts'
import type { Payload } from '../../../../subjects/kit/contract.ts'
import type { migrationEvents } from '../../../../subjects/migrations/events.ts'
import { noCounts } from '../../../../services/engine/run/counts.ts'
import { MeterView } from '../../../../services/engine/run/meter.ts'
import { InFlightProgress } from '../../../../services/migrations/progress/in-flight-progress.ts'
import { ProgressEvents } from '../../../../services/migrations/reporting/progress-events.ts'
import { type MigrationRecord, workIdOf } from '../../../../services/migrations/lifecycle/record.ts'
import { underWayOf } from '../../../../services/migrations/progress/with-figures.ts'
import { migrationRecord } from '../../../support/migration-records.ts'
import { testLog } from '../../../support/platform.ts'

/** Two migrations, one of which runs; `told` is what was told, `asked` whose figures were read. */
function followed() {
  const inFlight = new InFlightProgress()
  const counts = { ...noCounts(), filesScanned: 10, bytesScanned: 1_000 }
  let record: MigrationRecord = migrationRecord({ state: 'RUNNING' })
  let lagSeconds: number | undefined
  const changes = () =>
    lagSeconds === undefined
      ? undefined
      : ({ detection: 'watching', reason: undefined, lagSeconds, unscheduled: 0, scheduled: 1 } as const)
  const other = migrationRecord({ migrationId: 'two', state: 'NONSCHEDULED' })
  const told: Emission[] = []
  const asked: string[][] = []
  const events = new ProgressEvents({
    records: {
      all: () =>
        new Map([
          ['one', record],
          ['two', other],
        ]),
    },
    progress: { changes: () => counts.filesMigrated },
    inFlight,
    changesOf: changes,
    figures: {
      some: async (ids) => {
        asked.push([...ids])
        const underWay = underWayOf(record, counts, inFlight)
        return [{ record, counts, underWay, failed: 0, changes: changes(), conditions: [] }]
      },
    },
    events: { publishEphemeral: (emission) => void told.push(emission) },
    log: testLog,
  })
  return {
    inFlight,
    counts,
    told,
    asked,
    start: () => events.start(),
    stop: () => events.stop(),
    look: () => events.look(),
    become: (fields: Partial<MigrationRecord>) => (record = { ...record, ...fields }),
    lag: (seconds: number) => (lagSeconds = seconds),
    last: () => told.at(-1)!.payload as Payload<(typeof migrationEvents)['progressed']>,
  }
}

test('figures are told when they have moved, and when they rest; while they stand still nothing is read', async () => {
  const one = followed()
  const { inFlight, counts, told, asked, look, last } = one
  await look()
  expect(told).toHaveLength(1)
  expect(told[0]?.subject).toBe('gantry.events.v1.migrations.now.progressed.one')
  await look()
  expect(asked).toEqual([['one']])

  const transfer = inFlight.begin(workIdOf(migrationRecord()))
  new MeterView(transfer.meter).bytes(500)
  await look()
  expect(last()).toMatchObject({ id: 'one', state: 'RUNNING', progress: { migratedBytes: 500 } })
  // It is counted what was told of before.
  Object.assign(counts, { filesMigrated: 1, bytesMigrated: 500 })
  transfer.end()
  await look()
  expect(last().progress).toMatchObject({ migratedBytes: 500, filesMigrated: 1 })

  one.become({ state: 'LIVE' })
  for (const seconds of [1.5, 2.5]) {
    one.lag(seconds)
    await look()
    expect(last()).toMatchObject({ state: 'LIVE', progress: { changeLagSeconds: seconds } })
  }
  one.become({ state: 'STOPPED' })
  await look()
  expect(last().state).toBe('STOPPED')
  expect([told.length, asked.length]).toEqual([6, 6])
  one.lag(3)
  await look()
  expect(asked).toHaveLength(6)
})

test('a record that is written anew with the same figures is not told of', async () => {
  const one = followed()
  await one.look()
  one.become({ priority: 'HIGH' })
  await one.look()
  expect([one.told.length, one.asked.length]).toEqual([1, 2])
})

test('a migration that begins and ends between two looks is published in its last state, once', async () => {
  const one = followed()
  one.become({ state: 'NONSCHEDULED' })
  await one.look()
  expect(one.told).toEqual([])

  Object.assign(one.counts, { filesMigrated: 10 })
  one.become({ state: 'COMPLETED', completed: '2026-01-01T00:00:00.000Z' })
  await one.look()
  await one.look()
  expect(one.last()).toMatchObject({ state: 'COMPLETED', progress: { filesMigrated: 10 } })
  expect(one.told).toHaveLength(1)

  // A retry of failures that is over as soon.
  Object.assign(one.counts, { filesMigrated: 11 })
  one.become({ completed: '2026-01-01T00:00:01.000Z' })
  await one.look()
  expect(one.last()).toMatchObject({ state: 'COMPLETED', progress: { filesMigrated: 11 } })
  one.become({ priority: 'HIGH' })
  await one.look()
  expect(one.told).toHaveLength(2)
})

test('what a platform finds at rest when it starts is not published', async () => {
  const one = followed()
  one.become({ state: 'COMPLETED', completed: '2026-01-01T00:00:00.000Z' })
  one.start()
  await one.look()
  await one.stop()
  expect(one.asked).toEqual([])
})
