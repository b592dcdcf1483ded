import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { Ledger } from '../../broker/state/ledger.ts'
import { roots } from '../../subjects/kit/names.ts'
import { keptUsageDays } from '../../subjects/observability/usage.ts'
import { type RecordedUsage, usageHandlers } from './handlers.ts'

const dayMs = 86_400_000

/** Opens the ledger of usage, and makes the handlers. */
export async function startUsage(connection: NatsConnection, maxFileBytes: number) {
  const ledger = await Ledger.open<RecordedUsage>(connection, {
    name: 'USAGE',
    root: roots.usage,
    maxFileBytes,
    maxAgeMs: keptUsageDays * dayMs,
  })
  return { handlers: usageHandlers({ connection, ledger }) }
}
