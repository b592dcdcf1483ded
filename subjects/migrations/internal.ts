import { internalResource } from '../kit/contract.ts'
import { list, Name, Nothing, strict } from '../kit/schemas.ts'

/** Between nodes of the platform. */
export const migrationsInternal = internalResource('migrations', {
  uses: {
    summary: 'The migrations that need a filesystem',
    input: strict({ fileSystemId: Name('Name of the filesystem') }),
    output: list(Name('Name of the migration')),
    errors: [],
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
