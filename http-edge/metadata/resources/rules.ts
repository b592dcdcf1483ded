import { list, model } from '../../../subjects/kit/schemas.ts'
import { MetadataRule, metadataRules } from '../../../subjects/metadata/rules.ts'
import { type Operation, operation, type Wire } from '../../surface/operation.ts'

const { ruleName, databasePattern, tablePattern } = MetadataRule.properties
const patterns = { dbNamePattern: databasePattern, tableNamePattern: tablePattern }

const Rule = model('MetadataRule', { ruleName, ...patterns })

const shown = (rule: MetadataRule) => ({
  ruleName: rule.ruleName,
  dbNamePattern: rule.databasePattern,
  tableNamePattern: rule.tablePattern,
})

/** What is not given stays out, so that a change leaves it as it is. */
function native({ dbNamePattern, tableNamePattern, ...wire }: Wire): Wire {
  return {
    ...wire,
    ...(dbNamePattern === undefined ? {} : { databasePattern: dbNamePattern }),
    ...(tableNamePattern === undefined ? {} : { tablePattern: tableNamePattern }),
  }
}

const changing = {
  bodyFields: patterns,
  without: ['databasePattern', 'tablePattern'],
  request: native,
  reply: Rule,
  response: shown,
}
const one = '/rule/{ruleName}'

export const ruleOperations: readonly Operation[] = [
  operation(metadataRules.list, 'GET', '/rule', {
    reply: list(Rule),
    response: (all) => all.map(shown),
  }),
  operation(metadataRules.create, 'POST', '/rule', {
    ...changing,
    status: 201,
    needs: Object.keys(patterns),
  }),
  operation(metadataRules.update, 'PUT', one, changing),
  operation(metadataRules.get, 'GET', one, { reply: Rule, response: shown }),
  operation(metadataRules.delete, 'DELETE', one),
]
