import { hash } from 'node:crypto'
import { Ledger, type LedgerEntry, LedgerNotes } from '../../../broker/state/ledger.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { Output } from '../../../subjects/kit/contract.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import { roots } from '../../../subjects/kit/names.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import type { StorePath } from '../../drivers/contract/driver.ts'
import { pathFromText } from '../../drivers/paths/path-text.ts'
import type { Failure } from '../../engine/run/counts.ts'

/** A path that did not arrive, and when it was given up (milliseconds since 1970). */
export interface RecordedFailure extends Failure {
  readonly timeMs: number
}

export type FailureLedger = Ledger<RecordedFailure>
/** The part of it that every worker has. */
export type FailureNotes = Pick<FailureLedger, 'append' | 'forget'>

/** The paths that did not arrive, a list for each migration under its work id. */
export const openFailures = (connection: NatsConnection, maxFileBytes: number): Promise<FailureLedger> =>
  Ledger.open<RecordedFailure>(connection, { name: 'FAILURES', root: roots.failures, maxFileBytes })

/** What a worker elsewhere may do itself: to note. */
export const failureNotes = (connection: NatsConnection): Pick<FailureNotes, 'append'> =>
  new LedgerNotes<RecordedFailure>(connection, roots.failures)

/**
 * Notes what of an item did not arrive; resolves when it is stored. A path is noted once, however often its item comes and
 * whatever else fails then.
 * @param item its sequence in the queue, and when that was made
 */
export async function noteFailures(
  ledger: FailureNotes,
  migration: string,
  { item, failures }: { item: string; failures: readonly Failure[] },
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(failures.map((failure) => noteFailure(ledger, migration, { item, failure }, signal)))
}

/** Notes one of them. Resolves with its number in the ledger. */
export const noteFailure = (
  ledger: Pick<FailureNotes, 'append'>,
  migration: string,
  { item, failure }: { item: string; failure: Failure },
  signal: AbortSignal,
): Promise<number> =>
  ledger.append(
    migration,
    { ...failure, timeMs: Date.now() },
    `${migration}.${item}.${hash('sha256', failure.path, 'base64url')}`,
    signal,
  )

/** The path in the store of a failure; undefined for a name that no path can have. */
export function pathOfFailure(text: string): StorePath | undefined {
  try {
    return pathFromText(text)
  } catch (error) {
    if (error instanceof GantryError) return undefined
    throw error
  }
}

export type FailedPath = Output<(typeof migrations)['failures']>['failedPaths'][number]

/** A failure as callers see it. */
export const failedPath = ({ sequence, entry }: LedgerEntry<RecordedFailure>): FailedPath => ({
  id: sequence,
  path: entry.path,
  failureMessage: entry.message,
  failureClass: entry.failure,
  attempts: entry.attempts,
  action: entry.isRemoval === true ? 'UNLINK' : 'MIGRATION',
  dateFailed: new Date(entry.timeMs).toISOString(),
  timeStamp: entry.timeMs,
})
