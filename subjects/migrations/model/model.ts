import { type Static, Type } from 'typebox'
import { conditions } from './conditions.ts'
import { LinkPolicy, Metadata, NotKept } from './metadata.ts'
import { RecurringMigrationTracker, recurringSchedule, recurringTimeZone } from './recurrence.ts'
import { movedBy } from '../agents.ts'
import { maxPathMappings, PathMapping } from './path-mapping-model.ts'
import { ExclusionView, InclusionView, maxRules } from './rules.ts'
import { actionPolicyNames } from './terms.ts'
import { changeFigures, comparisonPeriodSeconds } from './changes.ts'
import {
  AdditionalProperties,
  Count,
  list,
  model,
  Name,
  Path,
  strict,
  Timestamp,
  Uuid,
} from '../../kit/schemas.ts'
import { cleanupView } from './source-cleanup.ts'
import { Deletions, deletionView } from './target-match.ts'

/** Characters of a state in words; a cause that is longer is cut off. */
export const maxStateTextLength = 500

export const migrationId = Name('Name of the migration')
export const internalId = Uuid('Another migration of the same name has another')

/** @param usual what holds when none is given */
export const actionPolicy = (usual: string) =>
  Type.Optional(
    Type.Enum(actionPolicyNames, {
      description: `What happens to a file that is at the target already; default ${usual}`,
    }),
  )

export const additionalProperties = AdditionalProperties(
  'Notes of the caller by name: they are kept and shown, and change nothing',
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

/** From the most urgent to the least. */
export const migrationPriorities = ['HIGH', 'NORMAL', 'LOW'] as const
export type MigrationPriority = (typeof migrationPriorities)[number]
/** @param usual what holds when none is given */
export const migrationPriority = (usual: string) =>
  Type.Optional(
    Type.Enum(migrationPriorities, {
      description: `A more urgent one takes the place of a less urgent one; default ${usual}`,
    }),
  )

const Matrix = strict({
  byteCount: Count('Bytes'),
  fileCount: Count('Files and symbolic links'),
  directoryCount: Count('Folders'),
})

export const Migration = model('Migration', {
  migrationId,
  internalId,
  path: Path('Folder that is migrated; the same at the target, unless a path mapping leads elsewhere'),
  source: Name('Source filesystem'),
  target: Name('Target filesystem'),
  state: Type.Enum(migrationStates),
  stateText: Type.String({
    maxLength: maxStateTextLength,
    description: 'The same in words, with what did not arrive',
  }),
  conditions,
  resumable: Type.Boolean({ description: 'Whether a stopped migration can go on where it was' }),
  abortReason: Type.Optional(Type.Enum(['AUTO_ABORTED', 'MANUALLY_ABORTED_BY_USER'])),
  scanOnlyMigration: Type.Boolean({ description: 'Copies what a scan finds, and does not follow changes' }),
  recurringMigration: Type.Boolean({ description: 'Scans again and again' }),
  recurringPeriodSeconds: Type.Optional(Count('Seconds from the start of one scan to the start of the next')),
  recurringSchedule,
  recurringTimeZone,
  recurringWindowSeconds: Type.Optional(
    Count('Seconds from each time of the schedule on in which it may run; not there: until it is done'),
  ),
  nextRecurrenceTime: Type.Optional(Timestamp('When the next scan is to begin')),
  recurringMigrationTracker: Type.Optional(RecurringMigrationTracker),
  migrationPriority: Type.Enum(migrationPriorities),
  targetActionPolicy: Type.Enum(actionPolicyNames),
  movedBy: Type.Optional(movedBy),
  migrationCreatedTime: Timestamp('When it was made'),
  migrationStartTime: Type.Optional(Timestamp('When it was started first')),
  migrationCompleteTime: Type.Optional(Timestamp('When it was completed')),
  scannerSummary: strict({
    progressSummary: strict({
      filesScanned: Count(
        'Files found, in all scans together: a folder that is scanned again is counted again',
      ),
      directoriesScanned: Count('Folders found'),
      bytesScanned: Count('Their bytes'),
      filesExcluded: Count('Files that were left out'),
      dirsExcluded: Count('Folders that were left out; what is in them is not known'),
      bytesExcluded: Count('Bytes of the files that were left out'),
      baseScanCompletionTime: Type.Optional(Timestamp('When all that was there was found and copied')),
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
  ruleCount: Count('Exclusions and inclusions; a list of migrations shows the first few of each'),
  pathMappings: list(PathMapping, maxPathMappings),
  failedPathCount: Count('Paths that did not arrive; see failures'),
  numberPathsRequeued: Count('Tries after the first, of all paths together'),
  ...deletionView,
  deletions: Type.Optional(Deletions),
  ...cleanupView,
  comparisonPeriodSeconds,
  ...changeFigures,
  pendingRegionCount: Count('Folders that are to be scanned again'),
  maxPendingRegions: Count(
    `Most folders that may wait to be scanned again, as it was asked for: above ${maxPendingRegions} that many`,
  ),
  additionalProperties,
})
export type Migration = Static<typeof Migration>
