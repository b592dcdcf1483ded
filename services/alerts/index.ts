import type { Log } from '../../broker/common/log.ts'
import type { Sealer } from '../../broker/identity/seal.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import type { Events } from '../../broker/state/events.ts'
import { alerts } from '../../subjects/observability/alerts.ts'
import { service } from '../kit/part.ts'
import { Evaluator } from './evaluator.ts'
import { alertHandlers } from './handlers.ts'
import { openState } from './record.ts'
import { Deliveries } from './webhooks/deliveries.ts'

export interface AlertsNeeds {
  readonly journals: RecordJournals
  readonly connection: NatsConnection
  readonly sealer: Sealer
  readonly events: Events
  /** Hosts, maybe with a port, in inner networks that webhooks may be at. */
  readonly webhookHosts: ReadonlySet<string>
  readonly log: Log
}

/** Alert rules and the messages about them. */
export const alertsService = service({
  name: 'alerts',
  contracts: { alerts },
  tasks: ['alerts.rules', 'alerts.webhooks'],
  start: async ({ connection, journals, sealer, events, webhookHosts, log }: AlertsNeeds) => {
    const state = await openState(connection, events, journals)
    const deliveries = new Deliveries({ state, sealer, innerHosts: webhookHosts, log })
    const tell = deliveries.tell.bind(deliveries)
    const evaluator = new Evaluator({ connection, state, tell, log })
    return {
      handlers: {
        alerts: alertHandlers({ connection, state, evaluator, deliveries, sealer, innerHosts: webhookHosts }),
      },
      run: async () => {
        await deliveries.start()
        await evaluator.start()
      },
      halt: async () => {
        await evaluator.stop()
        await deliveries.stop()
      },
    }
  },
})
