import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { newBucket, setRates } from '../../../../services/engine/run/bucket.ts'
import { type Counts, noCounts } from '../../../../services/engine/run/counts.ts'
import { encodeItem, type Item, largeFileBytes } from '../../../../services/engine/items/items.ts'
import { MeterView, newMeter, readMeter } from '../../../../services/engine/run/meter.ts'
import { InFlightProgress } from '../../../../services/migrations/progress/in-flight-progress.ts'
import { RollingStats } from '../../../../services/migrations/reporting/stats/rolling-stats.ts'
import { throughputIn } from '../../../../services/migrations/reporting/stats/throughput.ts'
import { progressOf } from '../../../../services/migrations/reporting/view.ts'
import { underWayOf } from '../../../../services/migrations/progress/with-figures.ts'
import { migrationRecord } from '../../../support/migration-records.ts'
import { until } from '../../../support/until.ts'
import { createMove } from '../../engine/move-folder.ts'

const startedAt = new Date(Date.now() - 10_000).toISOString()
const record = migrationRecord({ state: 'RUNNING', started: startedAt, listed: startedAt })
const workId = record.internalId

/** What is shown of the migration. */
function shown(inFlight: InFlightProgress, counted: Partial<Counts>) {
  const counts = { ...noCounts(), ...counted }
  const underWay = underWayOf(record, counts, inFlight)
  const { progress } = progressOf({
    record,
    counts,
    underWay,
    failed: 0,
    changes: undefined,
    conditions: [],
  })
  return progress
}

test('what is under way is in the figures until it is counted, and never more than is left to do', () => {
  const inFlight = new InFlightProgress()
  const found = { filesScanned: 10, bytesScanned: 1_000 }
  expect(shown(inFlight, found)).toMatchObject({ migratedBytes: 0, migratedPercentage: 0 })
  const transfer = inFlight.begin(workId)
  const meter = new MeterView(transfer.meter)
  meter.bytes(500)
  meter.file()
  const half = shown(inFlight, found)
  expect(half).toMatchObject({ migratedBytes: 500, filesMigrated: 1, migratedPercentage: 10 })
  expect(half.etaEstimate?.inSeconds).toBe(10)
  meter.bytes(5_000)
  expect(shown(inFlight, found)).toMatchObject({ migratedBytes: 1_000, migratedPercentage: 10 })
  transfer.end()
  transfer.end()
  expect(shown(inFlight, { ...found, filesMigrated: 1, bytesMigrated: 600 })).toMatchObject({
    migratedBytes: 600,
    filesMigrated: 1,
  })
  // Parts of a file that several workers copy are counted one by one.
  expect(shown(inFlight, { ...found, bytesShared: 700 }).migratedBytes).toBe(700)
  expect(shown(inFlight, { ...found, bytesShared: 700, bytesSharedOver: 900 }).migratedBytes).toBe(0)
})

test('a change of a live migration is under way though nothing was found before it', () => {
  const inFlight = new InFlightProgress()
  const live = { ...record, kind: 'live', state: 'LIVE', scanned: new Date().toISOString() } as const
  const counts = { ...noCounts(), filesScanned: 1, filesMigrated: 1, bytesScanned: 10, bytesMigrated: 10 }
  new MeterView(inFlight.begin(workId).meter).bytes(500)
  const figures = { counts, failed: 0, changes: undefined, conditions: [] }
  const { progress } = progressOf({ record: live, ...figures, underWay: underWayOf(live, counts, inFlight) })
  expect(progress).toMatchObject({ totalMigratedBytes: 510, totalBytes: 510 })
})

test('a large file counts by what of it is there, and small ones by their number', () => {
  const inFlight = new InFlightProgress()
  const large = { filesScanned: 1, bytesScanned: 1e9 }
  expect(shown(inFlight, { ...large, bytesShared: 6e8 }).migratedPercentage).toBe(59)
  const small = { filesScanned: 1_000, bytesScanned: 1_000 }
  expect(shown(inFlight, { ...small, filesMigrated: 250, bytesMigrated: 1_000 }).migratedPercentage).toBe(25)
})

