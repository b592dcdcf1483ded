import { expect, test } from 'vitest'
import { noCounts } from '../../../services/migrations/engine/counts.ts'
import { thinned } from '../../../services/migrations/stats/history.ts'
import { RollingStats } from '../../../services/migrations/stats/rolling-stats.ts'
import { throughputIn } from '../../../services/migrations/stats/throughput.ts'

const noon = Date.parse('2026-03-01T12:00:00.500Z')
const moved = (files: number, bytes: number) => ({
  ...noCounts(),
  filesScanned: files,
  filesMigrated: files,
  bytesMigrated: bytes,
})

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
