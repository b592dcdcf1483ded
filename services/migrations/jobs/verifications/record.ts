import { type Static, Type } from 'typebox'
import { Count, list, Path, strict } from '../../../../subjects/kit/schemas.ts'
import {
  verificationCounts,
  type VerificationLevel,
  verificationLevels,
  verificationReportNames,
} from '../../../../subjects/migrations/model/verification-terms.ts'
import { maxVerificationPaths, type Verification } from '../../../../subjects/migrations/verifications.ts'
import { jobRecordFields, publicJob } from '../../../jobs/job-record.ts'

/** A verification as it is stored. */
export const VerificationRecord = strict({
  ...jobRecordFields(verificationReportNames),
  level: Type.Enum(Object.keys(verificationLevels) as VerificationLevel[]),
  paths: list(Path('What is verified'), maxVerificationPaths),
  originalPaths: list(Path('The same as it was asked for'), maxVerificationPaths),
  depth: Type.Optional(Count('Levels below each path')),
  ignoreAfterMs: Type.Optional(Count('Milliseconds since 1970')),
})
export type VerificationRecord = Static<typeof VerificationRecord>

/** A verification as callers see it. @param running counts of one that is under way */
export function publicVerification(
  record: VerificationRecord,
  running: Readonly<Record<string, number>> = {},
): Verification {
  const { level, paths, originalPaths, depth, ignoreAfterMs, counts = running } = record
  return {
    ...publicJob(record, counts, verificationCounts),
    level,
    paths,
    originalPaths,
    ...(depth === undefined ? {} : { verificationDepth: depth }),
    ...(ignoreAfterMs === undefined ? {} : { ignoreAfterTimestamp: ignoreAfterMs }),
  }
}
