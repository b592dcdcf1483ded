import { type Static, Type } from 'typebox'
import { events, resource } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import { countFields, list, model, Nothing, OneOf, page, strict, Uuid } from '../kit/schemas.ts'
import { jobDeadlineMs, jobErrors, jobFields, jobStatuses, reportFile } from '../migrations/model/jobs.ts'
import { csvReport, jsonReport, reportsOf } from '../migrations/model/report-terms.ts'
import { allReports } from '../migrations/model/verification-terms.ts'
import { migrationName } from './migrations.ts'

/** What a comparison is for. */
export const comparisonPurposes = {
  plan: 'what the migration would do now, including how it would handle conflicts',
  verification: 'whether the target matches the source, including columns and partitions',
} as const
export type ComparisonPurpose = keyof typeof comparisonPurposes
export const defaultPurpose: ComparisonPurpose = 'verification'

/** What was found out about an object; everything but SAME is a difference. */
export const comparisonResults = {
  SAME: 'Equal at the target',
  TO_CREATE: 'Missing at the target; the migration would create it',
  TO_CHANGE: 'Different at the target; the migration would change it',
  TO_DROP: 'Dropped at the source; the migration would drop it',
  ONLY_AT_TARGET: 'Only at the target; the migration would not change it',
  CONFLICT: 'Created or changed by another program at the target; the migration would not change it',
  WAITING: 'Waiting for its files',
  REFUSED: 'The target cannot accept it',
} as const
export type ComparisonResult = keyof typeof comparisonResults

export const comparisonCounts = {
  same: 'Objects that are equal at the target',
  toCreate: 'Objects missing at the target',
  toChange: 'Objects that differ at the target',
  toDrop: 'Objects that the migration would drop',
  onlyAtTarget: 'Objects that exist only at the target',
  conflicts: 'Objects created or changed by another program at the target',
  waiting: 'Objects waiting for their files',
  refused: 'Objects that the target cannot accept',
  partitionsSame: 'Partitions that are equal at the target',
  partitionsToAdd: 'Partitions missing at the target',
  partitionsToChange: 'Partitions that differ at the target',
  partitionsToDrop: 'Partitions that exist only at the target',
  totalDifferences: 'Total number of differences: the rows of the difference reports',
} as const
export type ComparisonCount = keyof typeof comparisonCounts

export const comparisonReports = reportsOf({
  DIFFERENCES_JSON: jsonReport('differences'),
  DIFFERENCES_CSV: csvReport('differences'),
})
export type ComparisonReport = keyof typeof comparisonReports
export const comparisonReportNames = Object.keys(comparisonReports) as ComparisonReport[]

const { migrationId: _name, migrationInternalId: _id, ...job } = jobFields('comparison')
const purpose = OneOf(comparisonPurposes)

export const MetadataComparison = model('MetadataComparison', {
  ...job,
  migrationName,
  purpose,
  ...countFields(comparisonCounts),
})
export type MetadataComparison = Static<typeof MetadataComparison>

const comparisonId = Uuid('Id of the comparison')
const byId = strict({ comparisonId })
const audit = { object: 'comparisonId' } as const
const showDifferences = {
  command: 'gantry metadata-comparisons report {id}',
  when: { field: 'totalDifferences', isNot: 0 },
} as const

/** Comparisons of both catalogs as a migration makes them, without writing anything: plans and verifications. */
export const metadataComparisons = resource('metadata-comparisons', {
  create: {
    summary: 'Compare both catalogs of a migration object by object, without changing anything',
    description:
      'A plan of what the migration would do, or a verification of the target. Allowed in any state of the migration.',
    input: strict({
      migrationName,
      purpose: Type.Optional(OneOf(comparisonPurposes, { usual: defaultPurpose })),
    }),
    output: MetadataComparison,
    errors: ['LIMIT_REACHED', 'NOT_FOUND'],
    audit: { object: 'migrationName' },
    http: [{ method: 'POST', path: '/api/v1/metadata/comparisons', status: 201 }],
    cli: {
      args: ['migrationName'],
      example: 'gantry metadata-comparisons create lake --purpose plan',
      next: [
        { command: 'gantry metadata-comparisons get {id}', when: { field: 'status', is: 'QUEUED' } },
        showDifferences,
      ],
      waits: { verb: 'get', by: 'comparisonId', zero: ['totalDifferences'] },
    },
  },
  list: {
    summary: 'List comparisons, newest first',
    input: strict({ ...page, migrationName: Type.Optional(migrationName) }),
    output: list(MetadataComparison),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/metadata/comparisons' }],
    cli: { columns: ['id', 'migrationName', 'purpose', 'status', 'same', 'totalDifferences', 'createdAt'] },
  },
  get: {
    summary: 'Show a comparison and its progress',
    input: byId,
    output: MetadataComparison,
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: '/api/v1/metadata/comparisons/{comparisonId}' }],
    cli: { args: ['comparisonId'], next: [showDifferences] },
  },
  cancel: {
    summary: 'Cancel a queued or running comparison',
    input: byId,
    output: MetadataComparison,
    errors: jobErrors.state,
    audit,
    deadlineMs: jobDeadlineMs,
    http: [{ method: 'POST', path: '/api/v1/metadata/comparisons/{comparisonId}/cancel' }],
    cli: { args: ['comparisonId'] },
  },
  delete: {
    summary: 'Delete a finished comparison and its reports',
    input: byId,
    output: Nothing,
    errors: jobErrors.state,
    audit,
    http: [{ method: 'DELETE', path: '/api/v1/metadata/comparisons/{comparisonId}' }],
    cli: { args: ['comparisonId'] },
  },
  reports: {
    summary: 'List the reports of a finished comparison',
    input: byId,
    output: list(reportFile('MetadataComparisonReport', comparisonReportNames), comparisonReportNames.length),
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: '/api/v1/metadata/comparisons/{comparisonId}/reports' }],
    cli: { args: ['comparisonId'] },
  },
  report: {
    summary: 'Download a report of a comparison',
    description:
      'FULL contains a line of JSON for each object, DIFFERENCES_JSON a line for each object that differs, field by field. DIFFERENCES_CSV is a table of the differences. SUMMARY is the comparison itself. ALL is a tar archive of all reports.',
    input: strict({
      comparisonId,
      reportId: Type.Optional(
        Type.Enum([...comparisonReportNames, allReports.name], {
          description: 'Report to download; default: DIFFERENCES_CSV',
        }),
      ),
      from,
    }),
    output: Part,
    errors: jobErrors.state,
    http: [{ method: 'GET', path: '/api/v1/metadata/comparisons/{comparisonId}/report' }],
    cli: {
      args: ['comparisonId'],
      example:
        'gantry metadata-comparisons report 0b6cfc1a-9d3f-4a51-8d24-5c8e1f3f9f10 --report-id DIFFERENCES_JSON',
    },
    download: {
      types: [...new Set([...Object.values(comparisonReports), allReports].map(({ type }) => type))],
    },
  },
})

export const metadataComparisonEvents = events('metadata-comparisons', {
  finished: {
    summary: 'A comparison of catalogs was completed or cancelled',
    payload: strict({
      comparisonId,
      migrationName,
      purpose,
      status: Type.Enum(jobStatuses),
      totalDifferences: countFields(comparisonCounts).totalDifferences,
    }),
  },
})