test('what an agent has under way shrinks by what is counted of it, until it says more', () => {
  const inFlight = new InFlightProgress()
  const agent = inFlight.beginElsewhere(workId)
  inFlight.begin(workId)
  agent.says({ bytes: 500, files: 3 })
  agent.counted({ bytes: 300, files: 3 })
  expect(inFlight.of(workId)).toEqual({ bytes: 200, files: 0 })
  agent.counted({ bytes: 300, files: 3 })
  expect(inFlight.of(workId)).toEqual({ bytes: 0, files: 0 })
  agent.says({ bytes: 50, files: 0 })
  expect(inFlight.of(workId)).toEqual({ bytes: 50, files: 0 })
  agent.end()
  expect(inFlight.of(workId)).toEqual({ bytes: 0, files: 0 })
})

test('throughput tells of bytes when they come, and once', () => {
  const noon = Date.parse('2026-03-01T12:00:00.500Z')
  let nowMs = noon - 3_000
  const rolling = new RollingStats()
  const inFlight = new InFlightProgress((moved) => rolling.addMoved(moved, nowMs))
  const [transfer, failing] = [inFlight.begin(workId), inFlight.begin(workId)]
  const agent = inFlight.beginElsewhere(workId)
  const bytes = () => throughputIn(rolling, 10, nowMs).totalBytes
  new MeterView(transfer.meter).bytes(400)
  new MeterView(failing.meter).bytes(70)
  agent.says({ bytes: 1_000, files: 1 })
  inFlight.tell()
  expect(bytes()).toBe(1_470)
  nowMs = noon
  rolling.add({ ...noCounts(), filesMigrated: 2, bytesMigrated: 600 }, nowMs)
  transfer.end()
  failing.end()
  expect(bytes()).toBe(1_600)
  rolling.add({ ...noCounts(), bytesShared: 1_000 }, nowMs)
  agent.counted({ bytes: 1_000, files: 0 })
  agent.end()
  expect(throughputIn(rolling, 10, nowMs)).toMatchObject({ totalBytes: 1_600, totalFiles: 2 })
  rolling.add({ ...noCounts(), filesMigrated: 1, bytesMigrated: 1_000, bytesSharedOver: 1_000 }, nowMs)
  expect(throughputIn(rolling, 10, nowMs)).toMatchObject({ totalBytes: 1_600, totalFiles: 3 })
  // What was told of and never came is below zero in no second.
  expect(rolling.read(nowMs).every(({ migrationStats }) => migrationStats.rawBytesMigrated >= 0)).toBe(true)
  // What is kept is counted when it has arrived.
  const [minute] = rolling.snapshot()['MINUTE'] ?? []
  expect(minute?.counts).toMatchObject({ bytesMigrated: 1_600, filesMigrated: 3 })
})

const head = { attempt: 1, notBeforeMs: 0 } as const
const names = ['a', 'b', 'c', 'd'].map((name) => Buffer.from(name))
const kinds: [string, { sizeBytes: number; files: number; bytesPerSecond: number; item: Item }][] = [
  [
    'of a large file',
    {
      sizeBytes: largeFileBytes + 1,
      files: 1,
      bytesPerSecond: 30e6,
      item: { kind: 'large', ...head, path: names[0]! },
    },
  ],
  [
    'of many small files',
    {
      sizeBytes: 20_000,
      files: 4,
      bytesPerSecond: 100_000,
      item: {
        kind: 'transfer',
        ...head,
        groups: [{ folder: Buffer.alloc(0), files: names, others: [] }],
      },
    },
  ],
]

test.each(kinds)('an item %s tells what is at the target before it is done', async (_, kind) => {
  await using move = createMove()
  const { sizeBytes, files, bytesPerSecond, item } = kind
  for (const name of names.slice(0, files))
    writeFileSync(move.at('from', name.toString()), Buffer.alloc(sizeBytes, 'x'))
  const limit = newBucket()
  setRates(limit, { bytesPerSecond, requestsPerSecond: undefined })
  const meter = newMeter()
  const spec = { ...move.spec, limits: [limit], meter }
  let isDone = false
  const done = move.mover
    .transfer(spec, encodeItem(item), new AbortController().signal)
    .finally(() => (isDone = true))
  const some = await until('some is there', () => readMeter(meter).bytes || undefined)
  expect(isDone).toBe(false)
  expect(some).toBeLessThan(sizeBytes * files)
  const { counts } = await done
  expect(readMeter(meter).bytes).toBe(counts.bytesMigrated)
  expect(counts).toMatchObject({ filesMigrated: files, bytesMigrated: sizeBytes * files })
})
