import { emission, type Events } from '../../../broker/state/events.ts'
import type { LedgerEntry } from '../../../broker/state/ledger.ts'
import type { Log } from '../../../broker/common/log.ts'
import type { Payload } from '../../../subjects/kit/contract.ts'
import { maxToldFailures, migrationEvents } from '../../../subjects/migrations/events.ts'
import { failedPath, type FailureLedger, type RecordedFailure } from '../failures/failures.ts'
import type { KnownRecords } from '../lifecycle/known-records.ts'
import { factOf, type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { Poller } from '../../scheduling/poller.ts'
import { isActive } from '../lifecycle/states.ts'

/** Failures of a migration that are read for one event; of more the next one tells, while all are counted. */
const readAtOnce = 5_000

const { 'failures-changed': changed } = migrationEvents
type Change = Omit<Payload<typeof changed>, keyof ReturnType<typeof factOf>>
type Entry = LedgerEntry<RecordedFailure>

/** What followers of a migration know of its list. */
export type ToldFailures = Pick<Change, 'failedPathCount' | 'lastFailureId'>

export const nothingTold: ToldFailures = { failedPathCount: 0, lastFailureId: 0 }

/** What is to be told of a list that has this many paths now; undefined when that is known. @param fresh those that were not told of */
export function failuresChange(
  told: ToldFailures,
  failedPathCount: number,
  fresh: readonly Entry[],
): Change | undefined {
  if (fresh.length === 0 && failedPathCount === told.failedPathCount) return undefined
  const byClass = Map.groupBy(fresh, ({ entry }) => entry.failure)
  return {
    failedPathCount,
    added: fresh.length,
    addedByClass: Object.fromEntries(Array.from(byClass, ([name, entries]) => [name, entries.length])),
    lastFailureId: fresh.at(-1)?.sequence ?? told.lastFailureId,
    failedPaths: fresh.slice(0, maxToldFailures).map(failedPath),
  }
}

export interface FailureEventsOptions {
  readonly records: Pick<KnownRecords, 'all'>
  readonly failures: Pick<FailureLedger, 'mark' | 'counts' | 'page'>
  readonly events: Pick<Events, 'last' | 'publish'>
  readonly log: Log
}

/**
 * Tells of failures by what is in the ledger, where agents note theirs too. How far it has told is in the last event
 * itself: who goes on after a kill tells what is not told yet, and nothing of it is lost.
 */
export class FailureEvents extends Poller {
  readonly #options: FailureEventsOptions
  /** By internal id. */
  readonly #told = new Map<string, ToldFailures>()
  /** Those of which all was read that was there. */
  readonly #read = new Set<string>()
  /** Since when lists are not empty, by internal id. */
  readonly #failingSince = new Map<string, string>()
  /** The ledger of which all was told. */
  #toldMark: string | undefined

  constructor(options: FailureEventsOptions) {
    super(
      'migrations.failure-events',
      () => this.#look(),
      (err) => options.log.debug({ err }, 'Failures could not be told; retrying.'),
    )
    this.#options = options
  }

  /** How many paths of a migration were on its list when that was looked at last. */
  failedPaths({ internalId }: MigrationRecord): number {
    return this.#told.get(internalId)?.failedPathCount ?? 0
  }

  /** Since when this process knows that the list of a migration is not empty; for one that it is not. */
  failingSince({ internalId }: MigrationRecord): string {
    const since = this.#failingSince.get(internalId) ?? new Date().toISOString()
    this.#failingSince.set(internalId, since)
    return since
  }

  async #look(): Promise<void> {
    const { failures } = this.#options
    const mark = await failures.mark()
    if (mark === this.#toldMark) return
    const counts = await failures.counts()
    this.#forgetDeleted()
    let isAll = true
    for (const record of this.#options.records.all().values()) {
      const workId = workIdOf(record)
      if (!(await this.#tell(record, counts.get(workId) ?? 0))) isAll = false
      counts.delete(workId)
    }
    // What is left is of a migration that was not heard of yet, or is being forgotten.
    if (isAll && counts.size === 0) this.#toldMark = mark
  }

  /** Returns whether nothing is left to be told of a migration with so many failures. */
  async #tell(record: MigrationRecord, count: number): Promise<boolean> {
    const { failures, events } = this.#options
    const { migrationId, internalId, state } = record
    const told = this.#told.get(internalId) ?? (await this.#lastTold(record))
    this.#told.set(internalId, told)
    if (count === 0) this.#failingSince.delete(internalId)
    if (count === told.failedPathCount && !isActive(state) && this.#read.has(internalId)) return true
    const query = { after: told.lastFailureId, limit: readAtOnce }
    const fresh = count === 0 ? [] : await failures.page(workIdOf(record), query)
    const change = failuresChange(told, count, fresh)
    if (change !== undefined) {
      await events.publish(emission(changed, migrationId, { ...factOf(record), ...change }))
      this.#told.set(internalId, change)
    }
    const isRead = fresh.length < readAtOnce
    if (isRead) this.#read.add(internalId)
    else this.#read.delete(internalId)
    return isRead
  }

  #forgetDeleted(): void {
    const ids = new Set(
      this.#options.records
        .all()
        .values()
        .map(({ internalId }) => internalId),
    )
    for (const id of this.#told.keys()) {
      if (ids.has(id)) continue
      this.#told.delete(id)
      this.#read.delete(id)
      this.#failingSince.delete(id)
    }
  }

  async #lastTold({ migrationId, internalId }: MigrationRecord): Promise<ToldFailures> {
    const last = await this.#options.events.last(changed, migrationId)
    return last?.internalId === internalId ? last : nothingTold
  }
}
