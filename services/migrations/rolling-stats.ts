import type { Output } from '../../subjects/contract.ts'
import type { bucketPeriods } from '../../subjects/migration-figures.ts'
import type { migrations } from '../../subjects/migrations.ts'
import { add, type Counts, noCounts } from './engine/counts.ts'

type Period = (typeof bucketPeriods)[number]
type RollingStat = Output<(typeof migrations)['stats']>[number]

/** Length of a bucket in milliseconds, and how many are kept. */
const periods: Record<Period, { ms: number; kept: number }> = {
  SECOND: { ms: 1_000, kept: 60 },
  MINUTE: { ms: 60_000, kept: 60 },
  HOUR: { ms: 3_600_000, kept: 24 },
  DAY: { ms: 86_400_000, kept: 30 },
}

interface Bucket {
  readonly startMs: number
  updatedMs: number
  readonly counts: Counts
}

/** What was moved in the last seconds, minutes, hours and days, since this process was started. */
export class RollingStats {
  readonly #buckets = new Map<Period, Bucket[]>(Object.keys(periods).map((period) => [period as Period, []]))

  add(counts: Readonly<Counts>, nowMs = Date.now()): void {
    for (const period of this.#buckets.keys()) {
      const bucket = this.#current(period, nowMs)
      bucket.updatedMs = nowMs
      add(bucket.counts, counts)
    }
  }

  /** By period, the newest bucket first; the current one is there even when nothing happened in it. */
  read(nowMs = Date.now()): RollingStat[] {
    return [...this.#buckets].flatMap(([period, buckets]) => {
      this.#current(period, nowMs)
      return buckets.map((bucket) => wire(period, bucket, nowMs))
    })
  }

  #current(period: Period, nowMs: number): Bucket {
    const { ms, kept } = periods[period]
    const buckets = this.#buckets.get(period)!
    const startMs = nowMs - (nowMs % ms)
    const newest = buckets[0]
    if (newest !== undefined && newest.startMs >= startMs) return newest
    const bucket = { startMs, updatedMs: startMs, counts: noCounts() }
    buckets.unshift(bucket)
    const oldestMs = startMs - ms * (kept - 1)
    while (buckets.length > 0 && buckets.at(-1)!.startMs < oldestMs) buckets.pop()
    return bucket
  }
}

function wire(period: Period, { startMs, updatedMs, counts }: Bucket, nowMs: number): RollingStat {
  const seconds = Math.max(1, Math.min(periods[period].ms, nowMs - startMs) / 1_000)
  const stats = wireStats(counts)
  return {
    bucketPeriod: period,
    startOfBucketPeriodTimeStamp: startMs,
    startOfBucketPeriodTimeDate: new Date(startMs).toISOString(),
    timeStampLastUpdateInBucketPeriod: updatedMs,
    timeStampLastUpdateInBucketDate: new Date(updatedMs).toISOString(),
    migrationStats: stats,
    filesPerSecondForPeriod: stats.filesMigrated / seconds,
    dirsPerSecondForPeriod: stats.dirsMigrated / seconds,
    rawBytesPerSecondForPeriod: stats.rawBytesMigrated / seconds,
    successfulBytesPerSecondForPeriod: stats.successfulBytesMigrated / seconds,
  }
}

/** Counts under their wire names. One-time migrations copy nothing but what a scan found. */
function wireStats(counts: Counts): RollingStat['migrationStats'] {
  const files = counts.filesMigrated + counts.linksMigrated
  const { foldersMigrated: folders, bytesMigrated: bytes } = counts
  return {
    filesScanned: counts.filesScanned + counts.linksScanned + counts.othersScanned,
    dirsScanned: counts.foldersScanned,
    filesMigrated: files,
    dirsMigrated: folders,
    filesMigratedScan: files,
    dirsMigratedScan: folders,
    rawBytesMigrated: bytes,
    successfulBytesMigrated: bytes,
    rawBytesMigratedScan: bytes,
    successfulBytesMigratedScan: bytes,
  }
}
