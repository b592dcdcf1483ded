import type { agentKeys } from '../../../subjects/migrations/agents.ts'
import type { Handlers } from '../../../subjects/kit/contract.ts'
import { agentCapabilities } from './agent.ts'
import { callersKey, isAdministrator } from '../callers.ts'
import { issueFor, type KeyDependencies } from './handlers.ts'

/** Keys of transfer agents: administrators alone make them. */
export function agentKeyHandlers({
  state: { keys },
  issuer,
  room,
}: Pick<KeyDependencies, 'state' | 'issuer' | 'room'>): Handlers<typeof agentKeys> {
  return {
    register: async (asked, call) => {
      const creator = await callersKey(keys, call.caller)
      if (!isAdministrator(creator)) {
        throw call.fail('EXCEEDS_ROLE', 'exceeds role permissions: only administrators make keys of agents')
      }
      const capabilities = agentCapabilities('*')
      return issueFor({ keys, issuer, room }, creator, { ...asked, kind: 'agent', capabilities })
    },
  }
}
