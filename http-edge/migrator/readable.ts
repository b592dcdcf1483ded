import { type Static, Type } from 'typebox'
import { binaryUnit, inBinaryUnit } from '../../subjects/kit/binary-size.ts'
import { Count } from '../../subjects/kit/schemas.ts'

const Readable = (description: string) => Type.String({ maxLength: 40, description })
const Unit = (ofWhat: string) => Readable(`Unit of ${ofWhat}: B, KiB … PiB`)

/**
 * Sizes of a migration's progress for people, under the names that the existing product's clients print: numbers and
 * their units apart.
 */
export const readableSizes = {
  migrationTotalReadableBinaryUnits: Readable('totalBytes, in its unit'),
  migrationTotalBinaryUnitValue: Unit('totalBytes'),
  migrationMigratedReadableBinaryUnits: Readable('migratedBytes, in the unit of totalBytes'),
  migrationTransferredProgressBinaryValue: Readable('migratedBytes/totalBytes, in the unit of totalBytes'),
  totalMigratedBytesBinaryUnitValue: Unit('totalMigratedBytes'),
  migrationTotalTransferredReadableBinaryUnits: Readable(
    'totalMigratedBytes, in the unit of migrationTotalTransferredReadableBinaryUnitValue',
  ),
  migrationTotalTransferredReadableBinaryUnitValue: Unit(
    'totalBytes, or of totalMigratedBytes if that is greater',
  ),
  migrationTotalTransferredProgressBinaryValue: Readable('totalMigratedBytes/totalBytes, in the same unit'),
  migrationClientBytesBinaryUnits: Readable('Bytes copied because of changes, in their unit'),
  migrationClientBytesBinaryUnitValue: Unit('the bytes copied because of changes'),
  migrationExcludedReadableBinaryValue: Readable('excludedBytes, in its unit'),
  migrationExcludedBinaryUnitValue: Unit('excludedBytes'),
  dataMigratedDueToScan: Count('Bytes of files copied because the scan found them'),
  dataMigratedDueToScanReadableValue: Readable('dataMigratedDueToScan, in its unit'),
  dataMigratedDueToScanBinaryUnit: Unit('dataMigratedDueToScan'),
  overallProgressSentValue: Count('totalMigratedBytes'),
  overallProgressSentReadableValue: Readable('overallProgressSentValue, in its unit'),
  overallProgressSentBinaryUnit: Unit('overallProgressSentValue'),
  migrationTotalScannedReadableBinaryUnits: Readable('totalScannedBytes, in its unit'),
  migrationTotalScannedReadableBinaryUnitValue: Unit('totalScannedBytes'),
  totalScannedBytesBinaryUnitValue: Unit('totalScannedBytes'),
  migrationTotalScannedProgressBinaryValue: Readable(
    'totalScannedBytes/totalBytes, in the unit of totalBytes',
  ),
}

/** In bytes. */
export interface ProgressSizes {
  readonly totalBytes: number
  readonly migratedBytes: number
  readonly totalMigratedBytes: number
  readonly totalScannedBytes: number
  readonly excludedBytes: number
  /** Of what arrived: what the scan found, and what changes brought. */
  readonly migratedBytesByScan: number
  readonly migratedBytesByChanges: number
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
    migrationClientBytesBinaryUnits: own(sizes.migratedBytesByChanges),
    migrationClientBytesBinaryUnitValue: binaryUnit(sizes.migratedBytesByChanges),
    migrationExcludedReadableBinaryValue: own(sizes.excludedBytes),
    migrationExcludedBinaryUnitValue: binaryUnit(sizes.excludedBytes),
    dataMigratedDueToScan: sizes.migratedBytesByScan,
    dataMigratedDueToScanReadableValue: own(sizes.migratedBytesByScan),
    dataMigratedDueToScanBinaryUnit: binaryUnit(sizes.migratedBytesByScan),
    overallProgressSentValue: totalMigratedBytes,
    overallProgressSentReadableValue: own(totalMigratedBytes),
    overallProgressSentBinaryUnit: binaryUnit(totalMigratedBytes),
    migrationTotalScannedReadableBinaryUnits: own(totalScannedBytes),
    migrationTotalScannedReadableBinaryUnitValue: scanned,
    totalScannedBytesBinaryUnitValue: scanned,
    migrationTotalScannedProgressBinaryValue: ofTotal(totalScannedBytes),
  }
}
