import { type Static, Type } from 'typebox'
import { conditions } from './conditions.ts'
import { LinkPolicy, Metadata, NotKept } from './metadata.ts'
import { RecurringMigrationTracker, recurringSchedule, recurringTimeZone } from './recurrence.ts'
import { movedBy } from '../agents.ts'
import { maxPathMappings, PathMapping } from './path-mapping-model.ts'
import { ExclusionView, InclusionView, maxRules } from './rules.ts'
import { actionPolicies, actionPolicyNames } from './terms.ts'
import { changeFigures, comparisonPeriodSeconds } from './changes.ts'
import {
  AdditionalProperties,
  Count,
  list,
  model,
  Name,
  OneOf,
  Path,
  strict,
  Timestamp,
  usually,
  Uuid,
} from '../../kit/schemas.ts'
import { cleanupView } from './source-cleanup.ts'
import { Deletions, deletionView } from './target-match.ts'
import { supersededFigures } from './vanished.ts'

/** Characters of a state in words; a cause that is longer is cut off. */
export const maxStateTextLength = 500

export const migrationId = Name('Name of the migration')
export const internalId = Uuid(
  'Unique id of the migration; a new migration with the same name has another one',
)

/** @param usual what holds when none is given */
export const actionPolicy = (usual: string) =>
  Type.Optional(
    OneOf(actionPolicies, { about: 'What to do with a file that already exists at the target', usual }),
  )

export const additionalProperties = AdditionalProperties(
  'Your own notes, by name; stored and shown, without any effect',
)

/** Most folders of a migration that may wait to be scanned again: a record with that many of the longest paths still fits into a message. */
export const maxPendingRegions = 100

/** Wire states, those of the existing product but PAUSED: a stopped migration that can go on is STOPPED and resumable. */
export const migrationStates = [
  'NONSCHEDULED',
  'SCHEDULED',
  'RUNNING',
  'LIVE',
  'STOPPING',
  'STOPPED',
  'COMPLETED',
  'RECURRENCE_SCHEDULED',
  'WAITING_FOR_NEXT_RECURRENCE',
] as const
export type MigrationState = (typeof migrationStates)[number]

/** A recurring migration enters three states with each scan: the last 16 of them. Each adds some 60 bytes to the record. */
export const maxKeptStates = 50

export const EnteredState = model('EnteredState', {
  state: Type.Enum(migrationStates),
  since: Timestamp('When the migration entered the state'),
})

/** From the most urgent to the least. */
export const migrationPriorities = ['HIGH', 'NORMAL', 'LOW'] as const
export type MigrationPriority = (typeof migrationPriorities)[number]
/** @param usual what holds when none is given */
export const migrationPriority = (usual: string) =>
  Type.Optional(
    Type.Enum(migrationPriorities, {
      description: `Priority over other migrations when not all can run; default ${usual}`,
      ...usually(usual),
    }),
  )

const Matrix = strict({
  byteCount: Count('Bytes'),
  fileCount: Count('Files and symbolic links'),
  directoryCount: Count('Folders'),
})

/** Absent rather than wrong. */
export const migratedPercentage = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 100,
    description:
      'Percentage of what was found that is at the target or was superseded; below 100 while anything is pending or has failed. Absent until everything in the source is listed, because it would fall whenever more files are found',
  }),
)

export const Migration = model('Migration', {
  migrationId,
  internalId,
  path: Path('Migrated folder; its path at the target is the same unless a path mapping changes it'),
  source: Name('Source filesystem'),
  target: Name('Target filesystem'),
  state: Type.Enum(migrationStates),
  stateText: Type.String({
    maxLength: maxStateTextLength,
    description: 'The state in words, with the number of failed paths',
  }),
  conditions,
  resumable: Type.Boolean({ description: 'Whether a stopped migration can continue where it stopped' }),
  abortReason: Type.Optional(Type.Enum(['AUTO_ABORTED', 'MANUALLY_ABORTED_BY_USER'])),
  scanOnlyMigration: Type.Boolean({
    description: 'Whether the migration only copies what a scan finds, without following changes',
  }),
  recurringMigration: Type.Boolean({ description: 'Whether scans repeat' }),
  recurringPeriodSeconds: Type.Optional(Count('Seconds from the start of one scan to the start of the next')),
  recurringSchedule,
  recurringTimeZone,
  recurringWindowSeconds: Type.Optional(
    Count('Maximum duration in seconds of each scheduled run; absent: no limit'),
  ),
  nextRecurrenceTime: Type.Optional(Timestamp('Start time of the next scan')),
  recurringMigrationTracker: Type.Optional(RecurringMigrationTracker),
  migrationPriority: Type.Enum(migrationPriorities),
  targetActionPolicy: Type.Enum(actionPolicyNames),
  movedBy: Type.Optional(movedBy),
  migrationCreatedTime: Timestamp('Creation time'),
  migrationStartTime: Type.Optional(Timestamp('Time of the first start')),
  migrationCompleteTime: Type.Optional(Timestamp('Completion time')),
  runningSeconds: Type.Number({
    minimum: 0,
    description:
      'Seconds from the start to the completion, or until now, to the millisecond, without the time in which the migration was stopped, completed or waiting for its turn; of a recurring migration those of its last run',
  }),
  filesSkipped: Count('Files that were already at the target'),
  ...supersededFigures,
  migratedPercentage,
  bytesInProgress: Count('Bytes at the target that belong to files whose copies are not complete yet'),
  scannerSummary: strict({
    progressSummary: strict({
      filesScanned: Count('Files found, in all scans; a rescanned folder is counted again'),
      directoriesScanned: Count('Folders found'),
      bytesScanned: Count('Bytes of the files found'),
      filesExcluded: Count('Files excluded by rules'),
      dirsExcluded: Count('Folders excluded by rules; their contents are unknown'),
      bytesExcluded: Count('Bytes of files excluded by rules'),
      baseScanCompletionTime: Type.Optional(Timestamp('When all existing files were found and copied')),
    }),
    contentSummary: Matrix,
  }),
  clientActivitySummary: Matrix,
  metadata: Metadata,
  links: LinkPolicy,
  notKept: NotKept,
  exclusions: list(ExclusionView, maxRules),
  userDefinedExclusions: list(ExclusionView, maxRules),
  inclusions: list(InclusionView, maxRules),
  ruleCount: Count('Number of exclusions and inclusions; a list of migrations shows the first few of each'),
  pathMappings: list(PathMapping, maxPathMappings),
  failedPathCount: Count('Paths that could not be copied; see failures'),
  numberPathsRequeued: Count('Total number of retries, for all paths'),
  ...deletionView,
  deletions: Type.Optional(Deletions),
  ...cleanupView,
  comparisonPeriodSeconds,
  ...changeFigures,
  changesToldUntil: Type.Optional(
    Timestamp(
      'For stores that report changes with a delay (snapshots, notifications): changes before this time are known, given the store’s usual delay, and are included in changeLagSeconds',
    ),
  ),
  pendingRegionCount: Count('Pending rescans of folders'),
  maxPendingRegions: Count(
    `Maximum number of pending rescans, as requested; values above ${maxPendingRegions} count as ${maxPendingRegions}`,
  ),
  additionalProperties,
})
export type Migration = Static<typeof Migration>
