import { plural } from '../../subjects/kit/plural.ts'
import { defaultComparisonSeconds, type MetadataMigration } from '../../subjects/metadata/migrations.ts'
import type { Observation } from './judge.ts'

/** What somebody has to see to in a migration of metadata. */
export function metadataFailure(migration: MetadataMigration): Observation[] {
  const failure = failureOf(migration)
  const { migrationName } = migration
  return failure === undefined
    ? []
    : [{ object: migrationName, summary: `metadata migration “${migrationName}” ${failure}` }]
}

function failureOf(migration: MetadataMigration): string | undefined {
  const { state, phase, reason, failed, conflicts, held } = migration
  if (state === 'FAILED') return `has failed${reason === undefined ? '' : `: ${reason}`}`
  if (state === 'RUNNING' && reason !== undefined) return `is blocked: ${reason}`
  // While all is compared, more may come; one that was stopped somebody has in hand.
  if (state !== 'COMPLETED' && phase !== 'following') return undefined
  const parts = [
    ...(failed > 0 ? [plural(failed, 'failed object')] : []),
    ...(conflicts > 0 ? [plural(conflicts, 'conflict')] : []),
    ...(held > 0 ? [`${plural(held, 'drop')} waiting for approval`] : []),
  ]
  return parts.length === 0 ? undefined : `has ${parts.join(', ')}`
}

/** What is to be told of a migration of metadata that is behind its source by more than a threshold, in seconds. */
export function metadataLagging(migration: MetadataMigration, thresholdSeconds: number): Observation[] {
  const { migrationName, phase, changeDetection, lagSeconds = 0 } = migration
  // Comparing takes as long as it takes; that it does not get on is another alert.
  if (phase !== 'following') return []
  const isCompared = changeDetection === 'comparison'
  const { comparisonPeriodSeconds = defaultComparisonSeconds } = migration
  if (lagSeconds <= thresholdSeconds + (isCompared ? comparisonPeriodSeconds : 0)) return []
  const summary = isCompared
    ? `changes of the last ${lagSeconds} s at the source of metadata migration “${migrationName}” may not be at its target`
    : `a change of metadata migration “${migrationName}” has waited for ${lagSeconds} s`
  return [{ object: migrationName, value: lagSeconds, summary }]
}
