import { type Static, Type } from 'typebox'
import { events, resource } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import { countFields, list, model, Nothing, page, strict, Uuid } from '../kit/schemas.ts'
import { jobDeadlineMs, jobErrors, jobFields, jobStatuses, reportFile } from '../migrations/model/jobs.ts'
import { csvReport, jsonReport, reportsOf } from '../migrations/model/report-terms.ts'
import { allReports } from '../migrations/model/verification-terms.ts'
import { migrationName } from './migrations.ts'

/** What a comparison is for. */
export const comparisonPurposes = {
  plan: 'what the migration would do as things are, with what it knows and how it deals with conflicts',
  verification: 'whether the target has all that the source has, down to columns and partitions',
} as const
export type ComparisonPurpose = keyof typeof comparisonPurposes
const purposes = Object.keys(comparisonPurposes) as ComparisonPurpose[]

/** What was found out about an object; everything but SAME is a difference. */
export const comparisonResults = {
  SAME: 'The target has it as it should be',
  TO_CREATE: 'The target has none; the migration would make it',
  TO_CHANGE: 'The target has another; the migration would change it',
  TO_DROP: 'It is gone at the source; the migration would drop it',
  ONLY_AT_TARGET: 'It is at the target only, and the migration leaves it alone',
  CONFLICT: 'Somebody else has made or changed it at the target; the migration would leave it alone',
  WAITING: 'It waits for its files',
  REFUSED: 'It cannot arrive as things are',
} as const
export type ComparisonResult = keyof typeof comparisonResults

export const comparisonCounts = {
  same: 'Objects that the target has as they should be',
  toCreate: 'Objects that are not at the target',
  toChange: 'Objects that are not the same at the target',
  toDrop: 'Objects that the migration would drop',
  onlyAtTarget: 'Objects that are at the target only',
  conflicts: 'Objects that somebody else has made or changed',
  waiting: 'Objects that wait for their files',
  refused: 'Objects that cannot arrive as things are',
  partitionsSame: 'Partitions that the target has as they should be',
  partitionsToAdd: 'Partitions that are not at the target',
  partitionsToChange: 'Partitions that are not the same at the target',
  partitionsToDrop: 'Partitions that are at the target only',
  totalDifferences: 'Objects that are not as they should be: the rows of the reports of differences',
} as const
export type ComparisonCount = keyof typeof comparisonCounts

export const comparisonReports = reportsOf({
  DIFFERENCES_JSON: jsonReport('differences'),
  DIFFERENCES_CSV: csvReport('differences'),
})
export type ComparisonReport = keyof typeof comparisonReports
export const comparisonReportNames = Object.keys(comparisonReports) as ComparisonReport[]

const { migrationId: _name, migrationInternalId: _id, ...job } = jobFields('comparison')
const purpose = Type.Enum(purposes, {
  description: Object.entries(comparisonPurposes)
    .map(([name, meaning]) => `${name}: ${meaning}`)
    .join('; '),
})

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

/** Comparisons of both catalogs as a migration makes them, without writing anything: plans and verifications. */
export const metadataComparisons = resource('metadata-comparisons', {
  create: {
    summary: 'Compare both catalogs of a migration object by object, and write nothing',
    description:
      'A plan before it is started, or a verification of what has arrived; whatever the state of the migration.',
    input: strict({ migrationName, purpose: Type.Optional(purpose) }),
    output: MetadataComparison,
    errors: ['LIMIT_REACHED', 'NOT_FOUND'],
    audit: { object: 'migrationName' },
    http: [{ method: 'POST', path: '/api/v1/metadata/comparisons', status: 201 }],
    cli: { args: ['migrationName'], example: 'gantry metadata-comparisons create lake --purpose plan' },
  },
  list: {
    summary: 'All comparisons, the newest first',
    input: strict({ ...page, migrationName: Type.Optional(migrationName) }),
    output: list(MetadataComparison),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/metadata/comparisons' }],
    cli: { columns: ['id', 'migrationName', 'purpose', 'status', 'same', 'totalDifferences', 'createdAt'] },
  },
  get: {
    summary: 'One comparison, with its figures so far',
    input: byId,
    output: MetadataComparison,
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: '/api/v1/metadata/comparisons/{comparisonId}' }],
    cli: { args: ['comparisonId'] },
  },
  cancel: {
    summary: 'End a comparison that waits or is under way',
    input: byId,
    output: MetadataComparison,
    errors: jobErrors.state,
    audit,
    deadlineMs: jobDeadlineMs,
    http: [{ method: 'POST', path: '/api/v1/metadata/comparisons/{comparisonId}/cancel' }],
    cli: { args: ['comparisonId'] },
  },
  delete: {
    summary: 'Forget a comparison that has ended, and its reports',
    input: byId,
    output: Nothing,
    errors: jobErrors.state,
    audit,
    http: [{ method: 'DELETE', path: '/api/v1/metadata/comparisons/{comparisonId}' }],
    cli: { args: ['comparisonId'] },
  },
  reports: {
    summary: 'The reports of a comparison that has ended',
    input: byId,
    output: list(reportFile('MetadataComparisonReport', comparisonReportNames), comparisonReportNames.length),
    errors: jobErrors.byId,
    http: [{ method: 'GET', path: '/api/v1/metadata/comparisons/{comparisonId}/reports' }],
    cli: { args: ['comparisonId'] },
  },
  report: {
    summary: 'A report of a comparison',
    description:
      'FULL has a line of JSON for each object, DIFFERENCES_JSON for each that is not as it should be, field by field, DIFFERENCES_CSV has those as a table, SUMMARY is the comparison itself; ALL is all of them in a tar archive.',
    input: strict({
      comparisonId,
      reportId: Type.Optional(
        Type.Enum([...comparisonReportNames, allReports.name], {
          description: 'Which report; default DIFFERENCES_CSV',
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
    summary: 'A comparison of catalogs is complete, or was cancelled',
    payload: strict({
      comparisonId,
      migrationName,
      purpose,
      status: Type.Enum(jobStatuses),
      totalDifferences: countFields(comparisonCounts).totalDifferences,
    }),
  },
})
