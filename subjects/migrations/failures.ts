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
  id: Count('Grows; the id of the last one of a page is `after` of the next'),
  path: Path('Path in the source; what is not printable is percent-encoded'),
  failureMessage: Text('Why it did not arrive, with the side at its start: "source: …" or "target: …"'),
  failureClass: Type.Enum(failureClassNames, { description: 'Kind of the reason' }),
  attempts: Count('Tries in the last scan of it'),
  action: Type.Enum(['MIGRATION', 'UNLINK'], {
    description: 'Whether a copy failed, or a removal at the target',
  }),
  dateFailed: Timestamp('When it was given up'),
  timeStamp: Count('The same in milliseconds since 1970'),
})

const Failures = model('Failures', {
  migrationId,
  internalId,
  failedPathCount: Count('All, not this page alone'),
  failedPaths: list(FailedPath, maxFailures),
})

/** Verbs of `migrations`. */
export const failureContracts = definitions({
  failures: {
    summary: 'The paths that did not arrive, each with its reason',
    description:
      'A path that failed in several scans is listed once when the last one is over, with its last failure. It leaves the list when it arrives, by "retry-failures" or because its folder is scanned again.',
    input: strict({
      migrationId,
      since: Type.Optional(Timestamp('Only those given up after this moment')),
      after: Type.Optional(Count('Only those with a higher id')),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: maxFailures, description: 'Longest page; default 1000' }),
      ),
    }),
    output: Failures,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/failures' }],
    cli: { args: ['migrationId'], columns: ['id', 'path', 'failureClass', 'failureMessage'] },
  },
  'retry-failures': {
    summary: 'Try what did not arrive again, all of it or that of one class',
    description:
      'It becomes work of the migration, which runs again if it was completed. Each path leaves the list when it has arrived.',
    input: strict({
      migrationId,
      failureClass: Type.Optional(
        Type.Enum(failureClassNames, { description: 'Only what failed for this kind of reason' }),
      ),
    }),
    output: strict({ retried: Count('Paths that are tried again') }),
    ...command,
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/failures/retry' }],
    cli: {
      args: ['migrationId'],
      example: 'gantry migrations retry-failures nightly --failure-class permission',
    },
  },
  'export-failures': {
    summary: 'All paths that did not arrive, as a table or as a line of JSON for each',
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
