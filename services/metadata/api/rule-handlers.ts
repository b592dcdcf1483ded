import type { Owned, Owners } from '../../../broker/rpc/owners.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import type { Handlers } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { product } from '../../../subjects/kit/names.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import type { MetadataRule, metadataRules } from '../../../subjects/metadata/rules.ts'
import type { MetadataMigrationRecord, RuleRecord } from '../migrations/record.ts'
import { Scope } from '../migrations/scope.ts'
import { inUseText } from '../../../subjects/kit/in-use.ts'
import { itOrThem } from '../../../subjects/kit/plural.ts'
import { shellArgument } from '../../../subjects/kit/shell-word.ts'

export interface RuleDependencies {
  readonly owners: Owners
  readonly rules: Collection<typeof RuleRecord>
  readonly records: Collection<typeof MetadataMigrationRecord>
  /** Has the migrations with a rule compare everything again. */
  readonly ruleChanged: (ruleName: string) => Promise<void>
}

export function ruleHandlers({
  owners,
  rules,
  records,
  ruleChanged,
}: RuleDependencies): Handlers<typeof metadataRules> {
  const owned: Owned = {
    limit: 'maxMetadataMigrations',
    what: 'metadata rules',
    fix: `delete some with "${product} metadata-rules delete"`,
    count: (owner) => rules.sizeOfGroup(owner),
  }
  const usersOf = async (ruleName: string): Promise<string[]> =>
    (await records.all())
      .filter((one) => one.ruleNames.includes(ruleName))
      .map(({ migrationName }) => migrationName)
  return {
    create: async (rule, { caller }) => {
      await owners.make(await owners.allowanceOf(caller), owned, (owner) =>
        rules.create(rule.ruleName, { ...rule, ...(owner !== undefined && { owner }) }),
      )
      return rule
    },
    update: async ({ ruleName, ...changes }) => {
      const changed = await rules.update(ruleName, (current) => ({ ...current, ...changes }))
      await ruleChanged(ruleName)
      return publicRule(changed)
    },
    list: async ({ limit = maxPageLength, after }) => (await rules.list({ limit, after })).map(publicRule),
    get: async ({ ruleName }) => {
      const rule = await rules.get(ruleName)
      if (rule === undefined) throw new GantryError('NOT_FOUND', `there is no rule ${ruleName}`)
      return publicRule(rule)
    },
    delete: async ({ ruleName }) => {
      const users = await usersOf(ruleName)
      if (users.length > 0)
        throw new GantryError(
          'IN_USE',
          inUseText(
            ruleName,
            users.slice(0, 10),
            `change ${itOrThem(users)}, or delete ${itOrThem(users)}`,
            (name) => `metadata-migrations delete ${shellArgument(name)}`,
          ),
        )
      await rules.delete(ruleName)
      return {}
    },
    test: async ({ table }) => {
      const [database = '', name = ''] = table.split('.')
      const matching = (await rules.all()).filter((rule) => new Scope([rule]).hasTable(database, name))
      return { ruleNames: matching.slice(0, maxPageLength).map(({ ruleName }) => ruleName) }
    },
  }
}

const publicRule = ({ owner: _owner, ...rule }: RuleRecord): MetadataRule => rule
