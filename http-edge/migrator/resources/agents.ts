import { agents } from '../../../subjects/migrations/agents.ts'
import { operation } from '../operation.ts'

const errors = { NOT_FOUND: { errorCode: 'DATA_AGENT_NOT_FOUND' } } as const

export const agentOperations = [
  operation(agents.list, 'GET', '/scaling/dataagents'),
  operation(agents.get, 'GET', '/scaling/dataagents/{name}', { errors }),
  operation(agents.remove, 'DELETE', '/scaling/dataagents/{name}', { errors }),
]
