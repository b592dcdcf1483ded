import { type Static, Type } from 'typebox'
import { events, resource } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import { migrationId } from './model/model.ts'
import {
  Count,
  countFields,
  GivenPath,
  list,
  model,
  Nothing,
  page,
  Path,
  strict,
  Uuid,
} from '../kit/schemas.ts'
import {
  allReports,
  verificationCounts,
  type VerificationLevel,
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
const levelHelp = Object.entries(verificationLevels)
  .map(([level, meaning]) => `${level} (${meaning})`)
  .join('; ')

/** What is to be verified; beside `level`, the existing product's fields. */
const configuration = {
  migrationId,
  originalPaths: Type.Optional(
    list(GivenPath('Path of the source, within the migration'), maxVerificationPaths),
  ),
  verificationDepth: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxDepth,
      description: 'Levels of folders below each path; default: all',
    }),
  ),
  ignoreAfterTimestamp: Type.Optional(
    Count('Milliseconds since 1970; files that were changed later on either side are left out'),
  ),
  level: Type.Optional(
    Type.Enum(levelNames, { description: `What is compared; default size: ${levelHelp}` }),
  ),
}

const counts = countFields(verificationCounts)

export const Verification = model('Verification', {
  ...jobFields('verification'),
  level: Type.Enum(levelNames),
  paths: list(Path('What is verified, all that is below it included'), maxVerificationPaths),
  originalPaths: list(Path('The same as it was asked for'), maxVerificationPaths),
  verificationDepth: configuration.verificationDepth,
  ignoreAfterTimestamp: configuration.ignoreAfterTimestamp,
  ...counts,
})
export type Verification = Static<typeof Verification>

const ReportFile = reportFile('VerificationReportFileMetadata', verificationReportNames)

const audit = { object: 'verificationId' } as const
const byId = strict({ verificationId })
export const verifications = resource('verifications', {
  create: {
    summary: 'Verify that the target has what the source has',
    description:
      'Compares both sides of a migration, whatever its state, and writes nothing. While it copies, what has not arrived is missing.',
    input: strict(configuration),
    output: Verification,
    errors: ['NOT_FOUND', 'LIMIT_REACHED'],
    audit: { object: 'migrationId' },
    http: [{ method: 'POST', path: '/api/v1/verifications', status: 201 }],
    cli: { args: ['migrationId'], example: 'gantry verifications create nightly --level digest' },
  },
  list: {
    summary: 'All verifications, the newest first',
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
    summary: 'One verification, with its figures so far',
    input: byId,
    output: Verification,
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: '/api/v1/verifications/{verificationId}' }],
    cli: { args: ['verificationId'] },
  },
  cancel: {
    summary: 'End a verification that waits or is under way',
    input: byId,
    output: Verification,
    errors: jobErrors.state,
    audit,
    deadlineMs: jobDeadlineMs,
    http: [{ method: 'POST', path: '/api/v1/verifications/{verificationId}/cancel' }],
    cli: { args: ['verificationId'] },
  },
  delete: {
    summary: 'Forget a verification that has ended, and its reports',
    input: byId,
    output: Nothing,
    errors: jobErrors.state,
    audit,
    http: [{ method: 'DELETE', path: '/api/v1/verifications/{verificationId}' }],
    cli: { args: ['verificationId'] },
  },
  reports: {
    summary: 'The reports of a verification that has ended',
    input: byId,
    output: list(ReportFile, verificationReportNames.length),
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: '/api/v1/verifications/{verificationId}/reports' }],
    cli: { args: ['verificationId'] },
  },
  report: {
    summary: 'A report of a verification',
    description:
      'FULL has a line of JSON for each path, DISCREPANCIES_JSON for each that is not as it should be, DISCREPANCIES_CSV has those as a table, SUMMARY is the verification itself; ALL is all of them in a tar archive.',
    input: strict({
      verificationId,
      reportId: Type.Optional(
        Type.Enum([...verificationReportNames, allReports.name], {
          description: 'Which report; default DISCREPANCIES_CSV',
        }),
      ),
      from,
    }),
    output: Part,
    errors: jobErrors.state,
    http: [{ method: 'GET', path: '/api/v1/verifications/{verificationId}/report' }],
    cli: {
      args: ['verificationId'],
      example: 'gantry verifications report 0b6cfc1a-9d3f-4a51-8d24-5c8e1f3f9f10 --report-id FULL',
    },
    download: {
      types: [...new Set([...Object.values(verificationReports), allReports].map(({ type }) => type))],
    },
  },
})

export const verificationEvents = events('verifications', {
  finished: {
    summary: 'A verification is complete, or was cancelled',
    payload: strict({
      verificationId,
      migrationId,
      status: Type.Enum(jobStatuses),
      totalDiscrepancies: counts.totalDiscrepancies,
    }),
  },
})
