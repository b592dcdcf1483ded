import { hash } from 'node:crypto'
import { Ledger } from '../../broker/ledger.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import { roots } from '../../subjects/names.ts'
import type { Failure } from './engine/counts.ts'

/** A path that did not arrive, and when it was given up (milliseconds since 1970). */
export interface RecordedFailure extends Failure {
  readonly timeMs: number
}

export type FailureLedger = Ledger<RecordedFailure>

/** The paths that did not arrive, a book for each migration under its work id. */
export const openFailures = (connection: NatsConnection, maxFileBytes: number): Promise<FailureLedger> =>
  Ledger.open<RecordedFailure>(connection, { name: 'FAILURES', root: roots.failures, maxFileBytes })

/**
 * Notes what of an item did not arrive; resolves when it is stored. A path is noted once, however often its item comes and
 * whatever else fails then.
 * @param item its sequence in the queue, and when that was made
 */
export async function noteFailures(
  ledger: FailureLedger,
  migration: string,
  { item, failures }: { item: string; failures: readonly Failure[] },
  signal: AbortSignal,
): Promise<void> {
  const timeMs = Date.now()
  const note = (failure: Failure) =>
    ledger.append(
      migration,
      { ...failure, timeMs },
      `${migration}.${item}.${hash('sha256', failure.path, 'base64url')}`,
      signal,
    )
  await Promise.all(failures.map(note))
}
