import type { PlanCounts } from '../../../subjects/migrations/model/plan-terms.ts'
import { targetMatchDefaults } from '../../../subjects/migrations/model/target-match.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'

type Planned = Pick<PlanCounts, 'filesToDelete' | 'foldersToDelete' | 'entriesAtTarget'>

/** Files and folders that would be deleted. */
export const deletionsIn = ({ filesToDelete, foldersToDelete }: Planned): number =>
  filesToDelete + foldersToDelete

/** Share of the target's files and folders that some are, 0 to 100. */
export const percentOf = (deletions: number, entriesAtTarget: number): number =>
  deletions === 0 ? 0 : (100 * deletions) / Math.max(deletions, entriesAtTarget)

/** The same of those that would be deleted. */
export const percentIn = (planned: Planned): number =>
  percentOf(deletionsIn(planned), planned.entriesAtTarget)

/** Whether somebody has to approve of so many deletions. */
export function needsApproval(
  { targetMatch }: Pick<MigrationRecord, 'targetMatch'>,
  planned: Planned,
): boolean {
  const {
    maxDeletions = targetMatchDefaults.maxDeletions,
    maxDeletionPercent = targetMatchDefaults.maxDeletionPercent,
  } = targetMatch ?? {}
  return deletionsIn(planned) > maxDeletions || percentIn(planned) > maxDeletionPercent
}
