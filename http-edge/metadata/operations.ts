import type { Operation } from '../surface/operation.ts'
import { agentOperations } from './resources/agents.ts'
import { migrationOperations } from './resources/migrations.ts'
import { ruleOperations } from './resources/rules.ts'

/** All operations of the metadata service. */
export const operations: readonly Operation[] = [
  ...agentOperations,
  ...ruleOperations,
  ...migrationOperations,
]
