import type { Migration } from '../../../../subjects/migrations/model/model.ts'
import type { CleanupRecord } from './record.ts'

/** What is known of the cleanups of a migration's source; a look alone is none. */
export function cleanupTracker(
  cleanups: readonly CleanupRecord[],
  internalId: string,
): Migration['sourceCleanupTracker'] {
  const its = cleanups.filter((one) => one.internalId === internalId && !one.dryRun)
  const lastStart = its
    .flatMap(({ started }) => started ?? [])
    .toSorted()
    .at(-1)
  return {
    count: its.length,
    inProgress: its.some(({ status }) => status === 'IN_PROGRESS'),
    ...(lastStart === undefined ? {} : { lastStartTime: lastStart }),
  }
}
