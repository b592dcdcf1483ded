import { type Static, Type } from 'typebox'
import { type ActionPolicy, actionPolicies, migrationStates } from '../../subjects/migration-model.ts'
import { LinkPolicy, Metadata } from '../../subjects/migration-metadata.ts'
import { Count, Name, Path, strict, Timestamp } from '../../subjects/schemas.ts'

const policies = Object.keys(actionPolicies) as ActionPolicy[]

/** What was done, in numbers; see `Counts` of the engine. */
const StoredCounts = Type.Record(Type.String({ maxLength: 40 }), Count('Count'))

/** A migration as it is stored. */
export const MigrationRecord = strict({
  migrationId: Name('Name of the migration'),
  internalId: Type.String({ minLength: 36, maxLength: 36 }),
  path: Path('Root of the migration in both filesystems'),
  source: Name('Source filesystem'),
  target: Name('Target filesystem'),
  policy: Type.Enum(policies),
  /** Without them: the defaults. */
  metadata: Type.Optional(Metadata),
  links: Type.Optional(LinkPolicy),
  state: Type.Enum(migrationStates),
  resumable: Type.Boolean(),
  abortReason: Type.Optional(Type.Enum(['AUTO_ABORTED', 'MANUALLY_ABORTED_BY_USER'])),
  /** Whether the root is in the queue: an empty queue means finished only after that. */
  seeded: Type.Boolean(),
  created: Timestamp('When it was made'),
  started: Type.Optional(Timestamp('When it was started first')),
  completed: Type.Optional(Timestamp('When it was completed')),
  /** Totals, once it is completed; until then they are in the progress of the workers. */
  counts: Type.Optional(StoredCounts),
})
export type MigrationRecord = Static<typeof MigrationRecord>

/** What every event about a migration says. */
export const factOf = ({ migrationId, internalId, state }: MigrationRecord) => ({
  migrationId,
  internalId,
  state,
})
