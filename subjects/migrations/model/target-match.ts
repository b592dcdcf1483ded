import { Type } from 'typebox'
import { Count, list, model, Path, strict, Timestamp } from '../../kit/schemas.ts'

/**
 * What is deleted without anybody's approval, unless the migration says otherwise: a number that a person can look through,
 * and a share that a wrong path or a volume that is not mounted exceeds.
 */
export const targetMatchDefaults = { maxDeletions: 1_000, maxDeletionPercent: 20 } as const

/** What is deleted at the target, and how. */
export const deletionFields = {
  maxDeletions: Type.Optional(
    Count(
      `Files and folders that may be deleted without approval (live migrations: within one hour). Default ${targetMatchDefaults.maxDeletions} with targetMatch, else no limit`,
    ),
  ),
  maxDeletionPercent: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      description: `The same limit as a percentage of the target's files and folders; default ${targetMatchDefaults.maxDeletionPercent} with targetMatch, else no limit`,
    }),
  ),
  trash: Type.Optional(
    Type.Boolean({
      description: 'Move deleted files to the folder .gantry-trash at the root of the target; default false',
    }),
  ),
}

/** Fields of `create`. */
export const targetMatchFields = {
  targetMatch: Type.Optional(
    Type.Boolean({
      description:
        'After each scan, delete files that exist only at the target, except excluded ones; default false',
    }),
  ),
  ...deletionFields,
}

/** The settings of a migration that matches its target, or of a live one, as they are stored. */
export const DeletionSettings = strict(deletionFields)

/** The settings as callers see them. */
export const deletionView = {
  targetMatch: Type.Boolean({ description: 'Whether files that exist only at the target are deleted' }),
  ...deletionFields,
  entriesAtTarget: Type.Optional(
    Count(
      'Live migrations with maxDeletionPercent: files and folders at the target when they were last counted; until the first count, the percentage is not applied',
    ),
  ),
}

/** Paths of held deletions that are shown: a person looks at some, `plan` has more. */
export const maxDeletionSamples = 20

/** Deletions of a migration: those that wait for approval (of a live one, those that were met so far), or those that were made. */
export const Deletions = model('Deletions', {
  isHeld: Type.Boolean({ description: 'Whether the deletions wait for approve-deletions' }),
  files: Count('Files'),
  folders: Count('Folders'),
  bytes: Count('Bytes of the files'),
  percent: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 100,
      description:
        'Percentage of the files and folders at the target; for live migrations, only if these were counted',
    }),
  ),
  entriesAtTarget: Type.Optional(Count('Files and folders at the target, if they were counted')),
  removedWithinHour: Type.Optional(Count('Live migrations: files and folders removed within the last hour')),
  samples: Type.Optional(
    list(
      Path(
        'Path of a held deletion, as a path in the source. Live migrations: folders with the most contents first, without their contents',
      ),
      maxDeletionSamples,
    ),
  ),
  time: Timestamp('Time of the count'),
})
