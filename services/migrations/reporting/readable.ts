import type { Static } from 'typebox'
import { binaryUnit, inBinaryUnit } from '../../../subjects/kit/binary-size.ts'
import type { readableSizes } from '../../../subjects/migrations/model/sizes.ts'

/** In bytes. */
export interface ProgressSizes {
  readonly totalBytes: number
  readonly migratedBytes: number
  readonly totalMigratedBytes: number
  readonly totalScannedBytes: number
  readonly excludedBytes: number
  /** Of what arrived: what the scan found, and what changes brought. */
  readonly scanBytes: number
  readonly clientBytes: number
}

type Readable = { [N in keyof typeof readableSizes]: Static<(typeof readableSizes)[N]> }

/** The sizes of a migration's progress for people. */
export function readable(sizes: ProgressSizes): Readable {
  const { totalBytes, migratedBytes, totalMigratedBytes, totalScannedBytes } = sizes
  const [total, scanned] = [binaryUnit(totalBytes), binaryUnit(totalScannedBytes)]
  // Clients print both with one unit, which they choose like this.
  const sent = binaryUnit(Math.max(totalBytes, totalMigratedBytes))
  const own = (bytes: number) => inBinaryUnit(bytes, binaryUnit(bytes))
  const ofTotal = (bytes: number, unit = total) =>
    `${inBinaryUnit(bytes, unit)}/${inBinaryUnit(totalBytes, unit)}`
  return {
    migrationTotalReadableBinaryUnits: own(totalBytes),
    migrationTotalBinaryUnitValue: total,
    migrationMigratedReadableBinaryUnits: inBinaryUnit(migratedBytes, total),
    migrationTransferredProgressBinaryValue: ofTotal(migratedBytes),
    totalMigratedBytesBinaryUnitValue: binaryUnit(totalMigratedBytes),
    migrationTotalTransferredReadableBinaryUnits: inBinaryUnit(totalMigratedBytes, sent),
    migrationTotalTransferredReadableBinaryUnitValue: sent,
    migrationTotalTransferredProgressBinaryValue: ofTotal(totalMigratedBytes, sent),
    migrationClientBytesBinaryUnits: own(sizes.clientBytes),
    migrationClientBytesBinaryUnitValue: binaryUnit(sizes.clientBytes),
    migrationExcludedReadableBinaryValue: own(sizes.excludedBytes),
    migrationExcludedBinaryUnitValue: binaryUnit(sizes.excludedBytes),
    dataMigratedDueToScan: sizes.scanBytes,
    dataMigratedDueToScanReadableValue: own(sizes.scanBytes),
    dataMigratedDueToScanBinaryUnit: binaryUnit(sizes.scanBytes),
    overallProgressSentValue: totalMigratedBytes,
    overallProgressSentReadableValue: own(totalMigratedBytes),
    overallProgressSentBinaryUnit: binaryUnit(totalMigratedBytes),
    migrationTotalScannedReadableBinaryUnits: own(totalScannedBytes),
    migrationTotalScannedReadableBinaryUnitValue: scanned,
    totalScannedBytesBinaryUnitValue: scanned,
    migrationTotalScannedProgressBinaryValue: ofTotal(totalScannedBytes),
  }
}
