import { Collection, type PageOptions } from '../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import { GantryError, isGantryError, notAccepted } from '../../../subjects/kit/errors.ts'
import type { FilesystemKind } from '../../../subjects/filesystems/kinds.ts'
import { product } from '../../../subjects/kit/names.ts'
import { maxRules, Rule, type RuleEffect, ruleEffects } from '../../../subjects/migrations/model/rules.ts'
import { maxProgramSizeOfAll, programSizeOf } from '../../engine/patterns/pattern.ts'
import type { RuleLists } from '../../engine/run/rules.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { defaultRule, defaultsOf, globalExclusions } from './defaults.ts'

/** Rules of one migration together, in characters of JSON: each thread has them, compiled. */
const maxRulesLength = 4 * 1024 * 1024

/** Steps of the pattern of a rule. */
export const programSize = (rule: Rule): number =>
  rule.type === 'regex' ? programSizeOf(rule.patternType ?? 'JAVA_PCRE', rule.regex) : 0

/** What can be compiled together, and what these are, where they are more. */
function excessOf(rules: readonly Rule[]): string | undefined {
  // It is looked at one by one: all of them as one text, or compiled, may be more than there is memory or time for.
  let length = 0
  for (const rule of rules.slice(0, maxRules + 1)) length += JSON.stringify(rule).length + 1
  if (rules.length > maxRules || length > maxRulesLength)
    return `${maxRules} rules with ${maxRulesLength} characters in total; these are ${rules.length} rules with ${rules.length > maxRules ? 'at least ' : ''}${length} characters`
  let size = 0
  for (const rule of rules) {
    size += programSize(rule)
    if (size > maxProgramSizeOfAll)
      return `${maxProgramSizeOfAll} steps of patterns in total; these have more: use fewer or simpler patterns`
  }
  return undefined
}

/** The rules of a migration, by their ids. */
export type RuleIds = Pick<MigrationRecord, 'exclusions' | 'inclusions'>

/** The exclusions and inclusions that people made, and those that come with kinds of filesystems. Rules never change. */
export class RuleBook {
  readonly #made: Readonly<Record<RuleEffect, Collection<typeof Rule>>>

  private constructor(made: Readonly<Record<RuleEffect, Collection<typeof Rule>>>) {
    this.#made = made
  }

  /** @param maxRules how many exclusions may be made, and how many inclusions */
  static async open(
    connection: NatsConnection,
    maxRules: () => Promise<number>,
    journals?: RecordJournals,
  ): Promise<RuleBook> {
    const open = (what: `${RuleEffect}s`) =>
      Collection.open(connection, {
        bucket: what,
        schema: Rule,
        version: 1,
        journals,
        most: {
          count: maxRules,
          what,
          fix: `delete some with "${product} ${what} delete", or have an administrator raise maxRules with "${product} settings put"`,
        },
      })
    const [exclusion, inclusion] = await Promise.all([open('exclusions'), open('inclusions')])
    return new RuleBook({ exclusion, inclusion })
  }

  /** A page of them, ordered by id. */
  made(effect: RuleEffect, page: PageOptions<typeof Rule>): Promise<Rule[]> {
    return this.#made[effect].list(page)
  }

