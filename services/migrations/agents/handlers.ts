import { Type } from 'typebox'
import { Collection } from '../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import { type agents, movedBy, type Movers } from '../../../subjects/migrations/agents.ts'
import type { Handlers } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import type { Assignments } from '../assignments/assignments.ts'
import type { AgentRegistry } from '../assignments/agent-registry.ts'

const Settings = Type.Object({ movedBy }, { additionalProperties: false })
export type AgentSettings = Collection<typeof Settings>

/** There is one. */
const settingsId = 'settings'

export const openAgentSettings = (
  connection: NatsConnection,
  journals: RecordJournals,
): Promise<AgentSettings> =>
  Collection.open(connection, { bucket: 'agent-settings', schema: Settings, version: 1, journals })

/** Who moves the files of migrations that do not say it. */
export async function defaultMovers(settings: AgentSettings): Promise<Movers> {
  return (await settings.get(settingsId))?.movedBy ?? 'ALL'
}

/** One that has not connected is not known, although its key may be there. */
export const noAgent = (name: string) =>
  new GantryError(
    'NOT_FOUND',
    `there is no transfer agent ${name}: no agent with this name has connected; start it with "gantry agent", or see "gantry agents list"`,
  )

export function agentHandlers({
  agentRegistry,
  assignments,
  settings,
  forgetLimit,
}: {
  readonly agentRegistry: AgentRegistry
  readonly assignments: Assignments
  readonly settings: AgentSettings
  readonly forgetLimit: (name: string) => Promise<void>
}): Handlers<typeof agents> {
  const all = () => agentRegistry.all((workIds) => assignments.namesOf(workIds))
  return {
    list: async ({ limit = maxPageLength, after }) =>
      (await all()).filter(({ name }) => after === undefined || name > after).slice(0, limit),
    get: async ({ name }) => {
      const agent = (await all()).find((one) => one.name === name)
      if (agent === undefined) throw noAgent(name)
      return agent
    },
    remove: async ({ name }) => {
      if (!(await agentRegistry.remove(name))) throw noAgent(name)
      await forgetLimit(name)
      return {}
    },
    'get-settings': async () => ({ movedBy: await defaultMovers(settings) }),
    'put-settings': async (asked) => {
      await settings.put(settingsId, asked)
      return asked
    },
  }
}
