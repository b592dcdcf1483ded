import { Type } from 'typebox'
import { deletionModes } from './cleanup-terms.ts'
import { maxPeriodSeconds } from './recurrence.ts'
import { Count, strict, Timestamp } from '../../kit/schemas.ts'

/** When the source of a migration is cleaned up by itself; the names are the existing product's. */
export const cleanupFields = {
  deletionMode: Type.Optional(
    Type.Enum(deletionModes, {
      description:
        'One-time migrations: whether the source is cleaned up when all is copied, at once or after delayedDeletionPeriod; default NO_DELETION',
    }),
  ),
  delayedDeletionPeriod: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: maxPeriodSeconds,
      description: 'Seconds from the completion to the cleanup, with DELAYED_DELETION',
    }),
  ),
}

/** The same as callers see it. */
export const cleanupView = {
  deletionMode: Type.Enum(deletionModes),
  delayedDeletionPeriodSeconds: Type.Optional(Count('Seconds from the completion to the cleanup')),
  autoSourceCleanupEnabled: Type.Boolean({ description: 'Whether the source is cleaned up by itself' }),
  nextCleanupTime: Type.Optional(Timestamp('When that is to begin')),
  sourceCleanupTracker: strict({
    count: Count('Cleanups of it that are known, those to come included'),
    inProgress: Type.Boolean({ description: 'Whether one is under way' }),
    lastStartTime: Type.Optional(Timestamp('When the last of them began')),
  }),
}
