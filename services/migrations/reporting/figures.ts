import type { Collection, PageOptions } from '../../../broker/state/collection.ts'
import { SharedReading } from '../../../broker/state/shared-reading.ts'
import type { Condition } from '../../../subjects/migrations/model/conditions.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import type { Rule } from '../../../subjects/migrations/model/rules.ts'
import type { CleanupRecord } from '../jobs/cleanups/record.ts'
import type { ChangesView } from '../live/following.ts'
import type { Counts } from '../../engine/run/counts.ts'
import type { RuleLists } from '../../engine/run/rules.ts'
import type { InFlightProgress } from '../progress/in-flight-progress.ts'
import { type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import type { RuleBook } from '../rules/book.ts'
import { publicMigration } from './view.ts'
import { countsOf, underWayOf, type WithFigures } from '../progress/with-figures.ts'
import type { WorkStores } from '../progress/work.ts'

interface Stores extends Pick<WorkStores, 'progress' | 'failures'> {
  readonly changesOf: (record: MigrationRecord) => ChangesView | undefined
  readonly conditionsOf: (record: MigrationRecord, failed: number) => Condition[]
  readonly inFlight: Pick<InFlightProgress, 'of'>
  /** The cleanups of all sources; they are in memory. */
  readonly allCleanups: () => Promise<readonly CleanupRecord[]>
}

interface FiguresOptions extends Stores {
  readonly records: Collection<typeof MigrationRecord>
  readonly rules: Pick<RuleBook, 'known'>
}

/** Characters of the rules in a list of migrations: with all else it has to fit into a message of 8 MiB, rules twice. */
const maxListedRulesLength = 1024 * 1024

const noRules: RuleLists = { exclusions: [], inclusions: [] }

/** Of known rules those of a migration, in its order. */
function pickRules(known: RuleLists, { exclusions = [], inclusions = [] }: MigrationRecord): RuleLists {
  const pick = (rules: readonly Rule[], ids: readonly string[]) =>
    ids.flatMap((id) => rules.find((rule) => rule.id === id) ?? [])
  return { exclusions: pick(known.exclusions, exclusions), inclusions: pick(known.inclusions, inclusions) }
}

/**
 * Records with their figures. Those are asked for first: they are forgotten when a scan is over, and then its record has
 * them.
 */
export class Figures {
  readonly #records: Collection<typeof MigrationRecord>
  readonly #stores: Stores
  readonly #rules: Pick<RuleBook, 'known'>
  readonly #reading: SharedReading<WithFigures[]>

  constructor({ records, rules, ...stores }: FiguresOptions) {
    this.#records = records
    this.#stores = stores
    this.#rules = rules
    this.#reading = new SharedReading(() => this.#of(() => this.#records.all()))
  }

  /** @throws GantryError NOT_FOUND */
  async record(migrationId: string): Promise<MigrationRecord> {
    const record = await this.#records.get(migrationId)
    if (record === undefined) throw new GantryError('NOT_FOUND', `there is no migration ${migrationId}`)
    return record
  }

  /** @throws GantryError NOT_FOUND */
  async one(migrationId: string): Promise<WithFigures> {
    const { progress, failures } = this.#stores
    const running = await progress.totals()
    const record = await this.record(migrationId)
    return this.#with(record, running, await failures.count(workIdOf(record)))
  }

  /** Some of them, as far as they are there; what is read of all is read once. */
  async some(migrationIds: readonly string[]): Promise<WithFigures[]> {
    const { progress, failures } = this.#stores
    const [running, failed] = await Promise.all([progress.totals(), failures.counts()])
    const found = await Promise.all(migrationIds.map((id) => this.#records.get(id)))
    return found.flatMap((record) =>
      record === undefined ? [] : [this.#with(record, running, failed.get(workIdOf(record)))],
    )
  }

  /** All of them, for sums over all; read once for all who ask at the same time. */
  all(): Promise<readonly WithFigures[]> {
    return this.#reading.read()
  }

  /** A page of them, ordered by name. */
  page(options: PageOptions<typeof MigrationRecord>): Promise<WithFigures[]> {
    return this.#of(() => this.#records.list(options))
  }

  async #of(read: () => Promise<MigrationRecord[]>): Promise<WithFigures[]> {
    const { progress, failures } = this.#stores
    const [running, failed] = await Promise.all([progress.totals(), failures.counts()])
    const all = await read()
    return all.map((record) => this.#with(record, running, failed.get(workIdOf(record))))
  }

  #with(record: MigrationRecord, running: Map<string, Counts>, failed = 0): WithFigures {
    const { inFlight, changesOf, conditionsOf } = this.#stores
    const counts = countsOf(record, running)
    return {
      record,
      counts,
      underWay: underWayOf(record, counts, inFlight),
      failed,
      changes: changesOf(record),
      conditions: conditionsOf(record, failed),
    }
  }

  /** A migration as callers see it. @throws GantryError NOT_FOUND */
  async view(migrationId: string): Promise<Migration> {
    const one = await this.one(migrationId)
    const [rules, cleanups] = await Promise.all([this.#rules.known(one.record), this.#stores.allCleanups()])
    return publicMigration(one, rules, cleanups)
  }

  /**
   * Several of them. Rules are shown as long as they leave room for the rest.
   * @param iterations how many of the last scans of each are shown
   */
  async views(several: readonly WithFigures[], iterations: number): Promise<Migration[]> {
    const idsOf = (effect: 'exclusions' | 'inclusions') => [
      ...new Set(several.flatMap(({ record }) => record[effect] ?? [])),
    ]
    const [known, cleanups] = await Promise.all([
      this.#rules.known({ exclusions: idsOf('exclusions'), inclusions: idsOf('inclusions') }),
      this.#stores.allCleanups(),
    ])
    let left = maxListedRulesLength
    return several.map((one) => {
      const rules = pickRules(known, one.record)
      left -= JSON.stringify(rules).length
      return publicMigration(one, left < 0 ? noRules : rules, cleanups, iterations)
    })
  }
}
