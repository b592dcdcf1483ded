import type { Output } from '../../../../subjects/kit/contract.ts'
import type { stats } from '../../../../subjects/migrations/stats.ts'
import type { RollingStats } from './rolling-stats.ts'
import { bySize, wireStats } from '../../progress/wire.ts'

export type Throughput = Output<(typeof stats)['throughput-in']>

/** What was moved in the last seconds. */
export function throughputIn(
  rolling: Pick<RollingStats, 'lastSeconds'>,
  seconds: number,
  nowMs = Date.now(),
): Throughput {
  const sum: Throughput = {
    totalBytes: 0,
    totalFiles: 0,
    totalFilesBySize: bySize(() => 0),
    peakFilesBySize: bySize(() => 0),
    peakBytes: 0,
    peakFiles: 0,
    scannedFiles: 0,
    scannedDirs: 0,
    excludedFiles: 0,
    excludedDirs: 0,
    excludedBytes: 0,
    excludedEvents: 0,
  }
  for (const { counts } of rolling.lastSeconds(seconds, nowMs)) {
    const { filesMigrated, successfulBytesMigrated, fileCountBySize, ...seen } = wireStats(counts)
    const { totalFilesBySize: total, peakFilesBySize: peak } = sum
    sum.totalFilesBySize = bySize((name) => total[name] + fileCountBySize[name])
    sum.peakFilesBySize = bySize((name) => Math.max(peak[name], fileCountBySize[name]))
    sum.totalBytes += successfulBytesMigrated
    sum.totalFiles += filesMigrated
    sum.peakBytes = Math.max(sum.peakBytes, successfulBytesMigrated)
    sum.peakFiles = Math.max(sum.peakFiles, filesMigrated)
    sum.scannedFiles += seen.filesScanned
    sum.scannedDirs += seen.dirsScanned
    sum.excludedFiles += seen.filesExcluded
    sum.excludedDirs += seen.dirsExcluded
    sum.excludedBytes += seen.bytesExcluded
    sum.excludedEvents += seen.eventsExcluded
  }
  // More may have been told of what was under way than has come of it.
  return { ...sum, totalBytes: Math.max(0, sum.totalBytes), totalFiles: Math.max(0, sum.totalFiles) }
}
