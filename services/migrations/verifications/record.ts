import { type Static, Type } from 'typebox'
import { Count, list, Name, Path, strict, Text, Timestamp } from '../../../subjects/schemas.ts'
import {
  type VerificationCount,
  verificationCounts,
  type VerificationLevel,
  verificationLevels,
  verificationReportNames,
} from '../../../subjects/verification-terms.ts'
import {
  maxVerificationPaths,
  type Verification,
  verificationStatuses,
} from '../../../subjects/verifications.ts'

/** A verification as it is stored. */
export const VerificationRecord = strict({
  id: Type.String({ minLength: 36, maxLength: 36 }),
  migrationId: Name('Name of the migration'),
  internalId: Type.String({ minLength: 36, maxLength: 36 }),
  status: Type.Enum(verificationStatuses),
  level: Type.Enum(Object.keys(verificationLevels) as VerificationLevel[]),
  message: Type.Optional(Text('Why it ended before its end')),
  created: Timestamp('When it was asked for'),
  started: Type.Optional(Timestamp('When it began, after the last restart')),
  finished: Type.Optional(Timestamp('When it ended')),
  paths: list(Path('What is verified'), maxVerificationPaths),
  originalPaths: list(Path('The same as it was asked for'), maxVerificationPaths),
  depth: Type.Optional(Count('Levels below each path')),
  ignoreAfterMs: Type.Optional(Count('Milliseconds since 1970')),
  /** Once it has ended. */
  counts: Type.Optional(Type.Record(Type.String({ maxLength: 40 }), Count('Count'))),
  rowsLeftOut: Type.Optional(Count('Paths that the full report has no room for')),
  /** Once it has ended, and until there is no more room for them. */
  reports: Type.Optional(
    list(
      strict({
        type: Type.Enum(verificationReportNames),
        sizeBytes: Count('Bytes'),
        createdMs: Count('Milliseconds since 1970'),
        checksum: Count('CRC-32'),
      }),
    ),
  ),
})
export type VerificationRecord = Static<typeof VerificationRecord>

/** Whether nothing will happen to it any more. */
export const hasEnded = ({ status }: VerificationRecord): boolean =>
  status === 'COMPLETE' || status === 'CANCELLED'

/** The oldest first. */
export const byAge = (one: VerificationRecord, other: VerificationRecord): number =>
  one.created.localeCompare(other.created) || one.id.localeCompare(other.id)

export type VerificationCounts = Partial<Record<VerificationCount, number>>

/** A verification as callers see it. @param running counts of one that is under way */
export function publicVerification(
  record: VerificationRecord,
  running: VerificationCounts = {},
): Verification {
  const { internalId, created, started, finished, depth, ignoreAfterMs, counts, reports: _, ...own } = record
  const known: VerificationCounts = counts ?? running
  const names = Object.keys(verificationCounts) as VerificationCount[]
  return {
    ...own,
    migrationInternalId: internalId,
    ...timed('created', created),
    ...(started === undefined ? {} : timed('started', started)),
    ...(finished === undefined ? {} : timed('finished', finished)),
    ...(depth === undefined ? {} : { verificationDepth: depth }),
    ...(ignoreAfterMs === undefined ? {} : { ignoreAfterTimestamp: ignoreAfterMs }),
    ...(Object.fromEntries(names.map((name) => [name, known[name] ?? 0])) as Record<
      VerificationCount,
      number
    >),
    rowsLeftOut: record.rowsLeftOut ?? 0,
  }
}

/** A moment under the two names that it has on the wire. */
const timed = <N extends string>(name: N, moment: string) =>
  ({ [`${name}At`]: moment, [`${name}Timestamp`]: Date.parse(moment) }) as Record<`${N}At`, string> &
    Record<`${N}Timestamp`, number>
