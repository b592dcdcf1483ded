import { expect, test } from 'vitest'
import { countCopied, noCounts } from '../../../../../services/engine/run/counts.ts'
import { diagnosticsHandlers } from '../../../../../services/migrations/reporting/stats/diagnostics.ts'
import { thinned } from '../../../../../services/migrations/reporting/stats/history.ts'
import { RollingStats } from '../../../../../services/migrations/reporting/stats/rolling-stats.ts'
import { throughputIn } from '../../../../../services/migrations/reporting/stats/throughput.ts'
import { wireStats } from '../../../../../services/migrations/progress/wire.ts'
import { progressOf } from '../../../../../services/migrations/reporting/view.ts'
import type { WithFigures } from '../../../../../services/migrations/progress/with-figures.ts'
import { migrationRecord } from '../../../../support/migration-records.ts'

const noon = Date.parse('2026-03-01T12:00:00.500Z')
const moved = (files: number, bytes: number) => {
  const counts = { ...noCounts(), filesScanned: files }
  for (let file = 0; file < files; file++) countCopied(counts, bytes / files)
  return counts
}
const noSizes = { filesUpTo1KiB: 0, filesUpTo1MiB: 0, filesUpTo1GiB: 0, filesLarger: 0 }

test('throughput is the sum of the last seconds, and the most of one of them', () => {
  const rolling = new RollingStats()
  rolling.add(moved(5, 500), noon - 11_000)
  rolling.add(moved(1, 10), noon - 2_000)
  rolling.add(moved(2, 30), noon - 2_000)
  rolling.add(moved(1, 35), noon)
  expect(throughputIn(rolling, 10, noon)).toEqual({
    totalFiles: 4,
    totalBytes: 75,
    peakFiles: 3,
    peakBytes: 40,
    scannedFiles: 4,
    scannedDirs: 0,
    excludedFiles: 0,
    excludedDirs: 0,
    excludedBytes: 0,
    excludedEvents: 0,
    totalFilesBySize: { ...noSizes, filesUpTo1KiB: 4 },
    peakFilesBySize: { ...noSizes, filesUpTo1KiB: 3 },
  })
  expect(throughputIn(rolling, 60, noon).totalFiles).toBe(9)
  expect(throughputIn(rolling, 1, noon).totalBytes).toBe(35)
})

test('a process goes on with the minutes, hours and days that another has counted', () => {
  const before = new RollingStats()
  before.add(moved(3, 100), noon)
  const after = new RollingStats()
  after.restore(structuredClone(before.snapshot()))
  after.add(moved(1, 1), noon + 1_000)
  const files = new Map(
    after
      .read(noon + 1_000)
      .map(({ bucketPeriod, migrationStats }) => [bucketPeriod, migrationStats.filesMigrated]),
  )
  expect(Object.fromEntries(files)).toEqual({ SECOND: 1, MINUTE: 4, HOUR: 4, DAY: 4 })
})

test('of the past, minutes are kept for an hour, hours for two days, days for two months', () => {
  const minute = 60_000
  let samples: { timeMs: number }[] = []
  for (let at = noon - 90 * 24 * 60 * minute; at <= noon; at += 10 * minute) {
    samples = thinned([{ timeMs: at }, ...samples], at)
  }
  const ages = samples.map(({ timeMs }) => (noon - timeMs) / minute)
  expect(ages[0]).toBe(0)
  expect(ages.filter((age) => age <= 60)).toEqual([0, 10, 20, 30, 40, 50, 60])
  expect(ages.filter((age) => age > 60 && age <= 48 * 60)).toHaveLength(47)
  expect(ages.filter((age) => age > 48 * 60)).toHaveLength(59)
  expect(ages.at(-1)).toBeLessThanOrEqual(60 * 24 * 60)
})

const figuresOf = (
  record: Partial<WithFigures['record']>,
  counts: Partial<WithFigures['counts']>,
  more: Partial<WithFigures> = {},
): WithFigures => ({
  record: migrationRecord(record),
  counts: { ...noCounts(), ...counts },
  underWay: { bytes: 0, files: 0 },
  failed: 0,
  changes: undefined,
  conditions: [],
  ...more,
})

test('what changes brought is client activity, and all the rest is the scan’s', () => {
  const counts = { filesMigrated: 5, filesChanged: 2, bytesMigrated: 50, bytesChanged: 20 }
  expect(wireStats({ ...noCounts(), ...counts, foldersMigrated: 3, foldersChanged: 1 })).toMatchObject({
    filesMigrated: 5,
    filesMigratedScan: 3,
    filesMigratedClient: 2,
    dirsMigratedScan: 2,
    dirsMigratedClient: 1,
    successfulBytesMigratedScan: 30,
    successfulBytesMigratedClient: 20,
    rawBytesMigratedClient: 20,
  })
})

test.for([
  ['COMPLETED', { filesMigrated: 1_000 }, 0, 100],
  ['COMPLETED', { filesMigrated: 999, failures: 1 }, 1, 99],
  ['LIVE', { filesMigrated: 500, failures: 500 }, 500, 50],
  ['WAITING_FOR_NEXT_RECURRENCE', { failures: 1_000 }, 1_000, 0],
  // A folder that cannot be listed: nobody knows what is in it.
  ['COMPLETED', { filesMigrated: 1_000, failures: 1 }, 1, 99],
  ['RUNNING', { filesMigrated: 1_000 }, 0, 99],
  // What is gone from the source is not missing at the target.
  ['COMPLETED', { filesMigrated: 400, filesVanished: 600, bytesScanned: 1e9 }, 0, 100],
] as const)('%s with %j and %i failures is at %i %%', ([state, counts, failed, percentage]) => {
  const listed = '2026-03-01T12:00:00.000Z'
  const { progress } = progressOf(
    figuresOf({ state, listed }, { filesScanned: 1_000, ...counts }, { failed }),
  )
  expect(progress.migratedPercentage).toBe(percentage)
})

