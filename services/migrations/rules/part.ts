import { call } from '../../../broker/rpc/client.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { Owners } from '../../../broker/rpc/owners.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { exclusions } from '../../../subjects/rules/exclusions.ts'
import { inclusions } from '../../../subjects/rules/inclusions.ts'
import { pathMappings } from '../../../subjects/rules/path-mappings.ts'
import { service } from '../../kit/part.ts'
import type { PlaceDependencies } from '../places/places.ts'
import { RuleBook } from './book.ts'
import type { RuleDependencies } from './explain.ts'
import { exclusionHandlers, inclusionHandlers } from './handlers.ts'
import { mappingHandlers } from './mappings/handlers.ts'
import { openMappings } from './mappings/record.ts'

interface RuleNeeds extends PlaceDependencies, Omit<RuleDependencies, 'rules'> {
  readonly connection: NatsConnection
  readonly journals: RecordJournals
  readonly owners: Owners
}

/** What migrations leave out and take, and where they put it. */
export const ruleService = service({
  name: 'rules',
  contracts: { exclusions, inclusions, pathMappings },
  start: async (needs: RuleNeeds) => {
    const { connection, journals } = needs
    const maxRules = async () => (await call(connection, settings.get, {})).maxRules
    const [rules, mappings] = await Promise.all([
      RuleBook.open(connection, maxRules, journals),
      openMappings(connection, journals),
    ])
    const known = { ...needs, rules, mappings }
    return {
      gives: { rules, mappings },
      handlers: {
        exclusions: exclusionHandlers(known),
        inclusions: inclusionHandlers(known),
        pathMappings: mappingHandlers(known),
      },
    }
  },
})
