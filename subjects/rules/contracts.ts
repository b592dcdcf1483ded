import { type TProperties, Type } from 'typebox'
import type { Definition } from '../kit/contract.ts'
import { migrationId } from '../migrations/model/model.ts'
import {
  ExclusionView,
  InclusionView,
  maxRules,
  Rule,
  type RuleEffect,
  ruleForms,
  ruleHead,
  type RuleType,
} from '../migrations/model/rules.ts'
import { list, Nothing, strict } from '../kit/schemas.ts'

const ofRule = strict({ id: ruleHead.id })
const ofMigration = strict({ migrationId, id: ruleHead.id })

const words: Record<RuleType, { readonly verb: string; readonly summary: string; readonly example: string }> =
  {
    regex: {
      verb: 'create-regex',
      summary: 'a pattern of paths',
      example: "no-temporary-files --pattern-type GLOB --regex '*.tmp'",
    },
    fileSize: {
      verb: 'create-file-size',
      summary: 'a size of files',
      example: 'large --value 100 --unit GB',
    },
    date: {
      verb: 'create-date',
      summary: 'a date of files',
      example: 'old --before-iso-date-time 2020-01-01T00:00:00Z',
    },
    age: { verb: 'create-age', summary: 'an age of files', example: 'new --time-value 2 --time-unit Days' },
    paths: {
      verb: 'create-paths',
      summary: 'a list of paths',
      example: 'projects --paths /projects/a --paths /projects/b',
    },
  }

/** What is the same for exclusions and inclusions. */
export function ruleContracts(effect: RuleEffect) {
  const resource = `${effect}s`
  const View = effect === 'exclusion' ? ExclusionView : InclusionView
  const article = effect === 'exclusion' ? 'an exclusion' : 'an inclusion'

  const create = <P extends TProperties>(type: RuleType, fields: P) =>
    ({
      summary: `Make ${article} by ${words[type].summary}`,
      input: strict({ ...ruleHead, ...fields }),
      output: View,
      errors: ['ALREADY_EXISTS', 'LIMIT_REACHED'],
      audit: { object: 'id' },
      http: [{ method: 'POST', path: `/api/v1/${resource}/${type}`, status: 201 }],
      cli: {
        args: ['id'],
        ...(type === 'paths' ? { files: ['paths'] } : {}),
        example: `gantry ${resource} ${words[type].verb} ${words[type].example}`,
      },
    }) as const satisfies Definition

  return {
    'create-regex': create('regex', ruleForms.regex),
    'create-file-size': create('fileSize', ruleForms.fileSize),
    'create-date': create('date', ruleForms.date),
    'create-age': create('age', ruleForms.age),
    'create-paths': create('paths', ruleForms.paths),
    'create-many': {
      summary: `Make several ${resource}, all or none`,
      input: strict({ rules: Type.Array(Rule, { minItems: 1, maxItems: maxRules, description: 'Rules' }) }),
      output: list(View, maxRules),
      errors: ['ALREADY_EXISTS', 'LIMIT_REACHED'],
      audit: {},
      http: [{ method: 'POST', path: `/api/v1/${resource}`, status: 201 }],
      cli: {
        example: `gantry ${resource} create-many --rules '[{"id":"large","type":"fileSize","value":1,"unit":"TB"}]'`,
        columns: ['id', 'type', 'description'],
      },
    },
    get: {
      summary: `One ${effect}`,
      input: ofRule,
      output: View,
      errors: ['NOT_FOUND'],
      http: [{ method: 'GET', path: `/api/v1/${resource}/{id}` }],
      cli: { args: ['id'] },
    },
    delete: {
      summary: `Forget ${article} that no migration has`,
      input: ofRule,
      output: Nothing,
      errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE', 'IN_USE'],
      audit: { object: 'id' },
      http: [{ method: 'DELETE', path: `/api/v1/${resource}/{id}` }],
      cli: { args: ['id'] },
    },
    attach: {
      summary: `Give ${article} to a migration, for what it has not looked at yet`,
      description: 'What was copied stays at the target.',
      input: ofMigration,
      output: Nothing,
      errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'UNSUPPORTED'],
      audit: { object: 'migrationId' },
      http: [{ method: 'PUT', path: `/api/v1/migrations/{migrationId}/${resource}/{id}` }],
      cli: { args: ['migrationId', 'id'], example: `gantry ${resource} attach nightly no-temporary-files` },
    },
    detach: {
      summary: `Take ${article} from a migration, for what it has not looked at yet`,
      description: 'What was left out comes with the next scan of its folder.',
      input: ofMigration,
      output: Nothing,
      errors: ['NOT_FOUND'],
      audit: { object: 'migrationId' },
      http: [{ method: 'DELETE', path: `/api/v1/migrations/{migrationId}/${resource}/{id}` }],
      cli: { args: ['migrationId', 'id'] },
    },
    attached: {
      summary: `The ${resource} of a migration, in the order in which they decide`,
      input: strict({ migrationId }),
      output: list(View, maxRules),
      errors: ['NOT_FOUND'],
      http: [{ method: 'GET', path: `/api/v1/migrations/{migrationId}/${resource}` }],
      cli: { args: ['migrationId'], columns: ['id', 'type', 'description'] },
    },
  } as const satisfies Record<string, Definition>
}
