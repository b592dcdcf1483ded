import { Type } from 'typebox'
import { internalId, migrationId } from './model.ts'
import { Count, model, strict, Text, Timestamp, Uuid } from '../../kit/schemas.ts'

/** Jobs that walk through both sides of a migration, and leave reports. */

export const jobStatuses = ['QUEUED', 'IN_PROGRESS', 'COMPLETE', 'CANCELLED'] as const
export type JobStatus = (typeof jobStatuses)[number]

/** Whether nothing will happen to it any more. */
export const hasEnded = ({ status }: { readonly status: JobStatus }): boolean =>
  status === 'COMPLETE' || status === 'CANCELLED'

/** What every job says of itself; times twice, as the existing product has them. */
export const jobFields = (what: string) => ({
  id: Uuid(`Id of the ${what}`),
  migrationId,
  migrationInternalId: internalId,
  status: Type.Enum(jobStatuses),
  message: Type.Optional(Text('Why the job ended early')),
  createdTimestamp: Count('Milliseconds since 1970'),
  createdAt: Timestamp('The same time as text'),
  startedTimestamp: Type.Optional(Count('Milliseconds since 1970')),
  startedAt: Type.Optional(Timestamp('The same time as text')),
  finishedTimestamp: Type.Optional(Count('Milliseconds since 1970')),
  finishedAt: Type.Optional(Timestamp('The same time as text')),
  rowsLeftOut: Count('Paths that are counted, but omitted from the full report because of its size'),
})

/** A report as a list of them shows it. */
export const reportFile = <N extends string>(title: string, names: N[]) =>
  model(title, {
    descriptor: strict({
      name: Type.Enum(names, { description: '`reportId` of the download' }),
      type: Type.Enum(names),
      fileSuffix: Type.String({ maxLength: 10 }),
    }),
    size: Count('Bytes'),
    created: Count('Milliseconds since 1970'),
    checksum: Count('CRC-32'),
  })

export const jobErrors = {
  byId: ['NOT_FOUND'],
  state: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE'],
} as const

/** Ending a walk waits for the call to a store that each thread is in. */
export const jobDeadlineMs = 30_000
