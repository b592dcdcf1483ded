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
    Type.Boolean({ description: 'Report what would be removed, without removing anything; default: false' }),
  ),
  onlyIfAll: Type.Optional(
    Type.Boolean({
      description:
        'Compare everything first, and remove nothing unless all paths that are not excluded can be removed; default: false',
    }),
  ),
}

const counts = countFields(cleanupCounts)

export const Cleanup = model('SourceCleanup', {
  ...jobFields('cleanup'),
  dryRun: Type.Boolean(),
  onlyIfAll: Type.Boolean(),
  after: Type.Optional(Timestamp('Completion time of the migration that started this cleanup')),
  ...counts,
})
export type Cleanup = Static<typeof Cleanup>

/** Reports of a migration's cleanups, as the existing product names them. */
const MigrationReportFile = model('SourceCleanupReportFileMetadata', {
  descriptor: strict({
    name: Text('`reportName` of the download'),
    type: Type.Enum(['PARTIAL', 'FULL'], { description: 'Whether the report contains all paths (FULL)' }),
    mimeType: Text('Media type'),
  }),
  size: Count('Bytes'),
  migrationId: internalId,
  migrationName: migrationId,
  migrationExists: Type.Boolean({ description: 'Whether the migration still exists' }),
  checksum: Count('CRC-32'),
})

const audit = { object: 'cleanupId' } as const
const byId = strict({ cleanupId })
const reportTypes = [...new Set(Object.values(cleanupReports).map(({ type }) => type))]
const path = '/api/v1/cleanups'

export const cleanups = resource('cleanups', {
  create: {
    summary: 'Remove files from the source that a completed migration has copied',
    description:
      'Each file is compared with the target byte by byte immediately before it is removed. Files that differ, are missing at the target, are excluded or change meanwhile stay and are listed in the reports. Empty folders are removed, except the migration root. Only content is compared: a file whose mode, owner or attributes differ at the target is removed all the same, and these are lost, so run `verifications create … --level metadata` first. Only for one-time migrations, and not while another migration reads the same source.',
    input: strict({ migrationId, ...configuration }),
    output: Cleanup,
    errors: [...jobErrors.state, 'LIMIT_REACHED'],
    audit: { object: 'migrationId', details: ['dryRun'] },
    http: [{ method: 'POST', path, status: 201 }],
    cli: {
      args: ['migrationId'],
      example: 'gantry cleanups create first --dry-run',
      next: [{ command: 'gantry cleanups get {id}', when: { field: 'status', is: 'QUEUED' } }],
      waits: { verb: 'get', by: 'cleanupId', zero: ['filesKept', 'unreadablePaths'] },
    },
    deadlineMs: jobDeadlineMs,
  },
  list: {
    summary: 'List cleanups, newest first',
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
    summary: 'Show a cleanup and its progress',
    input: byId,
    output: Cleanup,
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: `${path}/{cleanupId}` }],
    cli: { args: ['cleanupId'] },
  },
  cancel: {
    summary: 'Cancel a queued or running cleanup (removed files are not restored)',
    input: byId,
    output: Cleanup,
    errors: jobErrors.state,
    audit,
    deadlineMs: jobDeadlineMs,
    http: [{ method: 'POST', path: `${path}/{cleanupId}/cancel` }],
    cli: { args: ['cleanupId'] },
  },
  delete: {
    summary: 'Delete a finished cleanup and its reports',
    input: byId,
    output: Nothing,
    errors: jobErrors.state,
    audit,
    http: [{ method: 'DELETE', path: `${path}/{cleanupId}` }],
    cli: { args: ['cleanupId'] },
  },
  reports: {
    summary: 'List the reports of a finished cleanup',
    input: byId,
    output: list(reportFile('CleanupReportFileMetadata', cleanupReportNames), cleanupReportNames.length),
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: `${path}/{cleanupId}/reports` }],
    cli: { args: ['cleanupId'] },
  },
  'reports-of': {
    summary: 'List the reports of all cleanups of a migration, newest first',
    input: strict({ migrationId }),
    output: list(MigrationReportFile),
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/cleanup-reports' }],
    cli: { args: ['migrationId'] },
  },
  'report-of': {
    summary: 'Download a cleanup report of a migration, by its name in the list',
    input: strict({ migrationId, reportName: Text('Name of the report'), from }),
    output: Part,
    errors: jobErrors.state,
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/cleanup-report' }],
    cli: { args: ['migrationId', 'reportName'] },
    download: { types: reportTypes },
  },
  report: {
    summary: 'Download a report of a cleanup',
    description:
      'FULL contains a line of JSON for each path in the source. REMOVED_CSV and KEPT_CSV are tables of the removed and the kept paths. SUMMARY is the cleanup itself.',
    input: strict({
      cleanupId,
      reportId: Type.Optional(
        Type.Enum(cleanupReportNames, { description: 'Report to download; default: KEPT_CSV' }),
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
    summary: 'A cleanup was completed or cancelled',
    payload: strict({
      cleanupId,
      migrationId,
      status: Type.Enum(jobStatuses),
      filesRemoved: counts.filesRemoved,
      filesKept: counts.filesKept,
    }),
  },
})
