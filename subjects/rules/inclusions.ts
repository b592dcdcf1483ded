import { resource } from '../kit/contract.ts'
import { ruleContracts } from './contracts.ts'
import { InclusionView } from '../migrations/model/rules.ts'
import { list, page, strict } from '../kit/schemas.ts'

/** A migration with inclusions copies what matches one of them, and what is in a folder that does. */
export const inclusions = resource('inclusions', {
  ...ruleContracts('inclusion'),
  list: {
    summary: 'List inclusions',
    input: strict(page),
    output: list(InclusionView),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/inclusions' }],
    cli: { columns: ['id', 'type', 'description'] },
  },
})