  /** @throws GantryError NOT_FOUND */
  async get(effect: RuleEffect, id: string): Promise<Rule> {
    const rule = (effect === 'exclusion' ? defaultRule(id) : undefined) ?? (await this.#made[effect].get(id))
    if (rule === undefined) throw new GantryError('NOT_FOUND', `there is no ${effect} ${id}`)
    return rule
  }

  /** All or none. @throws GantryError ALREADY_EXISTS, LIMIT_REACHED */
  async create(effect: RuleEffect, rules: readonly Rule[]): Promise<void> {
    const made: string[] = []
    try {
      for (const rule of rules) {
        if (defaultRule(rule.id) !== undefined)
          throw new GantryError(
            'ALREADY_EXISTS',
            `${rule.id} is a built-in rule of Gantry; choose another id`,
          )
        await this.#made[effect].create(rule.id, rule)
        made.push(rule.id)
      }
    } catch (error) {
      for (const id of made) await this.#made[effect].delete(id)
      throw error
    }
  }

  /** @throws GantryError NOT_FOUND, NOT_ALLOWED_IN_STATE */
  async delete(effect: RuleEffect, id: string): Promise<void> {
    if (effect === 'exclusion' && defaultRule(id) !== undefined) {
      throw new GantryError(
        'NOT_ALLOWED_IN_STATE',
        `${id} is a built-in rule and cannot be deleted; detach it from single migrations (exclusions detach)`,
      )
    }
    await this.#made[effect].delete(id)
  }

  /** Deletes what was made to be deleted with a migration, which is gone. @param isUsed whether another one has a rule */
  async deleteWith(migrationId: string, isUsed: (effect: RuleEffect, id: string) => boolean): Promise<void> {
    for (const effect of ruleEffects) {
      for (const { id, deletedWith } of await this.#made[effect].all()) {
        if (deletedWith !== migrationId || isUsed(effect, id)) continue
        await this.#made[effect].delete(id).catch((error: unknown) => {
          if (!isGantryError(error, 'NOT_FOUND')) throw error
        })
      }
    }
  }

  /** The rules of a migration. @throws GantryError NOT_FOUND when one is gone, so that nothing is copied against it */
  async of({ exclusions = [], inclusions = [] }: RuleIds): Promise<RuleLists> {
    const all = (effect: RuleEffect, ids: readonly string[]) =>
      Promise.all(ids.map((id) => this.get(effect, id)))
    const [excluding, including] = await Promise.all([
      all('exclusion', exclusions),
      all('inclusion', inclusions),
    ])
    return { exclusions: excluding, inclusions: including }
  }

  /**
   * The exclusions that people made, then those of every migration.
   * @throws GantryError NOT_ACCEPTED for more than can be compiled at once
   */
  async ofEveryone(): Promise<readonly Rule[]> {
    const all = [...(await this.#made.exclusion.all()), ...globalExclusions]
    const excess = excessOf(all)
    if (excess === undefined) return all
    throw notAccepted(
      'migrationId',
      `is required, as all exclusions together are too many: at most ${excess}`,
    )
  }

  /** The same to be looked at: a rule that is gone is left out. */
  async known(ids: RuleIds): Promise<RuleLists> {
    try {
      return await this.of(ids)
    } catch (error) {
      if (!isGantryError(error, 'NOT_FOUND')) throw error
      const some = async (effect: RuleEffect, list: readonly string[] = []) =>
        (await Promise.allSettled(list.map((id) => this.get(effect, id)))).flatMap((one) =>
          one.status === 'fulfilled' ? [one.value] : [],
        )
      return {
        exclusions: await some('exclusion', ids.exclusions),
        inclusions: await some('inclusion', ids.inclusions),
      }
    }
  }

  /**
   * Ids of the rules that a new migration has: those it is given, then the default ones.
   * @throws GantryError NOT_FOUND, and what `requireFit` throws
   */
  async ofNew(
    given: { exclusions?: string[]; inclusions?: string[]; defaultExclusions?: boolean },
    migration: { readonly kind: MigrationRecord['kind']; readonly source: FilesystemKind },
  ): Promise<Required<RuleIds>> {
    const { exclusions = [], inclusions = [], defaultExclusions: hasDefaults = true } = given
    const defaults = hasDefaults ? defaultsOf(migration.source).map(({ id }) => id) : []
    const ids = {
      exclusions: [...new Set([...exclusions, ...defaults])],
      inclusions: [...new Set(inclusions)],
    }
    await this.requireFit(ids, migration.kind)
    return ids
  }

  /**
   * @throws GantryError NOT_FOUND for a rule that there is not, NOT_ACCEPTED for more rules than a migration can have,
   *   UNSUPPORTED for one that its kind cannot have
   */
  async requireFit(ids: Required<RuleIds>, kind: MigrationRecord['kind']): Promise<void> {
    const rules = await this.of(ids)
    const all = [...rules.exclusions, ...rules.inclusions]
    const excess = excessOf(all)
    if (excess !== undefined) throw new GantryError('NOT_ACCEPTED', `a migration can have at most ${excess}`)
    const aging = kind === 'live' ? all.find(({ type }) => type === 'age') : undefined
    if (aging === undefined) return
    throw new GantryError(
      'UNSUPPORTED',
      `${aging.id} selects files by age, which a live migration cannot re-evaluate as files get older`,
    )
  }
}
