import type { Contract } from '../../../subjects/kit/contract.ts'
import { type MigratorOperation, operation } from '../operation.ts'
import { exclusions } from '../../../subjects/rules/exclusions.ts'
import { inclusions } from '../../../subjects/rules/inclusions.ts'

const errors = {
  NOT_FOUND: { errorCode: 'EXCLUSION_NOT_FOUND' },
  ALREADY_EXISTS: { errorCode: 'EXCLUSION_ALREADY_EXISTS' },
  NOT_ALLOWED_IN_STATE: { errorCode: 'EXCLUSION_DELETION_EXCEPTION' },
} as const

const types = {
  'create-regex': 'regex',
  'create-file-size': 'fileSize',
  'create-date': 'date',
  'create-age': 'age',
} as const

/** Exclusions are of the surface; inclusions have the same operations. */
const ofRules = (path: string, rules: typeof exclusions | typeof inclusions): MigratorOperation[] => {
  const own = `/migrations/{migrationId}${path}`
  const making = { status: 201, errors } as const
  return [
    ...Object.entries(types).map(([verb, type]) => {
      const contract: Contract = rules[verb as keyof typeof types]
      return operation(contract, 'PUT', `${path}/${type}/{id}`, { ...making, query: 'all' })
    }),
    operation(rules['create-paths'] as Contract, 'PUT', `${path}/paths/{id}`, {
      ...making,
      query: ['description'],
    }),
    operation(rules['create-many'] as Contract, 'POST', path, making),
    operation(rules.list as Contract, 'GET', path),
    operation(rules.get as Contract, 'GET', `${path}/{id}`, { errors }),
    operation(rules.delete as Contract, 'DELETE', `${path}/{id}`, { errors }),
    operation(rules.attach as Contract, 'PUT', `${own}/{id}`, { errors }),
    operation(rules.detach as Contract, 'DELETE', `${own}/{id}`, { errors }),
    operation(rules.attached as Contract, 'GET', own, { errors }),
  ]
}

const ofScope = (scope: string, path: string): MigratorOperation =>
  operation(exclusions.list, 'GET', path, { bind: { scope } })

export const ruleOperations = [
  ...ofRules('/exclusions', exclusions),
  ofScope('userDefined', '/exclusions/userDefined'),
  ofScope('global', '/exclusions/global'),
  ofScope('source', '/exclusions/source/{fsType}'),
  ofScope('target', '/exclusions/target/{fsType}'),
  operation(exclusions.test, 'GET', '/migrations/{migrationId}/exclusions/test', { errors }),
  ...ofRules('/inclusions', inclusions),
]
