import type { Collection } from '../../../broker/state/collection.ts'
import type { Log } from '../../../broker/common/log.ts'
import { type ErrorCode, isGantryError } from '../../../subjects/kit/errors.ts'
import { shortened } from '../../../subjects/kit/shortened.ts'
import { type Left, maxAbortCauseLength, type MigrationRecord } from './record.ts'
import { actsByItself } from './states.ts'
import { applyTransition } from './transition.ts'

/** Errors that do not pass by themselves, as of a filesystem that is gone. */
const unrecoverable: readonly ErrorCode[] = ['INVALID_INPUT', 'NOT_ACCEPTED', 'NOT_FOUND', 'UNSUPPORTED']
/** So often in a row they are believed: a second, in which a filesystem that is being changed is there again. */
const maxAttempts = 5

/** A migration whose record may be outdated: it does nothing until somebody says so. */
export function stoppedInDoubt(record: MigrationRecord): MigrationRecord {
  if (!actsByItself(record.state)) return record
  return {
    ...record,
    state: 'STOPPED',
    resumable: true,
    abortReason: 'AUTO_ABORTED',
    abortCause: 'the stored record of the migration may be outdated: check its settings, then start it',
  }
}

/**
 * Stops a migration that has failed again and again for a reason that does not pass, so that somebody sees to it; it can
 * go on then. Returns whether it did. Never rejects.
 * @param attempt which one failed, from 1 on
 */
export async function abortedFor(
  { records, log }: { readonly records: Collection<typeof MigrationRecord>; readonly log: Log },
  { migrationId, internalId, ...left }: Pick<MigrationRecord, 'migrationId' | 'internalId'> & Left,
  error: unknown,
  attempt: number,
): Promise<boolean> {
  if (attempt < maxAttempts || !unrecoverable.some((code) => isGantryError(error, code))) return false
  const abortCause = shortened(error instanceof Error ? error.message : String(error), maxAbortCauseLength)
  try {
    await applyTransition(records, migrationId, 'aborted', (current) =>
      current.internalId === internalId
        ? { ...current, ...left, resumable: true, abortReason: 'AUTO_ABORTED', abortCause }
        : undefined,
    )
  } catch (err) {
    log.warn({ err, migration: migrationId }, 'The stop of a migration could not be stored; retrying.')
    return false
  }
  log.error({ err: error, migration: migrationId }, 'A migration failed repeatedly and was stopped.')
  return true
}
