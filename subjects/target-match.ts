import { Type } from 'typebox'
import { Count, model, strict, Timestamp } from './schemas.ts'

/**
 * What is deleted without anybody's approval, unless the migration says otherwise: a number that a person can look through,
 * and a share that a wrong path or a volume that is not mounted exceeds.
 */
export const targetMatchDefaults = { maxDeletions: 1_000, maxDeletionPercent: 20 } as const

const settings = {
  maxDeletions: Type.Optional(
    Count(`Files and folders that are deleted without approval; default ${targetMatchDefaults.maxDeletions}`),
  ),
  maxDeletionPercent: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      description: `The same as a share of what the target has; default ${targetMatchDefaults.maxDeletionPercent}`,
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
  ...settings,
}

/** The settings of a migration that matches its target, as they are stored. */
export const TargetMatch = strict(settings)

/** Deletions of a migration: those that wait for approval, or those that were made. */
export const Deletions = model('Deletions', {
  isHeld: Type.Boolean({ description: 'Whether they wait for approve-deletions' }),
  files: Count('Files'),
  folders: Count('Folders'),
  bytes: Count('Bytes of the files'),
  percent: Type.Number({ minimum: 0, maximum: 100, description: 'Share of what the target has' }),
  time: Timestamp('When they were counted'),
})
