import { Type } from 'typebox'
import { internalId, migrationId } from './migration-model.ts'
import { Count, list, model, Path, strict, Text, Timestamp } from './schemas.ts'

/** Longest page of failures, as the existing product keeps. */
export const maxFailures = 10_000

export const Failures = model('Failures', {
  migrationId,
  internalId,
  failedPathCount: Count('All, not this page alone'),
  failedPaths: list(
    strict({
      id: Count('Grows; the id of the last one of a page is `after` of the next'),
      path: Path('Path in the source; what is not printable is percent-encoded'),
      failureMessage: Text('Why it did not arrive'),
      failureClass: Type.String({ maxLength: 40, description: 'gone, permission, name, unsupported …' }),
      attempts: Count('Tries'),
      action: Type.Enum(['MIGRATION']),
      dateFailed: Timestamp('When it was given up'),
      timeStamp: Count('The same in milliseconds since 1970'),
    }),
    maxFailures,
  ),
})
