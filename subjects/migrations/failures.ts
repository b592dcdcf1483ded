import { Type } from 'typebox'
import { definitions } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import { failureClassNames } from './model/failure-classes.ts'
import { command } from './commands.ts'
import { internalId, migrationId } from './model/model.ts'
import { Count, list, model, Path, strict, Text, Timestamp } from '../kit/schemas.ts'
import { exportFormat, exportFormats } from '../kit/table.ts'

/** Longest page of failures, as the existing product keeps. */
export const maxFailures = 10_000

export const FailedPath = model('FailedPath', {
  id: Count('Increasing id; pass the id of the last entry of a page as `after` to get the next page'),
  path: Path('Path in the source; unprintable characters are percent-encoded'),
  failureMessage: Text('Reason of the failure, prefixed with the side: "source: …" or "target: …"'),
  failureClass: Type.Enum(failureClassNames, { description: 'Class of the failure' }),
  attempts: Count('Attempts in the last scan of the path'),
  action: Type.Enum(['MIGRATION', 'UNLINK'], {
    description: 'Whether a copy (MIGRATION) or a removal at the target (UNLINK) failed',
  }),
  dateFailed: Timestamp('Time of the failure'),
  timeStamp: Count('The same time in milliseconds since 1970'),
  excluded: Type.Optional(
    Type.Boolean({
      description:
        'true if a rule of the migration excludes the path now, by its path: the next scan removes it from the list. Not determined for events, and for the end of long pages with complex patterns',
    }),
  ),
})

const Failures = model('Failures', {
  migrationId,
  internalId,
  failedPathCount: Count(
    'Total number of failed paths, not only on this page; includes those excluded since they failed',
  ),
  failedPaths: list(FailedPath, maxFailures),
})

/** Verbs of `migrations`. */
export const failureContracts = definitions({
  failures: {
    summary: 'List the paths that could not be copied, with the reasons',
    description:
      'A path that failed in several scans is listed once after the last scan, with its last failure. It is removed from the list when it is copied, by "retry-failures" or because its folder is scanned again.',
    input: strict({
      migrationId,
      since: Type.Optional(Timestamp('Only failures after this time')),
      after: Type.Optional(Count('Only failures with a higher id')),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: maxFailures,
          description: 'Maximum number of entries per page; default: 1000',
        }),
      ),
    }),
    output: Failures,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/failures' }],
    cli: { args: ['migrationId'], columns: ['id', 'path', 'failureClass', 'excluded', 'failureMessage'] },
  },
  'retry-failures': {
    summary: 'Retry all failed paths, or those of one class',
    description:
      'The paths are queued; a completed migration runs again. Each path is removed from the list when it is copied. Paths that a rule excludes by now are not retried.',
    input: strict({
      migrationId,
      failureClass: Type.Optional(
        Type.Enum(failureClassNames, { description: 'Only failures of this class' }),
      ),
    }),
    output: strict({ retried: Count('Number of paths to retry') }),
    ...command,
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/failures/retry' }],
    cli: {
      args: ['migrationId'],
      example: 'gantry migrations retry-failures nightly --failure-class permission',
    },
  },
  'export-failures': {
    summary: 'Export all failed paths as CSV or JSON lines',
    input: strict({
      migrationId,
      format: exportFormat,
      from,
    }),
    output: Part,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/failures/export' }],
    cli: { args: ['migrationId'], example: 'gantry migrations export-failures nightly --format jsonl' },
    download: { types: Object.values(exportFormats) },
  },
})
