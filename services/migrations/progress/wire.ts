import type { Static } from 'typebox'
import type { Stats } from '../../../subjects/migrations/model/figures.ts'
import { type FileSizeClass, fileSizeClassNames } from '../../../subjects/migrations/model/terms.ts'
import type { Counts } from '../../engine/run/counts.ts'

/** Counts under their wire names. Client activity is what a change brought; one-time migrations have none. */
export function wireStats(counts: Counts): Static<typeof Stats> {
  const files = counts.filesMigrated + counts.linksMigrated
  const { foldersMigrated: folders, bytesMigrated: bytes } = counts
  const { filesChanged, foldersChanged, bytesChanged } = counts
  return {
    filesScanned: scannedFiles(counts),
    dirsScanned: scannedFolders(counts),
    filesExcluded: counts.filesExcluded,
    dirsExcluded: counts.foldersExcluded,
    bytesExcluded: counts.bytesExcluded,
    eventsExcluded: counts.eventsExcluded,
    filesMigrated: files,
    fileCountBySize: bySize((name) => counts[name]),
    dirsMigrated: folders,
    filesMigratedScan: files - filesChanged,
    dirsMigratedScan: folders - foldersChanged,
    filesMigratedClient: filesChanged,
    dirsMigratedClient: foldersChanged,
    rawBytesMigrated: bytes,
    successfulBytesMigrated: bytes,
    rawBytesMigratedScan: bytes - bytesChanged,
    successfulBytesMigratedScan: bytes - bytesChanged,
    rawBytesMigratedClient: bytesChanged,
    successfulBytesMigratedClient: bytesChanged,
  }
}

/** A figure for each class of sizes. */
export const bySize = (figure: (name: FileSizeClass) => number): Record<FileSizeClass, number> =>
  Object.fromEntries(fileSizeClassNames.map((name) => [name, figure(name)])) as Record<FileSizeClass, number>

/** Links and special files are files to those who ask. */
export const scannedFiles = ({ filesScanned, linksScanned, othersScanned }: Counts): number =>
  filesScanned + linksScanned + othersScanned

/** Files and links that were already at the target. */
export const skippedFiles = ({ filesSkipped, linksSkipped }: Counts): number => filesSkipped + linksSkipped

/** Folders that were taken up again after a failure are counted once. */
export const scannedFolders = ({ foldersScanned, foldersRetried }: Counts): number =>
  Math.max(0, foldersScanned - foldersRetried)
