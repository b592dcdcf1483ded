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
      `Files and folders that are deleted without approval; of a live migration, within an hour. Default ${targetMatchDefaults.maxDeletions} with targetMatch, else no limit`,
    ),
  ),
  maxDeletionPercent: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      description: `The same as a share of what the target has; default ${targetMatchDefaults.maxDeletionPercent} with targetMatch, else no limit`,
    }),
  ),
  trash: Type.Optional(
    Type.Boolean({
      description: 'Keep what is deleted, in a folder .gantry-trash at the root of the target; default false',
    }),
  ),
}

/** Fields of `create`. */
export const targetMatchFields = {
  targetMatch: Type.Optional(
    Type.Boolean({
      description:
        'Delete what is at the target only when a scan is over, but nothing that is excluded; default false',
    }),
  ),
  ...deletionFields,
}

/** The settings of a migration that matches its target, or of a live one, as they are stored. */
export const DeletionSettings = strict(deletionFields)

/** The settings as callers see them. */
export const deletionView = {
  targetMatch: Type.Boolean({ description: 'Deletes what is at the target only' }),
  ...deletionFields,
  entriesAtTarget: Type.Optional(
    Count(
      'Files and folders that the target of a live migration with maxDeletionPercent had when they were counted last; until then no share holds',
    ),
  ),
}

/** Paths of held deletions that are shown: a person looks at some, `plan` has more. */
export const maxDeletionSamples = 20

/** Deletions of a migration: those that wait for approval (of a live one, those that were met so far), or those that were made. */
export const Deletions = model('Deletions', {
  isHeld: Type.Boolean({ description: 'Whether they wait for approve-deletions' }),
  files: Count('Files'),
  folders: Count('Folders'),
  bytes: Count('Bytes of the files'),
  percent: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 100,
      description: 'Share of what the target has; of a live migration only where that was counted',
    }),
  ),
  entriesAtTarget: Type.Optional(Count('What the target has, files and folders, where that was counted')),
  removedWithinHour: Type.Optional(
    Count('Live migrations: files and folders removed within the hour before'),
  ),
  samples: Type.Optional(
    list(
      Path(
        'One of those that wait, as a path of the source: of live migrations those with the most in them first, without what is in them',
      ),
      maxDeletionSamples,
    ),
  ),
  time: Timestamp('When they were counted'),
})
