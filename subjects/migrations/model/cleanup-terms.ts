/** Words of cleanups, as plain data: the engine's threads use them without the schemas. */

import { csvReport, reportsOf } from './report-terms.ts'

/** What became of a path of the source. All but the first two stay there. */
export const cleanupResults = {
  REMOVED: 'It was at the target as it was at the source, and is no longer at the source',
  REMOVABLE: 'The same, but this cleanup removes nothing',
  EXCLUDED: 'A rule of the migration leaves it out, so that it was not copied',
  NOT_AT_TARGET: 'The target does not have it',
  DIFFERENT: 'The target has something else of its name',
  CHANGED: 'Somebody changed one of the two while they were compared',
  SAME: 'What the target has is this very file, under another name of its store',
  NOT_REMOVED: 'It was at the target as it was at the source, and could not be removed',
  UNREADABLE: 'A store did not let it be looked at',
} as const
export type CleanupResult = keyof typeof cleanupResults

/** What a cleanup counts; symbolic links are counted with the files. */
export const cleanupCounts = {
  filesRemoved: 'Files that were removed at the source',
  bytesRemoved: 'Their bytes',
  foldersRemoved: 'Folders that were empty then, and were removed at the source',
  filesRemovable: 'Files that would be removed, were this cleanup to remove anything',
  bytesRemovable: 'Their bytes',
  filesKept: 'Files that stay, for one of the reasons below',
  bytesKept: 'Their bytes',
  filesExcluded: 'Files that a rule of the migration leaves out',
  foldersExcluded: 'Folders that one leaves out; what is in them is not looked at',
  filesNotAtTarget: 'Files that are not at the target',
  foldersNotAtTarget: 'Folders that are not at the target',
  filesDifferent: 'Files that differ from what the target has',
  filesChanged: 'Files that somebody changed meanwhile',
  filesSame: 'Files that are themselves what the target has',
  filesNotRemoved: 'Files that could not be removed, though the target has them',
  foldersNotRemoved: 'Folders that could not be removed, or something in them',
  unreadablePaths: 'Paths that could not be compared',
  bytesRead: 'Bytes of content that were read',
} as const
export type CleanupCount = keyof typeof cleanupCounts

export const cleanupReports = reportsOf({ REMOVED_CSV: csvReport('removed'), KEPT_CSV: csvReport('kept') })
export type CleanupReport = keyof typeof cleanupReports
export const cleanupReportNames = Object.keys(cleanupReports) as CleanupReport[]

/** When the source is cleaned up by itself, in the existing product's words. */
export const deletionModes = ['NO_DELETION', 'IMMEDIATE_DELETION', 'DELAYED_DELETION'] as const
export type DeletionMode = (typeof deletionModes)[number]
