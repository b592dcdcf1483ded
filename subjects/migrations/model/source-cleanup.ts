import { Type } from 'typebox'
import { deletionModes } from './cleanup-terms.ts'
import { maxPeriodSeconds } from './recurrence.ts'
import { Count, strict, Timestamp, usually } from '../../kit/schemas.ts'

/** When the source of a migration is cleaned up by itself; the names are the existing product's. */
export const cleanupFields = {
  deletionMode: Type.Optional(
    Type.Enum(deletionModes, {
      description:
        'One-time migrations: clean up the source after completion, immediately or after delayedDeletionPeriod; default NO_DELETION',
      ...usually('NO_DELETION'),
    }),
  ),
  delayedDeletionPeriod: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: maxPeriodSeconds,
      description: 'Seconds between completion and cleanup, with DELAYED_DELETION',
    }),
  ),
}

/** The same as callers see it. */
export const cleanupView = {
  deletionMode: Type.Enum(deletionModes),
  delayedDeletionPeriodSeconds: Type.Optional(Count('Seconds between completion and cleanup')),
  autoSourceCleanupEnabled: Type.Boolean({ description: 'Whether the source is cleaned up automatically' }),
  nextCleanupTime: Type.Optional(Timestamp('Start time of the next cleanup')),
  sourceCleanupTracker: strict({
    count: Count('Known cleanups of the migration, including scheduled ones'),
    inProgress: Type.Boolean({ description: 'Whether a cleanup is running' }),
    lastStartTime: Type.Optional(Timestamp('Start time of the last cleanup')),
  }),
}
