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
      summary: 'path pattern',
      example: "no-temporary-files --pattern-type GLOB --regex '*.tmp'",
    },
    fileSize: {
      verb: 'create-file-size',
      summary: 'file size',
      example: 'large --value 100 --unit GB',
    },
    date: {
      verb: 'create-date',
      summary: 'file date',
      example: 'old --before-iso-date-time 2020-01-01T00:00:00Z',
    },
    age: { verb: 'create-age', summary: 'file age', example: 'new --time-value 2 --time-unit Days' },
    paths: {
      verb: 'create-paths',
      summary: 'list of paths',
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
      summary: `Create ${article} by ${words[type].summary}`,
      input: strict({ ...ruleHead, ...fields }),
      output: View,
      errors: ['ALREADY_EXISTS', 'LIMIT_REACHED'],
      audit: { object: 'id', details: Object.keys(fields) },
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
      summary: `Create several ${resource}, all or none`,
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
      summary: `Show ${article}`,
      input: ofRule,
      output: View,
      errors: ['NOT_FOUND'],
      http: [{ method: 'GET', path: `/api/v1/${resource}/{id}` }],
      cli: { args: ['id'] },
    },
    delete: {
      summary: `Delete ${article} that no migration uses`,
      input: ofRule,
      output: Nothing,
      errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE', 'IN_USE'],
      audit: { object: 'id' },
      http: [{ method: 'DELETE', path: `/api/v1/${resource}/{id}` }],
      cli: { args: ['id'] },
    },
    attach: {
      summary: `Add ${article} to a migration`,
      description:
        'Applies to paths that are not scanned yet. Files that are already copied stay at the target.',
      input: ofMigration,
      output: Nothing,
      errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'UNSUPPORTED'],
      audit: { object: 'migrationId', details: ['id'] },
      http: [{ method: 'PUT', path: `/api/v1/migrations/{migrationId}/${resource}/{id}` }],
      cli: { args: ['migrationId', 'id'], example: `gantry ${resource} attach nightly no-temporary-files` },
    },
    detach: {
      summary: `Remove ${article} from a migration`,
      description:
        'Applies to paths that are not scanned yet. Skipped paths are copied with the next scan of their folder.',
      input: ofMigration,
      output: Nothing,
      errors: ['NOT_FOUND'],
      audit: { object: 'migrationId', details: ['id'] },
      http: [{ method: 'DELETE', path: `/api/v1/migrations/{migrationId}/${resource}/{id}` }],
      cli: { args: ['migrationId', 'id'] },
    },
    attached: {
      summary: `List the ${resource} of a migration in the order of evaluation`,
      input: strict({ migrationId }),
      output: list(View, maxRules),
      errors: ['NOT_FOUND'],
      http: [{ method: 'GET', path: `/api/v1/migrations/{migrationId}/${resource}` }],
      cli: { args: ['migrationId'], columns: ['id', 'type', 'description'] },
    },
  } as const satisfies Record<string, Definition>
}
