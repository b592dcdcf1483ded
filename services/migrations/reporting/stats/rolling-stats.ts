import type { Output } from '../../../../subjects/kit/contract.ts'
import type { bucketPeriods } from '../../../../subjects/migrations/model/figures.ts'
import type { migrations } from '../../../../subjects/migrations/migrations.ts'
import { maxThroughputSeconds } from '../../../../subjects/migrations/stats.ts'
import { add, bytesInParts, type Counts, noCounts } from '../../../engine/run/counts.ts'
import type { Moved } from '../../../engine/run/meter.ts'
import { bySize, wireStats } from '../../progress/wire.ts'

type Period = (typeof bucketPeriods)[number]
type RollingStat = Output<(typeof migrations)['stats']>[number]

/** Length of a bucket in milliseconds, how many are kept, and how many of those are told of. */
const periods: Record<Period, { ms: number; kept: number; told: number }> = {
  SECOND: { ms: 1_000, kept: maxThroughputSeconds, told: 60 },
  MINUTE: { ms: 60_000, kept: 60, told: 60 },
  HOUR: { ms: 3_600_000, kept: 24, told: 24 },
  DAY: { ms: 86_400_000, kept: 30, told: 30 },
}

export interface Bucket {
  readonly startMs: number
  updatedMs: number
  /** Of a second, those of what was moved may be below zero: more was told before than has come of it. */
  readonly counts: Counts
}

/** Buckets as they are kept, by period: only the counts that there were then. */
export type KeptBuckets = Readonly<
  Record<string, { startMs: number; updatedMs: number; counts: Record<string, number> }[]>
>

/** What was moved in the last seconds, minutes, hours and days. */
export class RollingStats {
  readonly #buckets = new Map<Period, Bucket[]>(Object.keys(periods).map((period) => [period as Period, []]))

  add(counts: Readonly<Counts>, nowMs = Date.now()): void {
    for (const period of this.#buckets.keys()) {
      const bucket = this.#current(period, nowMs)
      bucket.updatedMs = nowMs
      add(bucket.counts, counts)
    }
    this.addMoved({ bytes: bytesInParts(counts), files: 0 }, nowMs)
  }

  /** What was moved and is not counted yet: seconds tell of it at once. Below zero what is counted now, or given up. */
  addMoved({ bytes, files }: Moved, nowMs = Date.now()): void {
    const { counts } = this.#current('SECOND', nowMs)
    counts.bytesMigrated += bytes
    counts.filesMigrated += files
  }

  /** By period, the newest bucket first; the current one is there even when nothing happened in it. */
  read(nowMs = Date.now()): RollingStat[] {
    return [...this.#buckets].flatMap(([period, buckets]) => {
      this.#current(period, nowMs)
      return buckets.slice(0, periods[period].told).map((bucket) => wire(period, bucket, nowMs))
    })
  }

  /** The buckets of the last full seconds, and of the present one. */
  lastSeconds(seconds: number, nowMs = Date.now()): readonly Bucket[] {
    const sinceMs = nowMs - seconds * periods.SECOND.ms
    return this.#buckets.get('SECOND')!.filter(({ startMs }) => startMs > sinceMs)
  }

  /** What another process may go on with: all but the seconds. */
  snapshot(): KeptBuckets {
    const longer = [...this.#buckets].filter(([period]) => period !== 'SECOND')
    return Object.fromEntries(longer.map(([period, buckets]) => [period, buckets.map((one) => ({ ...one }))]))
  }

  /** Goes on with what another process has counted; to be called before anything is added. */
  restore(kept: KeptBuckets): void {
    for (const period of this.#buckets.keys()) {
      const buckets = kept[period] ?? []
      this.#buckets.set(
        period,
        buckets.map((one) => ({ ...one, counts: { ...noCounts(), ...one.counts } })),
      )
    }
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
  const { bytesMigrated, filesMigrated } = counts
  const none = { bytesMigrated: Math.max(0, bytesMigrated), filesMigrated: Math.max(0, filesMigrated) }
  const stats = wireStats({ ...counts, ...none })
  return {
    bucketPeriod: period,
    startOfBucketPeriodTimeStamp: startMs,
    startOfBucketPeriodTimeDate: new Date(startMs).toISOString(),
    timeStampLastUpdateInBucketPeriod: updatedMs,
    timeStampLastUpdateInBucketDate: new Date(updatedMs).toISOString(),
    migrationStats: stats,
    filesPerSecondForPeriod: stats.filesMigrated / seconds,
    dirsPerSecondForPeriod: stats.dirsMigrated / seconds,
    fileCountBySizePerSecondForPeriod: bySize((name) => stats.fileCountBySize[name] / seconds),
    rawBytesPerSecondForPeriod: stats.rawBytesMigrated / seconds,
    successfulBytesPerSecondForPeriod: stats.successfulBytesMigrated / seconds,
  }
}
