import { type Static, Type } from 'typebox'
import { Count, list, Name, strict, Subject, Text, Timestamp } from '../../subjects/kit/schemas.ts'
import { jobStatuses } from '../../subjects/migrations/model/jobs.ts'

/** What is stored of every job that walks through both sides of a migration. */
export const jobRecordFields = <N extends string>(reportNames: N[]) => ({
  id: Type.String({ minLength: 36, maxLength: 36 }),
  migrationId: Name('Name of the migration'),
  internalId: Type.String({ minLength: 36, maxLength: 36 }),
  status: Type.Enum(jobStatuses),
  /** Not there for one that began by itself, and those of earlier releases. */
  owner: Type.Optional(Subject('Owner of the key that asked for it')),
  message: Type.Optional(Text('Why it ended before its end')),
  created: Timestamp('When it was asked for'),
  started: Type.Optional(Timestamp('When it began, after the last restart')),
  finished: Type.Optional(Timestamp('When it ended')),
  /** Once it has ended. */
  counts: Type.Optional(Type.Record(Type.String({ maxLength: 40 }), Count('Count'))),
  rowsLeftOut: Type.Optional(Count('Paths that the full report has no room for')),
  /** Once it has ended, and until there is no more room for them. */
  reports: Type.Optional(
    list(
      strict({
        type: Type.Enum(reportNames),
        sizeBytes: Count('Bytes'),
        createdMs: Count('Milliseconds since 1970'),
        checksum: Count('CRC-32'),
      }),
    ),
  ),
})

const anyJob = Type.Object(jobRecordFields<string>([]))
export type JobRecord = Static<typeof anyJob>

/** The oldest first. */
export const byAge = (
  one: Pick<JobRecord, 'id' | 'created'>,
  other: Pick<JobRecord, 'id' | 'created'>,
): number => one.created.localeCompare(other.created) || one.id.localeCompare(other.id)

/** A job as callers see it. @param known its counts; @param names those that are shown */
export function publicJob<C extends string>(
  { id, migrationId, internalId, status, message, created, started, finished, rowsLeftOut }: JobRecord,
  known: Readonly<Record<string, number>>,
  names: Readonly<Record<C, string>>,
) {
  return {
    id,
    migrationId,
    migrationInternalId: internalId,
    status,
    ...(message === undefined ? {} : { message }),
    ...timed('created', created),
    ...(started === undefined ? {} : timed('started', started)),
    ...(finished === undefined ? {} : timed('finished', finished)),
    ...(Object.fromEntries(Object.keys(names).map((name) => [name, known[name] ?? 0])) as Record<C, number>),
    rowsLeftOut: rowsLeftOut ?? 0,
  }
}

/** A moment under the two names that it has on the wire. */
const timed = <N extends string>(name: N, moment: string) =>
  ({ [`${name}At`]: moment, [`${name}Timestamp`]: Date.parse(moment) }) as Record<`${N}At`, string> &
    Record<`${N}Timestamp`, number>
