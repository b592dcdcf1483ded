import { list, model } from '../../../subjects/kit/schemas.ts'
import { Agent, agents } from '../../../subjects/migrations/agents.ts'
import { operation } from '../operation.ts'

const errors = { NOT_FOUND: { errorCode: 'DATA_AGENT_NOT_FOUND' } } as const

const DataAgent = model('DataAgent', Agent.properties)

export const agentOperations = [
  operation(agents.list, 'GET', '/scaling/dataagents', { reply: list(DataAgent) }),
  operation(agents.get, 'GET', '/scaling/dataagents/{name}', { errors, reply: DataAgent }),
  operation(agents.remove, 'DELETE', '/scaling/dataagents/{name}', { errors }),
]
