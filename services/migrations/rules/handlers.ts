import type { Handlers } from '../../../subjects/kit/contract.ts'
import { type exclusions as exclusionContracts } from '../../../subjects/rules/exclusions.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import type { inclusions as inclusionContracts } from '../../../subjects/rules/inclusions.ts'
import type { Rule, RuleEffect, RuleView } from '../../../subjects/migrations/model/rules.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { explainer, type RuleDependencies } from './explain.ts'
import { normalRule, normalRules } from './normal.ts'
import { defaultViews, globalViews, restrictionViews, ruleView } from './view.ts'
import { detachCommand, inUseText } from '../../../subjects/kit/in-use.ts'

type Common = Omit<Handlers<typeof inclusionContracts>, 'list'>

/** What is the same for exclusions and inclusions. */
function ruleHandlers(
  effect: RuleEffect,
  { records, rules }: Pick<RuleDependencies, 'records' | 'rules'>,
): Common {
  const field = `${effect}s` as const
  const create = async (given: Rule): Promise<RuleView> => {
    const rule = normalRule(given)
    await rules.create(effect, [rule])
    return ruleView(effect, rule, true)
  }
  const migration = async (migrationId: string): Promise<MigrationRecord> => {
    const record = await records.get(migrationId)
    if (record === undefined) throw new GantryError('NOT_FOUND', `there is no migration ${migrationId}`)
    return record
  }
  return {
    'create-regex': (input) => create({ type: 'regex', ...input }),
    'create-file-size': (input) => create({ type: 'fileSize', ...input }),
    'create-date': (input) => create({ type: 'date', ...input }),
    'create-age': (input) => create({ type: 'age', ...input }),
    'create-paths': (input) => create({ type: 'paths', ...input }),
    'create-many': async (input) => {
      const all = normalRules(input.rules)
      await rules.create(effect, all)
      return all.map((rule) => ruleView(effect, rule))
    },
    get: async ({ id }) => ruleView(effect, await rules.get(effect, id), true),
    delete: async ({ id }) => {
      const users = (await records.all())
        .filter((record) => record[field]?.includes(id))
        .map(({ migrationId }) => migrationId)
        .slice(0, maxPageLength)
      if (users.length > 0 && !ruleView(effect, await rules.get(effect, id)).defaultExclusion) {
        const text = inUseText(id, users, 'detach it', (name) => detachCommand(field, name, id))
        throw new GantryError('IN_USE', text, { details: { migrations: users } })
      }
      await rules.delete(effect, id)
      return {}
    },
    attach: async ({ migrationId, id }) => {
      const { kind, exclusions = [], inclusions = [] } = await migration(migrationId)
      const ids = { exclusions, inclusions }
      await rules.requireFit({ ...ids, [field]: [...new Set([...ids[field], id])] }, kind)
      await records.update(migrationId, (current) => {
        const has = current[field] ?? []
        if (has.includes(id))
          throw new GantryError('ALREADY_EXISTS', `${migrationId} already has the ${effect} ${id}`)
        return { ...current, [field]: [...has, id] }
      })
      return {}
    },
    detach: async ({ migrationId, id }) => {
      await migration(migrationId)
      await records.update(migrationId, (current) => {
        const has = current[field] ?? []
        if (!has.includes(id)) throw new GantryError('NOT_FOUND', `${migrationId} has no ${effect} ${id}`)
        return { ...current, [field]: has.filter((one) => one !== id) }
      })
      return {}
    },
    attached: async ({ migrationId }) => {
      const known = await rules.known(await migration(migrationId))
      return known[field].map((rule) => ruleView(effect, rule))
    },
  }
}

export function exclusionHandlers(dependencies: RuleDependencies): Handlers<typeof exclusionContracts> {
  return {
    ...ruleHandlers('exclusion', dependencies),
    list: async ({ scope, fsType, limit = maxPageLength, after }) => {
      const isAsked = (one: typeof scope) => scope === undefined || scope === one
      const made =
        isAsked('userDefined') && fsType === undefined
          ? await dependencies.rules.made('exclusion', { after, limit })
          : []
      return [
        ...made.map((rule) => ruleView('exclusion', rule)),
        ...(isAsked('global') ? globalViews() : []),
        ...(isAsked('source') ? defaultViews(fsType) : []),
        ...(isAsked('target') ? restrictionViews(fsType) : []),
      ]
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .filter(({ id }) => after === undefined || id > after)
        .slice(0, limit)
    },
    test: explainer(dependencies),
  }
}

export function inclusionHandlers(dependencies: RuleDependencies): Handlers<typeof inclusionContracts> {
  return {
    ...ruleHandlers('inclusion', dependencies),
    list: async (page) => {
      const made = await dependencies.rules.made('inclusion', page)
      return made.map((rule) => ruleView('inclusion', rule))
    },
  }
}
