import type { Static } from 'typebox'
import type { Stats } from '../../../subjects/migration-figures.ts'
import type { Counts } from '../engine/counts.ts'

/** Counts under their wire names. One-time migrations copy nothing but what a scan found. */
export function wireStats(counts: Counts): Static<typeof Stats> {
  const files = counts.filesMigrated + counts.linksMigrated
  const { foldersMigrated: folders, bytesMigrated: bytes } = counts
  return {
    filesScanned: scannedFiles(counts),
    dirsScanned: scannedFolders(counts),
    filesExcluded: counts.filesExcluded,
    dirsExcluded: counts.foldersExcluded,
    bytesExcluded: counts.bytesExcluded,
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

/** Links and special files are files to those who ask. */
export const scannedFiles = ({ filesScanned, linksScanned, othersScanned }: Counts): number =>
  filesScanned + linksScanned + othersScanned

/** Folders that were taken up again after a failure are counted once. */
export const scannedFolders = ({ foldersScanned, foldersRetried }: Counts): number =>
  Math.max(0, foldersScanned - foldersRetried)
