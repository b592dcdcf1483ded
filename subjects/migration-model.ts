import { type Static, Type } from 'typebox'
import { Count, model, Name, Path, strict, Timestamp, Uuid } from './schemas.ts'

export const migrationId = Name('Name of the migration')
export const internalId = Uuid('Another migration of the same name has another')

/**
 * What happens to a file that is at the target already. The long names are those of the existing product's API, so that
 * its scripts work; the short ones are ours, and what it does not have has no other.
 */
export const actionPolicies = {
  Overwrite: 'com.wandisco.livemigrator2.migration.OverwriteActionPolicy',
  SkipIfSizeMatch: 'com.wandisco.livemigrator2.migration.SkipIfSizeMatchActionPolicy',
  SkipIfSizeAndTimeMatch: 'SkipIfSizeAndTimeMatch',
  SkipIfDigestMatch: 'SkipIfDigestMatch',
} as const
export type ActionPolicy = keyof typeof actionPolicies

const policyNames = Object.keys(actionPolicies) as ActionPolicy[]
export const actionPolicy = Type.Optional(
  Type.Enum([...new Set([...policyNames, ...Object.values(actionPolicies)])], {
    description: 'What happens to a file that is at the target already; default Overwrite',
  }),
)

/** Wire states. This release makes one-time migrations; those of live and recurring ones come with them. */
export const migrationStates = ['NONSCHEDULED', 'RUNNING', 'STOPPING', 'STOPPED', 'COMPLETED'] as const
export type MigrationState = (typeof migrationStates)[number]

const Matrix = strict({
  byteCount: Count('Bytes'),
  fileCount: Count('Files and symbolic links'),
  directoryCount: Count('Folders'),
})

export const Migration = model('Migration', {
  migrationId,
  internalId,
  path: Path('Folder that is migrated, the same in source and target'),
  source: Name('Source filesystem'),
  target: Name('Target filesystem'),
  state: Type.Enum(migrationStates),
  resumable: Type.Boolean({ description: 'Whether a stopped migration can go on where it was' }),
  abortReason: Type.Optional(Type.Enum(['AUTO_ABORTED', 'MANUALLY_ABORTED_BY_USER'])),
  scanOnlyMigration: Type.Boolean({ description: 'One-time: what is there is copied once' }),
  targetActionPolicy: Type.Enum(Object.values(actionPolicies)),
  migrationCreatedTime: Timestamp('When it was made'),
  migrationStartTime: Type.Optional(Timestamp('When it was started first')),
  migrationCompleteTime: Type.Optional(Timestamp('When it was completed')),
  scannerSummary: strict({
    progressSummary: strict({
      filesScanned: Count('Files found'),
      directoriesScanned: Count('Folders found'),
      bytesScanned: Count('Their bytes'),
    }),
    contentSummary: Matrix,
  }),
  clientActivitySummary: Matrix,
  failedPathCount: Count('Paths that did not arrive; see failures'),
})
export type Migration = Static<typeof Migration>
