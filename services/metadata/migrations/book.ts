import { isDeepStrictEqual } from 'node:util'
import { concurrently } from '../../../broker/common/concurrently.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import { maxTextLength } from '../../../subjects/kit/schemas.ts'
import { shortened } from '../../../subjects/kit/shortened.ts'
import {
  type Failure,
  keyOf,
  type Known,
  type ObjectId,
  type Outcome,
  type SeenWriteIds,
  type Settled,
} from './reconcile/objects.ts'
import type { TableName } from '../catalogs/contract/catalog.ts'
import { type Figures, noFigures, objectKey, type ObjectRecord } from './record.ts'

/** Records that are written at once: the broker answers each in its turn. */
const writesAtOnce = 64

/**
 * What is known of each object of one migration: in memory while it runs, some hundred bytes for each, and stored with each
 * change.
 */
export class ObjectBook {
  readonly #stored: Collection<typeof ObjectRecord>
  readonly #migration: string
  readonly #known: Map<string, ObjectRecord>
  #figures: Figures

  private constructor(
    stored: Collection<typeof ObjectRecord>,
    migration: string,
    known: readonly ObjectRecord[],
  ) {
    this.#stored = stored
    this.#migration = migration
    this.#known = new Map(known.map((record) => [keyOf(record), record]))
    this.#figures = { ...noFigures }
    for (const record of known) this.#count(record, 1)
  }

  static async open(stored: Collection<typeof ObjectRecord>, migration: string): Promise<ObjectBook> {
    return new ObjectBook(stored, migration, await stored.listGroup(migration))
  }

  get figures(): Figures {
    return { ...this.#figures }
  }

  get size(): number {
    return this.#known.size
  }

  get(id: ObjectId): ObjectRecord | undefined {
    return this.#known.get(keyOf(id))
  }

  all(): Iterable<ObjectRecord> {
    return this.#known.values()
  }

  knownOf(id: ObjectId): Known {
    return settledOf(this.get(id)) ?? {}
  }

  /** Stores that a table has another name at the target. */
  async rename(before: TableName, { database, name = '' }: ObjectId): Promise<void> {
    const record = this.get({ kind: 'table', ...before })
    if (record === undefined) return
    const { renamedFrom: _done, ...rest } = record
    await this.#put({ ...rest, database, name })
    await this.forget(record)
  }

  /** Stores that a table is at the target by none of the names that it had before. */
  async notRenamed(id: ObjectId): Promise<void> {
    const record = this.get(id)
    if (record?.renamedFrom === undefined) return
    const { renamedFrom: _not, ...rest } = record
    await this.#put(rest)
  }

  /**
   * Stores that a table is called something else by now, and is at the target by the name that it had before. What had that
   * name before it may be at the target still.
   */
  async renamedAgain(id: ObjectId, renamedFrom: TableName, sinceMs: number): Promise<void> {
    const { database, name = '' } = id
    const before = settledOf(this.get(id))
    const kind = (before && this.get(id)?.kind) ?? id.kind
    const message = 'it was renamed again or dropped at the source, which has not reported it yet'
    await this.#put({
      migration: this.#migration,
      kind,
      database,
      name,
      ...before,
      state: 'waiting',
      message,
      sinceMs,
      renamedFrom,
      time: new Date().toISOString(),
    })
  }

  /** Stores what became of objects. */
  async take(
    outcomes: readonly Outcome[],
    sinceMs: (id: ObjectId) => number,
    renamedFrom: (id: ObjectId) => TableName | undefined,
  ): Promise<void> {
    await concurrently(outcomes, writesAtOnce, async (outcome) => {
      if (outcome.result === 'gone' || outcome.result === 'kept' || outcome.result === 'to-be-noted') return
      if (outcome.result === 'dropped') return this.forget(outcome)
      const record = recordOf(this.#migration, outcome, this.get(outcome), sinceMs(outcome))
      // It may be renamed yet.
      const before =
        outcome.result === 'waiting' || outcome.result === 'failed' ? renamedFrom(outcome) : undefined
      const isThere = before !== undefined && outcome.renamedFrom === undefined
      await this.#put({ ...record, ...(isThere && { renamedFrom: before }) })
    })
  }

  /** Says that an object is gone at the source, and is not dropped before somebody approves of it. */
  async hold(record: ObjectRecord, failure: Failure): Promise<void> {
    await this.#put({
      ...record,
      state: 'held',
      failureClass: failure.failureClass,
      message: failure.message,
      time: new Date().toISOString(),
    })
  }

  async forget(id: ObjectId): Promise<void> {
    const before = this.get(id)
    if (before === undefined) return
    await this.#stored.erase(objectKey(this.#migration, id))
    this.#known.delete(keyOf(id))
    this.#count(before, -1)
  }

  async #put(record: ObjectRecord): Promise<void> {
    const before = this.get(record)
    if (before !== undefined && isSame(before, record)) return
    await this.#stored.put(objectKey(this.#migration, record), record)
    if (before !== undefined) this.#count(before, -1)
    this.#known.set(keyOf(record), record)
    this.#count(record, 1)
  }

  #count({ state, kind, partitions = 0, is }: ObjectRecord, by: 1 | -1): void {
    const figures = { ...this.#figures }
    const names = { failed: 'failed', conflict: 'conflicts', waiting: 'waiting', held: 'held' } as const
    if (state !== 'arrived') figures[names[state]] += by
    // One that has failed later is still there as it was.
    if (is !== undefined && state !== 'conflict') {
      const kinds = { database: 'databases', table: 'tables', view: 'tables', function: 'functions' } as const
      figures[kinds[kind]] += by
      figures.partitions += by * partitions
    }
    this.#figures = figures
  }
}

