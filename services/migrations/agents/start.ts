import { call } from '../../../broker/rpc/client.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import type { Log } from '../../../broker/common/log.ts'
import { keysInternal } from '../../../subjects/access/keys.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import type { Limits } from '../bandwidth/limits.ts'
import type { InFlightProgress } from '../progress/in-flight-progress.ts'
import type { CountListener } from '../progress/checkpoint-writer.ts'
import { agentApiHandlers } from './agent-api.ts'
import { agentHandlers, defaultMovers, noAgent, openAgentSettings } from './handlers.ts'
import { Assignments } from '../assignments/assignments.ts'
import { AgentRegistry } from '../assignments/agent-registry.ts'

export interface AgentsOptions {
  readonly connection: NatsConnection
  readonly journals: RecordJournals
  readonly limits: Limits
  readonly bounds: StoreBounds
  /** Another agent of the same name is not to inherit its limit. */
  readonly forgetLimit: (name: string) => Promise<void>
  readonly onCount: CountListener
  readonly inFlight: InFlightProgress
  readonly log: Log
}

/** The platform's side of transfer agents: who is there, what is offered to them, and answers to them. */
export async function startAgents(options: AgentsOptions) {
  const { connection, journals, limits, bounds, forgetLimit, onCount, inFlight, log } = options
  const [agentRegistry, settings] = await Promise.all([
    AgentRegistry.open(connection, { inFlight, log }),
    openAgentSettings(connection, journals),
  ])
  const assignments = new Assignments({ agentRegistry, limits, bounds, log })
  const nameOf = async (id: string) => (await call(connection, keysInternal.permissions, { id })).name
  return {
    assignments,
    /** @throws GantryError NOT_FOUND for an agent that never came */
    require: async (name: string) => {
      if (!(await agentRegistry.knows(name))) throw noAgent(name)
    },
    handlers: agentHandlers({ agentRegistry, assignments, settings, forgetLimit }),
    agentApiHandlers: agentApiHandlers({ agentRegistry, assignments, nameOf, onCount }),
    defaultMovers: () => defaultMovers(settings),
    run: () => {
      agentRegistry.start()
      assignments.start()
    },
    stop: () => {
      assignments.stop()
      agentRegistry.stop()
    },
  }
}
