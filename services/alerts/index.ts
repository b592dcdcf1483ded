import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Events } from '../../broker/state/events.ts'
import type { Log } from '../../broker/common/log.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import type { Sealer } from '../../broker/identity/seal.ts'
import { Evaluator } from './evaluator.ts'
import { alertHandlers } from './handlers.ts'
import { openState } from './record.ts'
import { Deliveries } from './webhooks/deliveries.ts'

export interface AlertsOptions {
  readonly journals: RecordJournals
  readonly connection: NatsConnection
  readonly sealer: Sealer
  readonly events: Events
  /** Hosts, maybe with a port, in inner networks that webhooks may be at. */
  readonly webhookHosts: ReadonlySet<string>
  readonly log: Log
}

/** Opens what is stored of alerts and makes the handlers; `run` begins to look, once the services are there that it asks. */
export async function startAlerts({
  connection,
  journals,
  sealer,
  events,
  webhookHosts,
  log,
}: AlertsOptions) {
  const state = await openState(connection, events, journals)
  const deliveries = new Deliveries({ state, sealer, innerHosts: webhookHosts, log })
  const tell = deliveries.tell.bind(deliveries)
  const evaluator = new Evaluator({ connection, state, tell, log })
  return {
    handlers: alertHandlers({ state, evaluator, deliveries, sealer, innerHosts: webhookHosts }),
    run: async () => {
      await deliveries.start()
      await evaluator.start()
    },
    stop: async () => {
      await evaluator.stop()
      await deliveries.stop()
    },
  }
}