/** Forgets all objects of a migration. */
export async function eraseObjects(
  stored: Collection<typeof ObjectRecord>,
  migration: string,
): Promise<void> {
  const all = await stored.listGroup(migration)
  await concurrently(all, writesAtOnce, (record) => stored.erase(objectKey(migration, record)))
}

function recordOf(
  migration: string,
  outcome: Exclude<Outcome, { result: 'gone' | 'kept' | 'dropped' | 'to-be-noted' }>,
  before: ObjectRecord | undefined,
  sinceMs: number,
): ObjectRecord {
  const { kind, database, name } = outcome
  // One that was made anew has those alone that are told of.
  const isSameObject = before?.kind === kind && outcome.result !== 'created'
  const partitions = outcome.partitions ?? (isSameObject ? before.partitions : undefined)
  const written = 'written' in outcome ? outcome.written : isSameObject ? before.written : undefined
  const common = {
    migration,
    kind,
    database,
    ...(name !== undefined && { name }),
    ...(partitions !== undefined && { partitions }),
    ...(written !== undefined && { written }),
    time: new Date().toISOString(),
  }
  const kept = settledOf(before)
  switch (outcome.result) {
    case 'same':
    case 'created':
    case 'changed': {
      const { settled, note, waiting, writeIds, isOfWrites } = outcome
      const more = { ...settled, ...(writeIds && { writeIds: stored(writeIds) }) }
      // What waits is looked at again, and what is to be noted then is told after that.
      if (waiting !== undefined) {
        const message = note === undefined ? waiting : `${waiting}; also: ${note.message}`
        return {
          ...common,
          ...more,
          state: 'waiting',
          message: shortened(message, maxTextLength),
          sinceMs: writeIds?.sinceMs ?? sinceMs,
          ...(isOfWrites && { isOfWrites }),
        }
      }
      return note === undefined
        ? { ...common, ...settled, state: 'arrived' }
        : { ...common, ...more, state: 'failed', hasArrived: true, ...fitting(note) }
    }
    case 'failed':
      return {
        ...common,
        ...kept,
        ...(before?.writeIds && { writeIds: before.writeIds }),
        ...(before?.isHidden && { isHidden: true }),
        state: 'failed',
        ...fitting(outcome.failure),
      }
    case 'held':
      return { ...common, ...(outcome.settled ?? kept), state: 'held', ...fitting(outcome.failure) }
    case 'conflict':
      return { ...common, ...kept, state: 'conflict', message: outcome.message }
    case 'waiting':
      return {
        ...common,
        ...kept,
        ...(outcome.writeIds && { writeIds: stored(outcome.writeIds) }),
        ...(outcome.isOfWrites && { isOfWrites: true }),
        ...((outcome.isHidden ?? before?.isHidden) && { isHidden: true }),
        state: 'waiting',
        message: outcome.message,
        sinceMs,
      }
  }
}

const stored = ({ aborted, ...seen }: SeenWriteIds) => ({ ...seen, aborted: [...aborted] })

/** What was found when it was written last; undefined where it never was. */
function settledOf({ wanted, is, isTheirs }: Partial<ObjectRecord> = {}): Settled | undefined {
  if (wanted === undefined || is === undefined) return undefined
  return { wanted, is, ...(isTheirs && { isTheirs }) }
}

/** What others say may be longer than what is stored of it. */
const fitting = ({ failureClass, message }: Failure): Failure => ({
  failureClass,
  message: shortened(message, maxTextLength),
})

/** Whether they differ in nothing but when that was found out. */
const isSame = ({ time: _one, ...one }: ObjectRecord, { time: _other, ...other }: ObjectRecord): boolean =>
  isDeepStrictEqual(one, other)
