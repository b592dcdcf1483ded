import { Ledger } from '../../broker/ledger.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import { roots } from '../../subjects/names.ts'
import type { Failure } from './engine/counts.ts'

/** A path that did not arrive, and when it was given up (milliseconds since 1970). */
export interface RecordedFailure extends Failure {
  readonly timeMs: number
}

export type FailureLedger = Ledger<RecordedFailure>

/** The paths that did not arrive, a book for each migration under its internal id. */
export const openFailures = (connection: NatsConnection, maxFileBytes: number): Promise<FailureLedger> =>
  Ledger.open<RecordedFailure>(connection, { name: 'FAILURES', root: roots.failures, maxFileBytes })
