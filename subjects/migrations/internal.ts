import type { Static } from 'typebox'
import { internalResource } from '../kit/contract.ts'
import { list, Name, Nothing, Path, strict } from '../kit/schemas.ts'
import { Verification } from './verifications.ts'

/** Between nodes of the platform. */
export const migrationsInternal = internalResource('migrations', {
  uses: {
    summary: 'The migrations that need a filesystem',
    input: strict({ fileSystemId: Name('Name of the filesystem') }),
    output: list(Name('Name of the migration')),
    errors: [],
    http: [],
  },
  'working-at': {
    summary: 'The migrations that work, or will by themselves, at a path of a filesystem, above or below it',
    input: strict({ fileSystemId: Name('Name of the filesystem'), path: Path('In the filesystem') }),
    output: list(Name('Name of the migration')),
    errors: ['NOT_FOUND'],
    http: [],
  },
  'forget-target': {
    summary: 'Forget what was set for a filesystem that is about to be deleted: its limit of bandwidth',
    input: strict({ fileSystemId: Name('Name of the filesystem') }),
    output: Nothing,
    errors: [],
    http: [],
  },
})

const { id, migrationId, migrationInternalId, level, totalDiscrepancies, unreadablePaths } =
  Verification.properties
const Unresolved = strict({
  id,
  migrationId,
  internalId: migrationInternalId,
  level,
  totalDiscrepancies,
  unreadablePaths,
})
export type Unresolved = Static<typeof Unresolved>

export const verificationsInternal = internalResource('verifications', {
  unresolved: {
    summary:
      'Of each migration the newest verification with differences or unreadable paths that no later one has found to be gone',
    input: strict({}),
    output: list(Unresolved),
    errors: [],
    http: [],
  },
})
