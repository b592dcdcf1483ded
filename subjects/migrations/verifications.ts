import { type Static, Type } from 'typebox'
import { events, resource } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import { migrationId } from './model/model.ts'
import {
  EpochMillis,
  countFields,
  GivenPath,
  list,
  maxNameLength,
  model,
  Nothing,
  OneOf,
  page,
  Path,
  strict,
  Uuid,
} from '../kit/schemas.ts'
import {
  allReports,
  verificationCounts,
  type VerificationLevel,
  usualLevel,
  verificationLevels,
  verificationReportNames,
  verificationReports,
} from './model/verification-terms.ts'
import { jobDeadlineMs, jobErrors, jobFields, jobStatuses, reportFile } from './model/jobs.ts'

/** Paths of one verification: they are looked at by a person, and wait in the record. */
export const maxVerificationPaths = 100
/** Deeper than any path: each level is a byte of a path at least. */
const maxDepth = 4096

const verificationId = Uuid('Id of the verification')
const levelNames = Object.keys(verificationLevels) as VerificationLevel[]

/** What is to be verified; beside `level`, the existing product's fields. */
const configuration = {
  migrationId,
  level: Type.Optional(OneOf(verificationLevels, { about: 'What is compared', usual: usualLevel })),
  originalPaths: Type.Optional({
    ...list(GivenPath('Path in the source, within the migration'), maxVerificationPaths),
    description: 'Only these paths, with everything below them; default: all',
  }),
  verificationDepth: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxDepth,
      description: 'Number of folder levels below each path; default: all',
    }),
  ),
  ignoreAfterTimestamp: Type.Optional(
    EpochMillis(
      'Time in milliseconds since 1970; files that were changed later at the source or the target are ignored',
      0,
    ),
  ),
}

const counts = countFields(verificationCounts)

export const Verification = model('Verification', {
  ...jobFields('verification'),
  level: Type.Enum(levelNames),
  paths: list(Path('Verified path, including everything below it'), maxVerificationPaths),
  originalPaths: list(Path('The path as requested'), maxVerificationPaths),
  verificationDepth: configuration.verificationDepth,
  ignoreAfterTimestamp: configuration.ignoreAfterTimestamp,
  ...counts,
})
export type Verification = Static<typeof Verification>

const ReportFile = reportFile('VerificationReportFileMetadata', verificationReportNames)

const audit = { object: 'verificationId' } as const
const byId = strict({ verificationId })
/** What is asked about what was found: people know the name of the migration. */
const verificationOrMigration = Type.String({
  minLength: 1,
  maxLength: maxNameLength,
  description: 'Id of the verification, or name of a migration for its latest verification',
})
const looked = strict({ verificationId: verificationOrMigration })
/** Where there are some, people want to see them; those that the migration knows of have a reason there. */
const showDifferences = [
  { command: 'gantry migrations failures {migrationId}', when: { field: 'failedPaths', isNot: 0 } },
  { command: 'gantry verifications report {id}', when: { field: 'totalDiscrepancies', isNot: 0 } },
] as const

export const verifications = resource('verifications', {
  create: {
    summary: 'Verify that the target matches the source',
    description:
      'Compares source and target of a migration in any state, without writing anything. While the migration is copying, files that are not copied yet are reported as missing.',
    input: strict(configuration),
    output: Verification,
    errors: ['NOT_FOUND', 'LIMIT_REACHED'],
    audit: { object: 'migrationId', details: ['level', 'originalPaths'] },
    http: [{ method: 'POST', path: '/api/v1/verifications', status: 201 }],
    cli: {
      args: ['migrationId'],
      example: 'gantry verifications create nightly --level digest',
      next: [
        { command: 'gantry verifications get {id}', when: { field: 'status', is: 'QUEUED' } },
        ...showDifferences,
      ],
      waits: { verb: 'get', by: 'verificationId', zero: ['totalDiscrepancies', 'unreadablePaths'] },
    },
  },
  list: {
    summary: 'List verifications, newest first',
    input: strict({
      ...page,
      migrationId: Type.Optional(migrationId),
      migrationIds: Type.Optional(list(migrationId)),
      states: Type.Optional(list(Type.Enum(jobStatuses), jobStatuses.length)),
    }),
    output: list(Verification),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/verifications' }],
    cli: {
      columns: [
        'id',
        'migrationId',
        'status',
        'level',
        'filesOnSource',
        'filesOnTarget',
        'totalDiscrepancies',
        'createdAt',
      ],
    },
  },
  get: {
    summary: 'Show a verification and its progress',
    input: looked,
    output: Verification,
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: '/api/v1/verifications/{verificationId}' }],
    cli: { args: ['verificationId'], next: showDifferences },
  },
  cancel: {
    summary: 'Cancel a queued or running verification',
    input: byId,
    output: Verification,
    errors: jobErrors.state,
    audit,
    deadlineMs: jobDeadlineMs,
    http: [{ method: 'POST', path: '/api/v1/verifications/{verificationId}/cancel' }],
    cli: { args: ['verificationId'] },
  },
  delete: {
    summary: 'Delete a finished verification and its reports',
    input: byId,
    output: Nothing,
    errors: jobErrors.state,
    audit,
    http: [{ method: 'DELETE', path: '/api/v1/verifications/{verificationId}' }],
    cli: { args: ['verificationId'] },
  },
  reports: {
    summary: 'List the reports of a finished verification',
    input: looked,
    output: list(ReportFile, verificationReportNames.length),
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: '/api/v1/verifications/{verificationId}/reports' }],
    cli: { args: ['verificationId'] },
  },
  report: {
    summary: 'Download a report of a verification',
    description:
      'FULL contains a line of JSON for each path, DISCREPANCIES_JSON a line for each discrepancy. DISCREPANCIES_CSV is a table of the discrepancies. SUMMARY is the verification itself. ALL is a tar archive of all reports.',
    input: strict({
      verificationId: verificationOrMigration,
      reportId: Type.Optional(
        Type.Enum([...verificationReportNames, allReports.name], {
          description: 'Report to download; default: DISCREPANCIES_CSV',
        }),
      ),
      from,
    }),
    output: Part,
    errors: jobErrors.state,
    http: [{ method: 'GET', path: '/api/v1/verifications/{verificationId}/report' }],
    cli: {
      args: ['verificationId'],
      example: 'gantry verifications report nightly --report-id FULL',
    },
    download: {
      by: 'verificationId',
      types: [...new Set([...Object.values(verificationReports), allReports].map(({ type }) => type))],
    },
  },
})

export const verificationEvents = events('verifications', {
  finished: {
    summary: 'A verification was completed or cancelled',
    payload: strict({
      verificationId,
      migrationId,
      status: Type.Enum(jobStatuses),
      totalDiscrepancies: counts.totalDiscrepancies,
    }),
  },
})
