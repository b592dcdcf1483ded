import type { MigrationState } from '../../subjects/migration-model.ts'
import type { MigrationRecord } from './record.ts'

const texts: Readonly<Record<MigrationState, string>> = {
  NONSCHEDULED: 'not started yet',
  SCHEDULED: 'waits for its turn',
  RUNNING: 'scans and copies',
  LIVE: 'follows changes',
  STOPPING: 'ends what is in hand',
  STOPPED: 'stopped',
  COMPLETED: 'all was done',
  RECURRENCE_SCHEDULED: 'waits for its turn to scan again',
  WAITING_FOR_NEXT_RECURRENCE: 'waits for its next scan',
}

/** The state of a migration in words, and what is wrong: one with failures never reads as if all had arrived. */
export function stateText(
  { state, resumable, deletions }: Pick<MigrationRecord, 'state' | 'resumable' | 'deletions'>,
  failedPathCount: number,
): string {
  const held = deletions?.isHeld === true && state === 'STOPPED' ? deletions : undefined
  const text =
    held !== undefined
      ? `stopped before ${held.files} files and ${held.folders} folders of the target are deleted: see plan, then approve-deletions`
      : state === 'STOPPED' && !resumable
        ? 'stopped, and cannot go on'
        : texts[state]
  if (failedPathCount === 0) return text
  return `${text}, but ${failedPathCount} ${failedPathCount === 1 ? 'path' : 'paths'} did not arrive`
}
