/** Words of cleanups, as plain data: the engine's threads use them without the schemas. */

import { csvReport, reportsOf } from './report-terms.ts'

/** What became of a path of the source. All but the first two stay there. */
export const cleanupResults = {
  REMOVED: 'Source and target were equal; it was removed from the source',
  REMOVABLE: 'Source and target are equal, but this cleanup removes nothing',
  EXCLUDED: 'A rule of the migration excludes it, so it was not copied',
  NOT_AT_TARGET: 'Missing at the target',
  DIFFERENT: 'The target has something else with this name',
  CHANGED: 'Changed at the source or the target during the comparison',
  SAME: 'Source and target are the same file, under two names in the store',
  NOT_REMOVED: 'Source and target were equal, but it could not be removed',
  UNREADABLE: 'It could not be read at the source or the target',
} as const
export type CleanupResult = keyof typeof cleanupResults

/** What a cleanup counts; symbolic links are counted with the files. */
export const cleanupCounts = {
  filesRemoved: 'Files removed from the source',
  bytesRemoved: 'Bytes of the removed files',
  foldersRemoved: 'Empty folders removed from the source',
  filesRemovable: 'Files that could be removed, if this cleanup removes nothing',
  bytesRemovable: 'Bytes of the removable files',
  filesKept: 'Files kept, for one of the reasons below',
  bytesKept: 'Bytes of the kept files',
  filesExcluded: 'Files excluded by a rule of the migration',
  foldersExcluded: 'Folders excluded by a rule of the migration; their contents are not checked',
  filesNotAtTarget: 'Files missing at the target',
  foldersNotAtTarget: 'Folders missing at the target',
  filesDifferent: 'Files that differ at the target',
  filesChanged: 'Files changed during the comparison',
  filesSame: 'Files that are the same file at the source and the target',
  filesNotRemoved: 'Files that are equal at the target but could not be removed',
  foldersNotRemoved: 'Folders that could not be removed, or not with all their contents',
  unreadablePaths: 'Paths that could not be compared',
  bytesRead: 'Bytes of content read',
} as const
export type CleanupCount = keyof typeof cleanupCounts

export const cleanupReports = reportsOf({ REMOVED_CSV: csvReport('removed'), KEPT_CSV: csvReport('kept') })
export type CleanupReport = keyof typeof cleanupReports
export const cleanupReportNames = Object.keys(cleanupReports) as CleanupReport[]

/** When the source is cleaned up by itself, in the existing product's words. */
export const deletionModes = ['NO_DELETION', 'IMMEDIATE_DELETION', 'DELAYED_DELETION'] as const
export type DeletionMode = (typeof deletionModes)[number]
