import { Type } from 'typebox'
import { Count } from '../../kit/schemas.ts'

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
    'totalBytes, or of totalMigratedBytes if that is more',
  ),
  migrationTotalTransferredProgressBinaryValue: Readable('totalMigratedBytes/totalBytes, in the same unit'),
  migrationClientBytesBinaryUnits: Readable('Bytes that changes brought, in their unit'),
  migrationClientBytesBinaryUnitValue: Unit('these'),
  migrationExcludedReadableBinaryValue: Readable('excludedBytes, in its unit'),
  migrationExcludedBinaryUnitValue: Unit('excludedBytes'),
  dataMigratedDueToScan: Count('Bytes of files that arrived because the scan found them'),
  dataMigratedDueToScanReadableValue: Readable('The same, in its unit'),
  dataMigratedDueToScanBinaryUnit: Unit('dataMigratedDueToScan'),
  overallProgressSentValue: Count('totalMigratedBytes'),
  overallProgressSentReadableValue: Readable('The same, in its unit'),
  overallProgressSentBinaryUnit: Unit('overallProgressSentValue'),
  migrationTotalScannedReadableBinaryUnits: Readable('totalScannedBytes, in its unit'),
  migrationTotalScannedReadableBinaryUnitValue: Unit('totalScannedBytes'),
  totalScannedBytesBinaryUnitValue: Unit('totalScannedBytes'),
  migrationTotalScannedProgressBinaryValue: Readable(
    'totalScannedBytes/totalBytes, in the unit of totalBytes',
  ),
}
