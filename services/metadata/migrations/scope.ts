import type { Collection } from '../../../broker/state/collection.ts'
import { isHiddenName } from '../catalogs/hidden-tables.ts'
import { matching } from '../catalogs/name-pattern.ts'
import type { MetadataRule } from '../../../subjects/metadata/rules.ts'
import type { MetadataMigrationRecord, RuleRecord } from './record.ts'

/** What a migration is about: all that one of its rules matches. */
export class Scope {
  readonly #rules: readonly {
    readonly database: (name: string) => boolean
    readonly table: (name: string) => boolean
  }[]

  constructor(rules: readonly Pick<MetadataRule, 'databasePattern' | 'tablePattern'>[]) {
    this.#rules = rules.map(({ databasePattern, tablePattern }) => ({
      database: matching(databasePattern),
      table: matching(tablePattern),
    }))
  }

  hasDatabase(name: string): boolean {
    return this.#rules.some(({ database }) => database(name))
  }

  hasTable(database: string, name: string): boolean {
    return !isHiddenName(name) && this.#rules.some((rule) => rule.database(database) && rule.table(name))
  }

  /** Functions belong to their database as a whole. */
  has({ kind, database, name = '' }: { kind: string; database: string; name?: string }): boolean {
    return kind === 'table' || kind === 'view' ? this.hasTable(database, name) : this.hasDatabase(database)
  }
}

/** What a migration is about, by its rules as they are now. */
export async function scopeOf(
  rules: Pick<Collection<typeof RuleRecord>, 'get'>,
  { ruleNames }: MetadataMigrationRecord,
): Promise<Scope> {
  const its = await Promise.all(ruleNames.map((name) => rules.get(name)))
  return new Scope(its.filter((rule) => rule !== undefined))
}
