import { createGzip } from 'node:zlib'
import { Type } from 'typebox'
import type { Output } from '../../../subjects/kit/contract.ts'
import { list, model, strict } from '../../../subjects/kit/schemas.ts'
import {
  allReports,
  type VerificationReport,
  verificationReportNames,
} from '../../../subjects/migrations/model/verification-terms.ts'
import { Verification, verifications } from '../../../subjects/migrations/verifications.ts'
import { operation } from '../operation.ts'
import type { Wire } from '../../surface/operation.ts'

const errors = { NOT_FOUND: { errorCode: 'VERIFICATION_NOT_FOUND' } } as const
const path = '/verifications/{verificationId}'

/** What the files of reports are called on the surface. */
const files: Readonly<Record<VerificationReport, { readonly name: string; readonly suffix: string }>> = {
  FULL: { name: 'verification-full.jsonl.gz', suffix: '.jsonl.gz' },
  DISCREPANCIES_JSON: { name: 'verification-discrepancy.jsonl.gz', suffix: '.jsonl.gz' },
  DISCREPANCIES_CSV: { name: 'verification-discrepancy.csv.gz', suffix: '.csv.gz' },
  SUMMARY: { name: 'summary.json', suffix: '.json' },
}

/** A report by its type or by the name of its file; without one the table of what differs. */
const reportOf = (id: unknown): unknown =>
  id === undefined
    ? 'DISCREPANCIES_CSV'
    : (verificationReportNames.find((type) => files[type].name === id) ?? id)

const counts = Verification.properties
const WireVerification = model('Verification', {
  ...counts,
  dataExcluded: Type.Integer({ minimum: 0, description: 'Same as bytesExcluded' }),
  verificationProgress: strict({
    matchedPathCount: counts.matchedPathCount,
    totalFailedPathCount: counts.totalDiscrepancies,
    targetFilesMissing: counts.filesMissingOnTarget,
    targetDirectoriesMissing: counts.directoriesMissingOnTarget,
    filesizeMismatches: counts.fileSizeMismatches,
  }),
})

const shown = (job: Verification) => ({
  ...job,
  dataExcluded: job.bytesExcluded,
  verificationProgress: {
    matchedPathCount: job.matchedPathCount,
    totalFailedPathCount: job.totalDiscrepancies,
    targetFilesMissing: job.filesMissingOnTarget,
    targetDirectoriesMissing: job.directoriesMissingOnTarget,
    filesizeMismatches: job.fileSizeMismatches,
  },
})
/** What answers with one of them, and with several. */
const single = { reply: WireVerification, response: shown }
const several = { reply: list(WireVerification), response: (all: readonly Verification[]) => all.map(shown) }

type Reports = Output<(typeof verifications)['reports']>

const reportFields = verifications.reports.output.items.properties
const WireReport = model('VerificationReportFileMetadata', {
  ...reportFields,
  descriptor: strict({
    name: Type.String({
      maxLength: 200,
      description: 'File name, which can be used as `reportId` of a download, as can `type`',
    }),
    type: reportFields.descriptor.properties.type,
    fileSuffix: Type.String({ maxLength: 20, description: 'File name extension' }),
  }),
  size: Type.Integer({ description: 'Size of the uncompressed text in bytes' }),
  checksum: Type.Integer({ description: 'CRC-32 of the uncompressed text' }),
})

const described = (reports: Reports): object[] =>
  reports.map((report) => {
    const { type } = report.descriptor
    return { ...report, descriptor: { name: files[type].name, type, fileSuffix: files[type].suffix } }
  })

const withReport = (wire: Wire): Wire => ({ ...wire, reportId: reportOf(wire['reportId']) })

export const verificationOperations = [
  operation(verifications.create, 'PUT', '/verifications', {
    ...single,
    errors: { NOT_FOUND: { errorCode: 'MIGRATION_NOT_FOUND' } },
  }),
  operation(verifications.list, 'GET', '/verifications', {
    ...several,
    query: ['migrationId', 'limit', 'after'],
  }),
  operation(verifications.list, 'GET', '/verifications/filtered', {
    ...several,
    query: ['migrationIds', 'states', 'limit', 'after'],
  }),
  operation(verifications.get, 'GET', path, { ...single, errors }),
  operation(verifications.cancel, 'POST', `${path}/cancel`, { ...single, errors }),
  operation(verifications.delete, 'DELETE', path, {
    errors: { ...errors, NOT_ALLOWED_IN_STATE: { status: 409, errorCode: 'VERIFICATION_CANT_BE_DELETED' } },
  }),
  operation(verifications.reports, 'GET', `${path}/reports`, {
    errors,
    reply: list(WireReport),
    response: described,
  }),
  operation(verifications.report, 'GET', '/verifications/reports/{verificationId}', {
    errors: {
      ...errors,
      NOT_ALLOWED_IN_STATE: { status: 400, errorCode: 'VERIFICATION_REPORT_STATE_EXCEPTION' },
    },
    fields: {
      reportId: Type.Optional(
        Type.Enum(
          [
            ...verificationReportNames,
            allReports.name,
            ...verificationReportNames.map((type) => files[type].name),
          ],
          {
            description: 'Report type or file name; default DISCREPANCIES_CSV',
          },
        ),
      ),
    },
    request: withReport,
    download: ({ name, type }, { reportId }) => {
      const file = verificationReportNames.find((one) => one === reportId)
      if (file === undefined) return { name, type }
      const isCompressed = files[file].name.endsWith('.gz')
      return {
        name: files[file].name,
        type: isCompressed ? 'application/gzip' : type,
        ...(isCompressed ? { through: createGzip() } : {}),
      }
    },
  }),
]
