import { expect, test } from 'vitest'
import { readable } from '../../../http-edge/migrator/readable.ts'

test('sizes for people are numbers, and their units apart, as clients of the existing product print them', () => {
  const MiB = 2 ** 20
  const sizes = {
    totalBytes: 2.5 * 1024 * MiB,
    totalScannedBytes: 2.5 * 1024 * MiB,
    migratedBytes: 1024 * MiB,
    totalMigratedBytes: 300 * MiB,
    excludedBytes: 1_000,
    migratedBytesByScan: 299 * MiB,
    migratedBytesByChanges: MiB,
  }
  expect(readable(sizes)).toEqual({
    migrationTotalReadableBinaryUnits: '2.5',
    migrationTotalBinaryUnitValue: 'GiB',
    migrationMigratedReadableBinaryUnits: '1.0',
    migrationTransferredProgressBinaryValue: '1.0/2.5',
    totalMigratedBytesBinaryUnitValue: 'MiB',
    migrationTotalTransferredReadableBinaryUnits: '0.3',
    migrationTotalTransferredReadableBinaryUnitValue: 'GiB',
    migrationTotalTransferredProgressBinaryValue: '0.3/2.5',
    migrationClientBytesBinaryUnits: '1.0',
    migrationClientBytesBinaryUnitValue: 'MiB',
    migrationExcludedReadableBinaryValue: '1000',
    migrationExcludedBinaryUnitValue: 'B',
    dataMigratedDueToScan: 299 * MiB,
    dataMigratedDueToScanReadableValue: '299',
    dataMigratedDueToScanBinaryUnit: 'MiB',
    overallProgressSentValue: 300 * MiB,
    overallProgressSentReadableValue: '300',
    overallProgressSentBinaryUnit: 'MiB',
    migrationTotalScannedReadableBinaryUnits: '2.5',
    migrationTotalScannedReadableBinaryUnitValue: 'GiB',
    totalScannedBytesBinaryUnitValue: 'GiB',
    migrationTotalScannedProgressBinaryValue: '2.5/2.5',
  })
  // What was written again is more than there is.
  const again = readable({ ...sizes, totalBytes: 300, totalMigratedBytes: 3 * 1024 })
  expect(again.migrationTotalTransferredProgressBinaryValue).toBe('3.0/0.3')
  expect(again.migrationTotalTransferredReadableBinaryUnitValue).toBe('KiB')
})
