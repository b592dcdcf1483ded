import { type Static, Type } from 'typebox'
import { cleanupCounts, cleanupReportNames, cleanupReports } from './model/cleanup-terms.ts'
import { events, resource } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import { internalId, migrationId } from './model/model.ts'
import {
  Count,
  countFields,
  list,
  model,
  Nothing,
  page,
  strict,
  Text,
  Timestamp,
  Uuid,
} from '../kit/schemas.ts'
import { jobDeadlineMs, jobErrors, jobFields, jobStatuses, reportFile } from './model/jobs.ts'

const cleanupId = Uuid('Id of the cleanup')

const configuration = {
  dryRun: Type.Optional(
    Type.Boolean({ description: 'Tell what would be removed, and remove nothing; default false' }),
  ),
  onlyIfAll: Type.Optional(
    Type.Boolean({
      description:
        'Compare everything first, and remove nothing unless all but what is excluded could be removed; default false',
    }),
  ),
}

const counts = countFields(cleanupCounts)

export const Cleanup = model('SourceCleanup', {
  ...jobFields('cleanup'),
  dryRun: Type.Boolean(),
  onlyIfAll: Type.Boolean(),
  after: Type.Optional(Timestamp('When the migration was completed, for which it began by itself')),
  ...counts,
})
export type Cleanup = Static<typeof Cleanup>

/** Reports of a migration's cleanups, as the existing product names them. */
const MigrationReportFile = model('SourceCleanupReportFileMetadata', {
  descriptor: strict({
    name: Text('`reportName` of the download'),
    type: Type.Enum(['PARTIAL', 'FULL'], { description: 'Whether all paths are in it' }),
    mimeType: Text('Media type'),
  }),
  size: Count('Bytes'),
  migrationId: internalId,
  migrationName: migrationId,
  migrationExists: Type.Boolean({ description: 'Whether it is still there' }),
  checksum: Count('CRC-32'),
})

const audit = { object: 'cleanupId' } as const
const byId = strict({ cleanupId })
const reportTypes = [...new Set(Object.values(cleanupReports).map(({ type }) => type))]
const path = '/api/v1/cleanups'

export const cleanups = resource('cleanups', {
  create: {
    summary: 'Remove at the source what a completed migration has brought to the target',
    description:
      'Each file is compared with the target byte by byte right before it is removed; what differs, is missing there, is excluded or changes meanwhile stays and is in the reports. Folders that are empty then go too, the folder of the migration does not. Only for one-time migrations, and not while another migration reads the same source.',
    input: strict({ migrationId, ...configuration }),
    output: Cleanup,
    errors: [...jobErrors.state, 'LIMIT_REACHED'],
    audit: { object: 'migrationId' },
    http: [{ method: 'POST', path, status: 201 }],
    cli: { args: ['migrationId'], example: 'gantry cleanups create first --dry-run' },
    deadlineMs: jobDeadlineMs,
  },
  list: {
    summary: 'All cleanups, the newest first',
    input: strict({ ...page, migrationId: Type.Optional(migrationId) }),
    output: list(Cleanup),
    errors: [],
    http: [{ method: 'GET', path }],
    cli: {
      columns: [
        'id',
        'migrationId',
        'status',
        'dryRun',
        'filesRemoved',
        'bytesRemoved',
        'filesKept',
        'createdAt',
      ],
    },
  },
  get: {
    summary: 'One cleanup, with its figures so far',
    input: byId,
    output: Cleanup,
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: `${path}/{cleanupId}` }],
    cli: { args: ['cleanupId'] },
  },
  cancel: {
    summary: 'End a cleanup that waits or is under way; what it has removed stays removed',
    input: byId,
    output: Cleanup,
    errors: jobErrors.state,
    audit,
    deadlineMs: jobDeadlineMs,
    http: [{ method: 'POST', path: `${path}/{cleanupId}/cancel` }],
    cli: { args: ['cleanupId'] },
  },
  delete: {
    summary: 'Forget a cleanup that has ended, and its reports',
    input: byId,
    output: Nothing,
    errors: jobErrors.state,
    audit,
    http: [{ method: 'DELETE', path: `${path}/{cleanupId}` }],
    cli: { args: ['cleanupId'] },
  },
  reports: {
    summary: 'The reports of a cleanup that has ended',
    input: byId,
    output: list(reportFile('CleanupReportFileMetadata', cleanupReportNames), cleanupReportNames.length),
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: `${path}/{cleanupId}/reports` }],
    cli: { args: ['cleanupId'] },
  },
  'reports-of': {
    summary: 'The reports of all cleanups of a migration, the newest first',
    input: strict({ migrationId }),
    output: list(MigrationReportFile),
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/cleanup-reports' }],
    cli: { args: ['migrationId'] },
  },
  'report-of': {
    summary: 'A report of a cleanup of a migration, by the name that the list of them has',
    input: strict({ migrationId, reportName: Text('Name of the report'), from }),
    output: Part,
    errors: jobErrors.state,
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/cleanup-report' }],
    cli: { args: ['migrationId', 'reportName'] },
    download: { types: reportTypes },
  },
  report: {
    summary: 'A report of a cleanup',
    description:
      'FULL has a line of JSON for each path of the source, REMOVED_CSV and KEPT_CSV have those that are gone and those that are not as tables, SUMMARY is the cleanup itself.',
    input: strict({
      cleanupId,
      reportId: Type.Optional(
        Type.Enum(cleanupReportNames, { description: 'Which report; default KEPT_CSV' }),
      ),
      from,
    }),
    output: Part,
    errors: jobErrors.state,
    http: [{ method: 'GET', path: `${path}/{cleanupId}/report` }],
    cli: {
      args: ['cleanupId'],
      example: 'gantry cleanups report 0b6cfc1a-9d3f-4a51-8d24-5c8e1f3f9f10 --report-id FULL',
    },
    download: { types: reportTypes },
  },
})

export const cleanupEvents = events('cleanups', {
  finished: {
    summary: 'A cleanup is complete, or was cancelled',
    payload: strict({
      cleanupId,
      migrationId,
      status: Type.Enum(jobStatuses),
      filesRemoved: counts.filesRemoved,
      filesKept: counts.filesKept,
    }),
  },
})
