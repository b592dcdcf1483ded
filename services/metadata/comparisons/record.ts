import { type Static, Type } from 'typebox'
import { strict } from '../../../subjects/kit/schemas.ts'
import {
  comparisonCounts,
  type ComparisonPurpose,
  comparisonPurposes,
  comparisonReportNames,
  type MetadataComparison,
} from '../../../subjects/metadata/comparisons.ts'
import { jobRecordFields, publicJob } from '../../jobs/job-record.ts'

/** A comparison as it is stored; `migrationId` is the name of the metadata migration. */
export const ComparisonRecord = strict({
  ...jobRecordFields(comparisonReportNames),
  purpose: Type.Enum(Object.keys(comparisonPurposes) as ComparisonPurpose[]),
})
export type ComparisonRecord = Static<typeof ComparisonRecord>

/** As callers see it. @param running counts of one that is under way */
export function publicComparison(
  record: ComparisonRecord,
  running: Readonly<Record<string, number>> = {},
): MetadataComparison {
  const { purpose, counts = running } = record
  const { migrationId, migrationInternalId: _id, ...job } = publicJob(record, counts, comparisonCounts)
  return { ...job, migrationName: migrationId, purpose }
}
