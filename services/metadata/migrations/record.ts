import { type Static, Type } from 'typebox'
import { failureClassNames } from '../../../subjects/migrations/model/failure-classes.ts'
import { Count, EpochMillis, list, strict, Subject, Text, Timestamp } from '../../../subjects/kit/schemas.ts'
import {
  type MetadataMigration,
  MetadataMigration as Model,
  metadataStates,
  objectKinds,
  objectStates,
} from '../../../subjects/metadata/migrations.ts'
import { MetadataRule } from '../../../subjects/metadata/rules.ts'
import { keyOf, type ObjectId } from './reconcile/objects.ts'
import { maxAborted } from './reconcile/write-ids.ts'

const { migrationName, internalId, source, target, ruleNames, once, onConflict, maxDrops, maxDropPercent } =
  Model.properties
const {
  phase,
  changeDetection,
  changeDetectionReason,
  lagSeconds,
  lagEvents,
  comparisonPeriodSeconds,
  statistics,
  privileges,
} = Model.properties

/** What objects of a migration are in, and how many. */
export const Figures = strict({
  databases: Count('Databases'),
  tables: Count('Tables and views'),
  partitions: Count('Partitions'),
  functions: Count('Functions'),
  failed: Count('Failed'),
  conflicts: Count('Conflicts'),
  waiting: Count('Waiting'),
  held: Count('Held'),
})
export type Figures = Static<typeof Figures>

export const noFigures: Figures = {
  databases: 0,
  tables: 0,
  partitions: 0,
  functions: 0,
  failed: 0,
  conflicts: 0,
  waiting: 0,
  held: 0,
}

/** Tables that four threads have in hand, over a hundred kills in a row of which none let a comparison come to its end. */
const maxInHand = 50_000

/** A migration of metadata as it is stored. */
export const MetadataMigrationRecord = strict({
  migrationName,
  internalId,
  source,
  target,
  ruleNames,
  once,
  onConflict,
  maxDrops,
  maxDropPercent,
  statistics,
  privileges,
  comparisonPeriodSeconds,
  state: Type.Enum(metadataStates),
  /** Of one that the platform itself made, nobody. */
  owner: Type.Optional(Subject('Owner of the key that made it')),
  created: Timestamp('When it was made'),
  started: Type.Optional(Timestamp('When it was started last')),
  compared: Type.Optional(Timestamp('When everything was compared last')),
  completed: Type.Optional(Timestamp('When it had nothing left to do')),
  /** Grows with each start and each change of what it is about: everything is compared again then. */
  wanted: Count('Comparisons that were asked for'),
  /** The last of them that is over. */
  done: Count('Comparison that is over'),
  /** Where the account of changes of the source has been read to; none where there is none. */
  position: Type.Optional(Text('Position')),
  /** Objects that were being written: what is half done with them is the migration's own work. */
  inHand: list(Text('Key of an object'), maxInHand),
  /** So many drops somebody approved of. */
  approvedDrops: Type.Optional(Count('Drops')),
  /** What was dropped because the source told of it, within an hour. */
  drops: Type.Optional(strict({ since: Timestamp('When the hour began'), count: Count('Drops') })),
  reason: Type.Optional(Text('Why it has failed')),
})
export type MetadataMigrationRecord = Static<typeof MetadataMigrationRecord>

/** What every event about a migration says. */
export const factOf = ({ migrationName: name, internalId: id, state }: MetadataMigrationRecord) => ({
  migrationName: name,
  internalId: id,
  state,
})

/** How far a migration is, as whoever runs it tells from time to time. */
export const ProgressRecord = strict({
  phase,
  changeDetection,
  changeDetectionReason,
  lagSeconds,
  lagEvents,
  reason: Type.Optional(Text('Why it does not get on')),
  figures: Figures,
})
export type ProgressRecord = Static<typeof ProgressRecord>

/** As callers see it. */
export function publicMigration(
  record: MetadataMigrationRecord,
  { figures, ...running }: ProgressRecord = { figures: noFigures },
): MetadataMigration {
  const {
    wanted: _w,
    done: _d,
    position: _p,
    inHand: _i,
    approvedDrops: _a,
    owner: _o,
    drops: _r,
    ...shown
  } = record
  return { ...shown, ...figures, ...(record.state === 'RUNNING' && running) }
}

const createdMs = Type.Optional(EpochMillis('When the table was made at the source'))

/** What is known of an object of a migration. */
export const ObjectRecord = strict({
  migration: Type.String({ maxLength: 36 }),
  kind: Type.Enum(objectKinds),
  database: Type.String({ maxLength: 1_000 }),
  name: Type.Optional(Type.String({ maxLength: 1_000 })),
  state: Type.Enum(objectStates),
  wanted: Type.Optional(Type.String({ maxLength: 64 })),
  is: Type.Optional(Type.String({ maxLength: 64 })),
  /** Whether another program made it. */
  isTheirs: Type.Optional(Type.Literal(true)),
  partitions: Type.Optional(Count('Partitions')),
  failureClass: Type.Optional(Type.Enum(failureClassNames)),
  message: Type.Optional(Text('Why it has not arrived')),
  /** Whether it has arrived itself, and only what belongs to it has failed. */
  hasArrived: Type.Optional(Type.Boolean()),
  /** What it was called before at the source: it is at the target by that name until its files are there. */
  renamedFrom: Type.Optional(
    strict({ database: Type.String({ maxLength: 1_000 }), name: Type.String({ maxLength: 1_000 }) }),
  ),
  /** Since when it has been wanted while its files were not there. */
  sinceMs: Type.Optional(EpochMillis('Milliseconds since 1970')),
  /** Write ids of a transactional table that are set once the files of these writes are at the target. */
  writeIds: Type.Optional(
    strict({
      highest: Count('The highest'),
      aborted: list(Count('Of a write that was aborted'), maxAborted),
      sinceMs: EpochMillis('When they were read'),
      createdMs,
    }),
  ),
  /** Whether it is at the target by a hidden name, while its partitions are added. */
  isHidden: Type.Optional(Type.Literal(true)),
  /** Whether nothing of it waits but the latest writes to it. */
  isOfWrites: Type.Optional(Type.Literal(true)),
  /** Of a transactional table: all writes up to it are at the target as they are at the source. */
  written: Type.Optional(strict({ upTo: Count('Write id'), createdMs })),
  time: Timestamp('When that was found out'),
})
export type ObjectRecord = Static<typeof ObjectRecord>

/** Its key among the objects of all migrations. */
export const objectKey = (migration: string, id: ObjectId): string => `${migration}/${keyOf(id)}`

/** A rule as it is stored. */
export const RuleRecord = strict({
  ...MetadataRule.properties,
  owner: Type.Optional(Subject('Owner of the key that made it')),
})
export type RuleRecord = Static<typeof RuleRecord>
