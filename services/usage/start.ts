import type { NatsConnection } from '../../broker/connection.ts'
import { Ledger } from '../../broker/ledger.ts'
import { roots } from '../../subjects/names.ts'
import { keptUsageDays } from '../../subjects/usage.ts'
import { type RecordedUsage, usageHandlers } from './index.ts'

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