test('there is no percentage until everything is listed, but of a scan of an earlier release that is over', () => {
  const found = { filesScanned: 1_000, filesMigrated: 500 }
  const percentageIn = (record: Partial<WithFigures['record']>) =>
    progressOf(figuresOf(record, found)).progress.migratedPercentage
  expect(percentageIn({ state: 'RUNNING' })).toBeUndefined()
  expect(percentageIn({ state: 'STOPPED', kind: 'live' })).toBeUndefined()
  expect(percentageIn({ state: 'COMPLETED' })).toBe(100)
  const scanned = '2026-03-01T12:00:00.000Z'
  expect(percentageIn({ state: 'STOPPED', kind: 'live', scanned })).toBe(50)
})

test('what failed once and was found again is superseded, as far as nothing of it is a failure any more', () => {
  const counts = {
    filesScanned: 10,
    bytesScanned: 1_000,
    filesMigrated: 5,
    bytesMigrated: 480,
    filesVanished: 1,
    bytesVanished: 120,
    failures: 5,
    filesFailed: 5,
    bytesFailed: 500,
    filesRetried: 1,
    bytesRetried: 100,
  }
  const supersededWith = (failed: number) =>
    progressOf(figuresOf({ state: 'LIVE', kind: 'live' }, counts, { failed })).progress
  expect(supersededWith(0)).toMatchObject({ filesSuperseded: 5, bytesSuperseded: 520, totalBytes: 1_000 })
  expect(supersededWith(2)).toMatchObject({ filesSuperseded: 3, bytesSuperseded: 320 })
  expect(supersededWith(4)).toMatchObject({ filesSuperseded: 1, bytesSuperseded: 120 })
  // An earlier release did not count which failures had been found.
  const { filesFailed: _files, bytesFailed: _bytes, ...earlier } = counts
  const { progress } = progressOf(figuresOf({ state: 'LIVE', kind: 'live' }, earlier))
  expect(progress).toMatchObject({ filesSuperseded: 1, bytesSuperseded: 120 })
})

test('what was gone before it was copied is told, but not where it is looked at again', () => {
  const vanished = { filesVanished: 600, foldersVanished: 1 }
  const progressIn = (kind: 'once' | 'recurring' | 'live') =>
    progressOf(figuresOf({ kind, state: 'RUNNING' }, vanished)).progress
  expect(progressIn('once')).toMatchObject(vanished)
  expect(progressIn('recurring')).toMatchObject(vanished)
  for (const name of Object.keys(vanished)) expect(progressIn('live')).not.toHaveProperty(name)
  for (const kind of ['once', 'live'] as const) expect(progressIn(kind).filesSuperseded).toBe(600)
})

test('what follows its source has no end that could be estimated', () => {
  const counts = { filesScanned: 10, filesMigrated: 5, bytesScanned: 1_000, bytesMigrated: 500 }
  const started = new Date(Date.now() - 10_000).toISOString()
  const etaOf = (state: 'RUNNING' | 'LIVE') =>
    progressOf(figuresOf({ state, started }, counts)).progress.etaEstimate?.inSeconds
  expect([etaOf('RUNNING'), etaOf('LIVE')]).toEqual([10, undefined])
})

test('diagnostics: sums, means, and the one with the most', async () => {
  const region = { id: 1, path: '/b/x', created: '2026-01-31T12:00:00.000Z', queued: true }
  const all = [
    figuresOf({ migrationId: 'a', path: '/a', state: 'COMPLETED' }, { pathsRequeued: 3 }, { failed: 1 }),
    figuresOf(
      { migrationId: 'b', path: '/b', state: 'STOPPING', kind: 'live', pendingRegions: [region] },
      { pathsRequeued: 8 },
      {
        changes: { detection: 'watching', reason: undefined, lagSeconds: 2, unscheduled: 4, scheduled: 3 },
      },
    ),
  ]
  const { summary } = diagnosticsHandlers({
    // Nothing is worked on, so that no queue is asked.
    connection: {} as never,
    figures: { all: () => Promise.resolve(all) },
    rolling: new RollingStats(),
    threads: 2,
  })
  expect(await summary({}, {} as never)).toMatchObject({
    retryCount: 11,
    retryAverage: 6,
    avgRetries: 5.5,
    totalMigrationPathsRequeued: 11,
    migrationIdMostRetries: 'b',
    migrationCountMostRetries: 8,
    pendingRegionCurrent: 1,
    pendingRegionAverage: 1,
    pendingRegionMaxMigrationPath: '/b',
    pendingRegionMaxMigrationId: 'b',
    failedPathsAverage: 1,
    avgFailedPaths: 0.5,
    totalEventQueued: 7,
    eventsBehindMax: 7,
    eventsBehindAverage: 7,
  })
})

test('copied files are counted by their size, each limit included', () => {
  const counts = noCounts()
  for (const size of [0, 1_024, 1_025, 2 ** 20, 2 ** 30, 2 ** 30 + 1]) countCopied(counts, size)
  expect(wireStats(counts).fileCountBySize).toEqual({
    filesUpTo1KiB: 2,
    filesUpTo1MiB: 2,
    filesUpTo1GiB: 1,
    filesLarger: 1,
  })
})
