import { call } from '../../../broker/rpc/client.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import type { Log } from '../../../broker/common/log.ts'
import { keysInternal } from '../../../subjects/access/keys.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import type { Limits } from '../bandwidth/limits.ts'
import type { Flights } from '../progress/flights.ts'
import type { CountListener } from '../progress/worker-book.ts'
import { deskHandlers } from './desk.ts'
import { agentHandlers, defaultMovers, noAgent, openAgentSettings } from './handlers.ts'
import { Offers } from '../assignments/offers.ts'
import { Roster } from '../assignments/roster.ts'

export interface AgentsOptions {
  readonly connection: NatsConnection
  readonly journals: RecordJournals
  readonly limits: Limits
  readonly bounds: StoreBounds
  /** Another agent of the same name is not to inherit its limit. */
  readonly forgetLimit: (name: string) => Promise<void>
  readonly onCount: CountListener
  readonly flights: Flights
  readonly log: Log
}

/** The platform's side of transfer agents: who is there, what is offered to them, and answers to them. */
export async function startAgents(options: AgentsOptions) {
  const { connection, journals, limits, bounds, forgetLimit, onCount, flights, log } = options
  const [roster, settings] = await Promise.all([
    Roster.open(connection, { flights, log }),
    openAgentSettings(connection, journals),
  ])
  const offers = new Offers({ roster, limits, bounds, log })
  const nameOf = async (id: string) => (await call(connection, keysInternal.permissions, { id })).name
  return {
    offers,
    /** @throws GantryError NOT_FOUND for an agent that never came */
    require: async (name: string) => {
      if (!(await roster.knows(name))) throw noAgent(name)
    },
    handlers: agentHandlers({ roster, offers, settings, forgetLimit }),
    deskHandlers: deskHandlers({ roster, offers, nameOf, onCount }),
    defaultMovers: () => defaultMovers(settings),
    run: () => {
      roster.start()
      offers.start()
    },
    stop: () => {
      offers.stop()
      roster.stop()
    },
  }
}
