import { defaultComparisonSeconds, isTold } from '../../subjects/migrations/model/changes.ts'
import type { Migration } from '../../subjects/migrations/model/model.ts'
import type { Observation } from './judge.ts'

type Live = Pick<
  Migration,
  'migrationId' | 'state' | 'changeDetection' | 'changeLagSeconds' | 'comparisonPeriodSeconds'
>

/** What is to be told of a migration that is behind its source by more than a threshold, in seconds. */
export function lagging(migration: Live, thresholdSeconds: number): Observation[] {
  const { migrationId, state, changeLagSeconds = 0 } = migration
  // It scans, which takes as long as it takes; that it cannot go on is another alert.
  if (state === 'RUNNING' && migration.changeDetection !== 'off') return []
  if (changeLagSeconds <= thresholdSeconds + unheardSeconds(migration)) return []
  const value = Math.round(changeLagSeconds * 100) / 100
  return [{ object: migrationId, value, summary: lagText(migration, changeLagSeconds) }]
}

/** For so long nothing is heard of changes where all is well: the next comparison finds them. */
const unheardSeconds = ({ changeDetection, comparisonPeriodSeconds = defaultComparisonSeconds }: Live) =>
  changeDetection === 'comparing' ? comparisonPeriodSeconds : 0

function lagText({ migrationId, changeDetection }: Live, lagSeconds: number): string {
  const seconds = Math.round(lagSeconds)
  return isTold(changeDetection)
    ? `a change of migration “${migrationId}” has waited for ${seconds} s`
    : `changes of the last ${seconds} s at the source of migration “${migrationId}” may not be at its target`
}
