import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { Ledger } from '../../broker/state/ledger.ts'
import { roots } from '../../subjects/kit/names.ts'
import { keptUsageDays, usage } from '../../subjects/observability/usage.ts'
import { service } from '../kit/part.ts'
import { type RecordedUsage, usageHandlers } from './handlers.ts'

export interface UsageNeeds {
  readonly connection: NatsConnection
  readonly maxFileBytes: number
}

const dayMs = 86_400_000

/** What extensions have done for whom. */
export const usageService = service({
  name: 'usage',
  contracts: { usage },
  start: async ({ connection, maxFileBytes }: UsageNeeds) => {
    const ledger = await Ledger.open<RecordedUsage>(connection, {
      name: 'USAGE',
      root: roots.usage,
      maxFileBytes,
      maxAgeMs: keptUsageDays * dayMs,
    })
    return { handlers: { usage: usageHandlers({ connection, ledger }) } }
  },
})
