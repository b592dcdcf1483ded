import type { Log } from '../../../broker/common/log.ts'
import { call } from '../../../broker/rpc/client.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import { keysInternal } from '../../../subjects/access/keys.ts'
import { agentWork } from '../../../subjects/migrations/agent-work.ts'
import { agents } from '../../../subjects/migrations/agents.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import { part, service } from '../../kit/part.ts'
import { AgentRegistry } from '../assignments/agent-registry.ts'
import { Assignments } from '../assignments/assignments.ts'
import type { Limits } from '../../bandwidth/limits.ts'
import type { Place } from '../../bandwidth/policies.ts'
import type { CountListener } from '../progress/checkpoint-writer.ts'
import type { InFlightProgress } from '../progress/in-flight-progress.ts'
import { agentApiHandlers } from './agent-api.ts'
import { agentHandlers, type AgentSettings, defaultMovers, noAgent, openAgentSettings } from './handlers.ts'

interface KnownAgentNeeds {
  readonly connection: NatsConnection
  readonly journals: RecordJournals
  readonly limits: Limits
  readonly bounds: StoreBounds
  readonly inFlight: InFlightProgress
  readonly log: Log
}

/** Which transfer agents there are, and what is assigned to them. */
export const knownAgents = part({
  name: 'known agents',
  start: async ({ connection, journals, limits, bounds, inFlight, log }: KnownAgentNeeds) => {
    const [agentRegistry, agentSettings] = await Promise.all([
      AgentRegistry.open(connection, { inFlight, log }),
      openAgentSettings(connection, journals),
    ])
    return {
      gives: {
        agentRegistry,
        agentSettings,
        assignments: new Assignments({ agentRegistry, limits, bounds, log }),
        /** @throws GantryError NOT_FOUND for an agent that never came */
        requireAgent: async (name: string) => {
          if (!(await agentRegistry.knows(name))) throw noAgent(name)
        },
        defaultMovers: () => defaultMovers(agentSettings),
      },
    }
  },
})

/** Each agent has one question open all the time, and some for each piece of work in progress. */
const agentQuestions = 10_000

interface AgentNeeds {
  readonly connection: NatsConnection
  readonly agentRegistry: AgentRegistry
  readonly agentSettings: AgentSettings
  readonly assignments: Assignments
  readonly forgetLimitOf: (place: Place) => Promise<void>
  readonly onCount: CountListener
}

/** Answers agents, and those who ask about them. Work that waits for agents ends after it: it waits for what they hold. */
export const agentService = service({
  name: 'agents',
  contracts: { agents, agentWork },
  concurrency: { agentWork: agentQuestions },
  tasks: ['agents.silent', 'agents.waiting'],
  start: ({ connection, agentRegistry, agentSettings, assignments, forgetLimitOf, onCount }: AgentNeeds) => {
    const nameOf = async (id: string) => (await call(connection, keysInternal.permissions, { id })).name
    return {
      handlers: {
        agents: agentHandlers({
          agentRegistry,
          assignments,
          settings: agentSettings,
          forgetLimit: (name) => forgetLimitOf({ scope: 'agent', name }),
        }),
        agentWork: agentApiHandlers({ agentRegistry, assignments, nameOf, onCount }),
      },
      run: () => {
        agentRegistry.start()
        assignments.start()
      },
      halt: () => {
        assignments.stop()
        agentRegistry.stop()
      },
    }
  },
})
