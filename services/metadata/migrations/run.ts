import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Log } from '../../../broker/common/log.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { pauseAfter } from '../../../broker/common/retry.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import { emission } from '../../../broker/state/events.ts'
import { type ErrorCode, isGantryError } from '../../../subjects/kit/errors.ts'
import { maxTextLength } from '../../../subjects/kit/schemas.ts'
import { plural } from '../../../subjects/kit/plural.ts'
import { shortened } from '../../../subjects/kit/shortened.ts'
import { failureClasses } from '../../../subjects/migrations/model/failure-classes.ts'
import {
  defaultComparisonSeconds,
  defaultHealingSeconds,
  fewDrops,
  metadataMigrationEvents,
} from '../../../subjects/metadata/migrations.ts'
import { declarationOf } from '../../../broker/tasks/task-list.ts'
import { StoreError } from '../../drivers/contract/store-error.ts'
import type { CatalogChange, TableName } from '../catalogs/contract/catalog.ts'
import { hiddenNameOf, isHiddenName } from '../catalogs/hidden-tables.ts'
import { unlessOfAll } from '../catalogs/unless-of-all.ts'
import { ObjectBook } from './book.ts'
import type { Ends } from './ends.ts'
import {
  factOf,
  type MetadataMigrationRecord,
  type ObjectRecord,
  type ProgressRecord,
  type RuleRecord,
} from './record.ts'
import { type Scope, scopeOf } from './scope.ts'
import { happened } from './transition.ts'
import { keyOf, type Known, objectOf, type ObjectId, type Outcome } from './reconcile/objects.ts'
import type { MetadataWork, TableWork, WorkKind, WorkSides } from './reconcile/questions.ts'

/** Tables that are handed to a thread at once: it tells of all of them when it is done, or some seconds are over. */
export const tablesAtOnce = 100
/** Transactional tables that the source is asked about at once: a name of each, and some numbers. */
const writesAskedAtOnce = 1_000
/** Threads that work for one migration at once, each with a connection of its own to both catalogs. */
const threadsOfMigration = 4
/** What failed for a reason that may pass is tried again after the first, doubled each time that something fails again, up to the longest. */
const firstRetryMs = 1_000
const longestRetryMs = 60_000
const hourMs = 3_600_000
/**
 * A catalog may still do for so long what it was asked for by somebody who has gone: a metastore tries again for 20 s by
 * itself, and waits a minute for a lock of its database.
 */
const usualLateMs = 60_000
/** What has failed again and again in a way that does not pass is for somebody to see to. */
const maxAttempts = 5

/** Errors that do not pass by themselves, as of a catalog that is gone. */
const unrecoverable: readonly ErrorCode[] = ['INVALID_INPUT', 'NOT_ACCEPTED', 'NOT_FOUND', 'UNSUPPORTED']

/** Whether the source has a database; `failed` where it does and the target has none of that name. */
type Found = 'there' | 'gone' | 'failed'

/** Work that meets hidden tables, which may be of another migration. */
const looksAtHidden: ReadonlySet<WorkKind> = new Set(['bring-tables', 'drop'])

/** Asks a thread about both catalogs of a migration. */
export type Asked = <K extends WorkKind>(
  kind: K,
  asked: MetadataWork[K]['asked'],
) => Promise<MetadataWork[K]['answer']>

export interface RunDependencies {
  readonly records: Collection<typeof MetadataMigrationRecord>
  readonly rules: Collection<typeof RuleRecord>
  readonly objects: Collection<typeof ObjectRecord>
  readonly progress: Collection<typeof ProgressRecord>
  readonly ends: Ends
  /** Does a piece of work in a thread. Throws GantryError NOT_ACCEPTED, StoreError, and the signal's reason. */
  readonly work: <K extends WorkKind>(
    kind: K,
    sides: WorkSides,
    asked: MetadataWork[K]['asked'],
    asker: { readonly owner: string; readonly signal: AbortSignal },
  ) => Promise<MetadataWork[K]['answer']>
  readonly log: Log
  /** Instead of `usualLateMs`. */
  readonly lateMs?: number
}

/** What a migration does from its start until it is paused, stopped or done. */
export class Run {
  readonly #dependencies: RunDependencies
  readonly #name: string
  readonly #internalId: string
  readonly #closing = new AbortController()
  #book!: ObjectBook
  /** Objects that a process which ended had in its hands. */
  readonly #inHand = new Set<string>()
  /**
   * Those of which nothing was heard, with when they are looked at once more (`performance.now`): it may be done only by then.
   * Not stored: after a restart they would count as our own work, however much later that is.
   */
  readonly #late = new Map<string, number>()
  /** Those that this run is about to write. */
  readonly #handed = new Set<string>()
  /** Whether hidden tables that were left by whoever ran it before have been looked for. */
  #isLeftDropped = false
  /** What is stored of both. */
  #noted: readonly string[] = []
  /** Names of before of tables that may not be at the target by those that they have now, by these as keys; the last ones first. */
  readonly #renames = new Map<string, readonly TableName[]>()
  #owner = ''
  #progress: Omit<ProgressRecord, 'figures'> = {}
  #toldProgress = ''
  /** Failed objects are left alone for so long after `#retriedMs`. */
  #retryMs = firstRetryMs
  #retriedMs = performance.now()

  constructor(dependencies: RunDependencies, { migrationName, internalId }: MetadataMigrationRecord) {
    this.#dependencies = dependencies
    this.#name = migrationName
    this.#internalId = internalId
  }

  /** Works until it is ended, or there is nothing left to do, and leaves its figures as they are then. Never rejects. */
  async work(): Promise<void> {
    await this.#untilEnded()
    // What has been done is not taken for half done later, whoever has changed it since.
    await Promise.all([this.#tell(this.#progress), this.#note()]).catch((err: unknown) =>
      this.#dependencies.log.warn({ err, migration: this.#name }, 'The last statistics could not be stored.'),
    )
  }

  async #untilEnded(): Promise<void> {
    const { signal } = this.#closing
    const { log } = this.#dependencies
    for (let attempt = 1; !signal.aborted;) {
      try {
        if (!(await this.#round())) return
        attempt = 1
        await delay(pollMs, undefined, { signal })
      } catch (error) {
        if (signal.aborted) return
        // What became of these is not known: it may be done.
        this.#takeInHand(this.#handed)
        log.warn({ err: error, migration: this.#name }, 'A metadata migration makes no progress; retrying.')
        if (await this.#failed(error, attempt)) return
        await this.#tell({ ...this.#progress, reason: textOf(error) }).catch(() => undefined)
        await pauseAfter(attempt++, signal)
      }
    }
  }

  /** Ends it; a piece of work that is under way is given up, and looked at again when it goes on. */
  end(): void {
    this.#closing.abort(new Error('the migration of metadata was ended'))
  }

  /** One comparison, or what has changed since; false when there is nothing more to do. */
  async #round(): Promise<boolean> {
    const { records, objects, ends } = this.#dependencies
    const record = await records.get(this.#name)
    if (record?.internalId !== this.#internalId || record.state !== 'RUNNING') return false
    this.#owner = record.owner ?? ''
    if (this.#book === undefined) {
      this.#book = await ObjectBook.open(objects, this.#internalId)
      this.#takeInHand(record.inHand)
      this.#noted = record.inHand
      for (const { renamedFrom, ...id } of this.#book.all())
        if (renamedFrom !== undefined) this.#renames.set(keyOf({ ...idOf(id), kind: 'table' }), [renamedFrom])
    }
    const scope = await scopeOf(this.#dependencies.rules, record)
    const sides = await ends.sidesOf(record)
    let goesOn = true
    // A comparison does so itself.
    if (!this.#isLeftDropped && record.done >= record.wanted)
      await this.#dropLeft(sides, scope, this.#databases())
    if (record.done < record.wanted) await this.#compare(record, scope, sides)
    else if (record.once) goesOn = await this.#retryOrEnd(record, scope, sides)
    else await this.#follow(record, scope, sides)
    await this.#note()
    return goesOn
  }

  /** Brings everything that the rules match, and drops what is gone at the source. */
  async #compare(record: MetadataMigrationRecord, scope: Scope, sides: WorkSides): Promise<void> {
    await this.#tell({ phase: 'comparing' })
    // Before anything is read: what changes meanwhile is looked at again.
    const { position } = record.once ? { position: undefined } : await this.#ask('position', sides, {})
    const seen = new Set<string>()
    /** Databases of which nobody knows what is in them. */
    const unknown = new Set<string>()
    const views: [string, TableWork[]][] = []
    const { databases } = await this.#ask('databases', sides, {})
    for (const database of databases.filter((name) => scope.hasDatabase(name))) {
      const { found, views: its } = await this.#bringContents(record, scope, sides, database, seen)
      if (found === 'failed' || this.#isUnread(database)) unknown.add(database)
      views.push([database, its])
    }
    for (const [database, works] of views) await this.#bringTables(record, sides, database, works, seen)
    const gone = [...this.#book.all()].filter((its) => !seen.has(keyOf(its)) && !unknown.has(its.database))
    this.#letGo(scope)
    // Before databases are forgotten: nobody would look for them there later.
    await this.#dropLeft(sides, scope, [...this.#databases(), ...views.map(([database]) => database)])
    for (const its of gone.filter((one) => !scope.has(one))) await this.#book.forget(its)
    const dropped = gone.filter((one) => scope.has(one))
    await this.#drop(sides, dropped, record.maxDrops, record)
    await this.#dropUnknown(sides, scope)
    const figures = this.#book.figures
    await this.#dependencies.records.update(
      this.#name,
      (current) => {
        if (current.internalId !== this.#internalId) return undefined
        const { position: _before, approvedDrops: _approved, ...rest } = current
        return {
          ...rest,
          done: record.wanted,
          compared: new Date().toISOString(),
          ...(position !== undefined && { position }),
        }
      },
      (changed) => [
        emission(metadataMigrationEvents.compared, this.#name, { ...factOf(changed), ...figures }),
      ],
    )
    await this.#tell(record.once ? this.#progress : { phase: 'following', ...detectionBy(position) })
  }

  /**
   * Brings a database with its functions and tables.
   * @returns its views, which are for when all tables that they read are there
   */
  async #bringContents(
    record: MetadataMigrationRecord,
    scope: Scope,
    sides: WorkSides,
    database: string,
    seen: Set<string>,
  ): Promise<{ found: Found; views: TableWork[] }> {
    const found = await this.#bringDatabase(sides, database, seen)
    if (found !== 'there') return { found, views: [] }
    await this.#bringFunctions(sides, database, seen)
    const { tables = [] } =
      (await this.#reading(database, seen, this.#ask('tables', sides, { database, side: 'source' }))) ?? {}
    const wanted = tables.filter(({ name }) => scope.hasTable(database, name))
    const isView = ({ type }: { readonly type: string }) => type.includes('VIEW')
    const worksOf = (some: typeof wanted) => some.map(({ name }) => this.#tableWork(database, name))
    await this.#bringTables(record, sides, database, worksOf(wanted.filter((one) => !isView(one))), seen)
    return { found, views: worksOf(wanted.filter(isView)) }
  }

  async #bringDatabase(sides: WorkSides, database: string, seen: Set<string>): Promise<Found> {
    const id = { kind: 'database', database } as const
    const [outcome] = await this.#write([id], seen, () =>
      this.#ask('bring-database', sides, { database, known: this.#knownOf(id) }),
    )
    if (outcome?.result === 'gone') return 'gone'
    // One that is there already, and only cannot be changed, keeps nothing from its tables.
    return outcome?.result === 'failed' && this.#book.get(id)?.is === undefined ? 'failed' : 'there'
  }

  async #bringFunctions(sides: WorkSides, database: string, seen: Set<string>): Promise<void> {
    const isIts = (one: ObjectId) => one.kind === 'function' && one.database === database
    const unbooked = () => [...this.#handed, ...this.#inHand].map(objectOf)
    const bringing = this.#write([], seen, () => {
      const its = [...this.#book.all(), ...unbooked()].filter(isIts)
      const known = Object.fromEntries(its.map((one) => [one.name ?? '', this.#knownOf(one)]))
      return this.#ask('bring-functions', sides, { database, known })
    })
    await this.#reading(database, seen, bringing)
  }

  /** What was asked of a database; undefined where it alone cannot be read, which is then its failure. */
  async #reading<T>(database: string, seen: Set<string>, asked: Promise<T>): Promise<T | undefined> {
    try {
      return await asked
    } catch (error) {
      const { failure: failureClass, message } = unlessOfAll(error)
      const failure = { failureClass, message }
      await this.#taken([{ kind: 'database', database, result: 'failed', failure }], seen)
      return undefined
    }
  }

  /** Whether it is not known what is in a database, be it at the target or not: nothing of it is dropped then. */
  #isUnread(database: string): boolean {
    const record = this.#book.get({ kind: 'database', database })
    return record?.state === 'failed' && record.hasArrived !== true
  }

  #tableWork(database: string, name: string): TableWork {
    const record = this.#recordOf(database, name)
    const before = this.#nameBefore(keyOf({ kind: 'table', database, name }))
    const its = before && this.#recordOf(before.database, before.name)
    const renamedFrom = before && its && { ...before, known: this.#knownOf(its) }
    return {
      name,
      known: this.#knownOf(record ?? { kind: 'table', database, name }),
      sinceMs: record?.sinceMs ?? Date.now(),
      ...(renamedFrom !== undefined && { renamedFrom }),
      ...(record?.writeIds && { writeIds: record.writeIds }),
      ...(record?.written && { written: record.written }),
    }
  }

  /** The name by which a table has arrived, of those that it had before. */
  #nameBefore(key: string): TableName | undefined {
    return this.#renames
      .get(key)
      ?.find(({ database, name }) => this.#recordOf(database, name)?.is !== undefined)
  }

  /** Notes which tables have got other names. It may be told of what has been looked at already. */
  #noteRenames(changes: readonly CatalogChange[]): void {
    for (const { database, table: name, renamedFrom } of changes) {
      if (name === undefined || renamedFrom === undefined) continue
      const key = keyOf({ kind: 'table', database, name })
      const before = keyOf({ kind: 'table', ...renamedFrom })
      // What is in the book by that name is another table while this one is at the target by one of before.
      const isAnothers = this.#nameBefore(before) !== undefined
      const names = [...(isAnothers ? [] : [renamedFrom]), ...(this.#renames.get(before) ?? [])]
      this.#renames.set(
        key,
        names.filter((one) => keyOf({ kind: 'table', ...one }) !== key),
      )
      this.#renames.delete(before)
    }
  }

  /** What is at the target by this name is what the source has by it: nothing that had it before is there. */
  async #notRenamedFrom(key: string): Promise<void> {
    for (const [its, names] of this.#renames) {
      const others = names.filter((one) => keyOf({ kind: 'table', ...one }) !== key)
      if (its === key || others.length === names.length) continue
      this.#renames.set(its, others)
      if (this.#nameBefore(its) === undefined) await this.#book.notRenamed(objectOf(its))
    }
  }

  /**
   * Tables that are at the target by names that they have no more at the source, and are to be renamed: their keys.
   * @param gone by their keys: those that are to be renamed no more
   */
  #toBeRenamed(gone: ReadonlyMap<string, unknown>): ReadonlySet<string> {
    const keys = new Set<string>()
    for (const key of this.#renames.keys()) {
      if (gone.has(key)) continue
      const [before, { database, name = '' }] = [this.#nameBefore(key), objectOf(key)]
      if (before !== undefined && this.#recordOf(database, name)?.renamedFrom !== undefined)
        keys.add(keyOf({ kind: 'table', ...before }))
    }
    return keys
  }

  #knownOf(id: ObjectId): Known {
    return {
      ...this.#book.knownOf(id),
      ...(this.#isInHand(id) && { inHand: true }),
      ...(this.#book.get(id)?.isHidden && { isHidden: true }),
      ...(this.#handed.has(keyOf(id)) && { isNoted: true }),
    }
  }

  #takeInHand(keys: Iterable<string>): void {
    const { lateMs = usualLateMs } = this.#dependencies
    for (const key of keys) {
      this.#inHand.add(key)
      this.#late.set(key, performance.now() + lateMs)
    }
  }

  #isInHand(id: ObjectId): boolean {
    return this.#inHand.has(keyOf(id))
  }

  #recordOf(database: string, name: string): ObjectRecord | undefined {
    return this.#book.get({ kind: 'table', database, name })
  }

  async #bringTables(
    { maxDrops, approvedDrops = 0, ...record }: MetadataMigrationRecord,
    sides: WorkSides,
    database: string,
    works: readonly TableWork[],
    seen: Set<string>,
  ): Promise<void> {
    const chunks = Array.from({ length: Math.ceil(works.length / tablesAtOnce) }, (_, at) =>
      works.slice(at * tablesAtOnce, (at + 1) * tablesAtOnce),
    )
    await concurrently(chunks, threadsOfMigration, async (chunk) => {
      for (let tables: readonly TableWork[] = chunk; tables.length > 0;) {
        const gates = await this.#dependencies.ends.gatesOf({ ...record, maxDrops })
        const asked = { database, tables, gates, maxDrops: approvedDrops > 0 ? Infinity : maxDrops }
        const { outcomes, left } = await this.#ask('bring-tables', sides, asked)
        const toWrite = new Set((await this.#taken(outcomes, seen)).map(({ name }) => name))
        await this.#tell(this.#progress)
        const again = tables.filter(({ name }) => toWrite.has(name))
        tables = [...again.map((work) => ({ ...work, known: { ...work.known, isNoted: true } })), ...left]
      }
    })
  }

  /**
   * Drops objects, or holds them where they are more than may be dropped.
   * @returns how many were dropped
   */
  async #drop(
    sides: WorkSides,
    met: readonly ObjectRecord[],
    allowed: number,
    { maxDrops, maxDropPercent, approvedDrops = 0 }: MetadataMigrationRecord,
  ): Promise<number> {
    // Those that were renamed meanwhile are in the book by another name.
    const different = new Map(met.map((one) => [keyOf(one), one]))
    const toBeRenamed = this.#toBeRenamed(different)
    const gone = [...different.values()].filter(
      (one) => this.#book.get(one) !== undefined && !toBeRenamed.has(keyOf(one)),
    )
    // What never arrived is only forgotten.
    const isThere = (one: ObjectRecord) =>
      one.is !== undefined || one.isHidden === true || this.#isInHand(one)
    const [there, never] = [gone.filter(isThere), gone.filter((one) => !isThere(one))]
    for (const one of never) {
      await this.#book.forget(one)
      this.#renames.delete(keyOf(one))
    }
    const isWholesale = there.length > fewDrops && there.length * 100 > this.#book.size * maxDropPercent
    if ((there.length > allowed || isWholesale) && there.length > approvedDrops) {
      const limit = isWholesale
        ? `more than maxDropPercent (${maxDropPercent}) of all`
        : `more than maxDrops (${maxDrops})`
      const message = `it was dropped at the source; ${there.length} drops are ${limit} and wait for approval`
      for (const one of there) await this.#book.hold(one, { failureClass: 'changed', message })
      return 0
    }
    const order = ['view', 'table', 'function', 'database'] as const
    const ids = there.toSorted((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind)).map(idOf)
    await this.#dropObjects(sides, ids)
    return there.length
  }

  /**
   * Drops what was made by a piece of work of which nothing was heard, and is gone at the source by now: it is in no book,
   * and nobody else would.
   */
  async #dropUnknown(sides: WorkSides, scope: Scope): Promise<void> {
    this.#letGo(scope)
    const ids = [...this.#inHand].map(objectOf)
    await this.#dropObjects(
      sides,
      ids.filter((id) => this.#book.get(id) === undefined),
    )
  }

  /** What the rules do not match any more is nobody's to go on with. */
  #letGo(scope: Scope): void {
    for (const key of this.#inHand)
      if (!scope.has(objectOf(key))) {
        this.#inHand.delete(key)
        this.#handed.delete(key)
      }
  }

  /**
   * Drops hidden tables that this migration has made and goes on with no more: its rules were changed meanwhile, or a process
   * was killed between two calls. What cannot be read is left for the next time.
   */
  async #dropLeft(sides: WorkSides, scope: Scope, databases: Iterable<string>): Promise<void> {
    const hiding = [...this.#book.all()].filter((one) => one.isHidden && scope.has(one))
    const inHand = [...this.#inHand, ...this.#late.keys(), ...this.#handed].map(objectOf)
    const used = new Set(
      [...hiding, ...inHand].map(({ database, name = '' }) => hiddenNameOf({ database, name }).name),
    )
    for (const database of new Set(databases)) {
      try {
        const { tables = [] } = await this.#ask('tables', sides, { database, side: 'target' })
        const names = tables.map(({ name }) => name).filter((name) => isHiddenName(name) && !used.has(name))
        if (names.length > 0) await this.#ask('drop-left', sides, { database, names })
      } catch (error) {
        // What concerns both catalogs as a whole is thrown.
        const failure = unlessOfAll(error)
        this.#dependencies.log.warn(
          { err: failure, migration: this.#name, database },
          'Hidden tables could not be looked for or dropped; retrying with the next comparison.',
        )
      }
    }
    this.#isLeftDropped = true
  }

  #databases(): Iterable<string> {
    return Array.from(this.#book.all(), ({ database }) => database)
  }

  async #dropObjects(sides: WorkSides, ids: readonly ObjectId[]): Promise<void> {
    for (let at = 0; at < ids.length; at += tablesAtOnce)
      await this.#write(ids.slice(at, at + tablesAtOnce), new Set(), (some) =>
        this.#ask('drop', sides, { objects: some.map((id) => ({ id, known: this.#knownOf(id) })) }),
      )
  }

  /** Looks at what the source tells of; what it does not tell of is compared from time to time. */
  async #follow(record: MetadataMigrationRecord, scope: Scope, sides: WorkSides): Promise<void> {
    const { position, comparisonPeriodSeconds, compared = record.created } = record
    const usualSeconds = position === undefined ? defaultComparisonSeconds : defaultHealingSeconds
    const dueMs = Date.parse(compared) + (comparisonPeriodSeconds ?? usualSeconds) * 1_000
    if (Date.now() >= dueMs) return this.#compareAgain()
    await this.#retry(record, scope, sides)
    await this.#followWrites(record, scope, sides)
    if (position === undefined) {
      await this.#tell({
        phase: 'following',
        ...detectionBy(position),
        lagSeconds: Math.round((Date.now() - Date.parse(compared)) / 1_000),
      })
      return
    }
    const answer = await this.#ask('changes', sides, { after: position })
    if (answer.isGap) {
      this.#dependencies.log.warn(
        { migration: this.#name },
        'The source no longer has all changes since the last request; everything is compared.',
      )
      return this.#compareAgain()
    }
    const { changes, behind } = answer
    if (changes.length > 0) await this.#bringChanges(record, scope, sides, changes)
    await this.#dropUnknown(sides, scope)
    if (answer.position !== position)
      await this.#dependencies.records.update(this.#name, (current) =>
        current.internalId === this.#internalId && current.done === record.done
          ? { ...current, position: answer.position }
          : undefined,
      )
    const lastMs = changes.at(-1)?.atMs ?? Date.now()
    let oldestMs = behind > 0 ? lastMs : Infinity
    for (const { sinceMs = Infinity } of this.#book.all()) oldestMs = Math.min(oldestMs, sinceMs)
    await this.#tell({
      phase: 'following',
      ...detectionBy(position),
      lagSeconds: oldestMs === Infinity ? 0 : Math.max(0, Math.round((Date.now() - oldestMs) / 1_000)),
      lagEvents: behind,
    })
  }

  /** Looks at transactional tables that were written to: the account of changes does not say when a write counts. */
  async #followWrites(record: MetadataMigrationRecord, scope: Scope, sides: WorkSides): Promise<void> {
    const all = [...this.#book.all()].flatMap((its) => {
      const { written, database, name = '' } = its
      if (written === undefined || !areWritesSet(its) || !scope.hasTable(database, name)) return []
      return [{ database, name, written, isWhole: hasPartitions(its) }]
    })
    for (let at = 0; at < all.length; at += writesAskedAtOnce) {
      const tables = all.slice(at, at + writesAskedAtOnce)
      const names = tables.map(({ database, name }) => ({ database, name }))
      const { decided = [] } = await this.#ask('writes', sides, { tables: names })
      const behind = tables.filter((one, index) => (decided[index] ?? 0) > one.written.upTo)
      for (const [database, its] of Map.groupBy(behind, (one) => one.database)) {
        const works = its.map(({ name, isWhole }) => ({
          ...this.#tableWork(database, name),
          ...(isWhole && { partitions: [] }),
        }))
        await this.#bringTables(record, sides, database, works, new Set())
      }
    }
  }

  /** Brings the objects that the source told of: databases first, then tables, then what is gone. */
  async #bringChanges(
    record: MetadataMigrationRecord,
    scope: Scope,
    sides: WorkSides,
    changes: readonly CatalogChange[],
  ): Promise<void> {
    const gone: ObjectRecord[] = []
    this.#noteRenames(changes)
    for (const [database, its] of Map.groupBy(changes, (change) => change.database)) {
      if (!scope.hasDatabase(database)) continue
      const seen = new Set<string>()
      const before = [...this.#ofDatabase(database)]
      // One that is there, and could not be read, stays failed until all of it is looked at again.
      const isKnown = before.some(({ kind, is }) => kind === 'database' && is !== undefined)
      const isAbout = its.some(({ table, functions }) => table === undefined && functions !== true)
      if (isAbout && this.#isUnread(database)) {
        gone.push(...(await this.#bringAll(record, scope, sides, database)))
        continue
      }
      const found = isKnown && !isAbout ? 'there' : await this.#bringDatabase(sides, database, seen)
      // What is gone and not told to be is told of later: it may have got another name.
      if (found === 'gone' && its.some(({ table, isGone }) => table === undefined && isGone))
        gone.push(...before)
      if (found === 'failed') continue
      const isFunctions = its.some(({ functions }) => functions)
      // Of one that is gone without being told to be, it is told in its turn, and it may be made again by then.
      const works = (found === 'gone' ? [] : tablesIn(its))
        .filter(({ name }) => scope.hasTable(database, name))
        .map(({ name, partitions }) => ({
          ...this.#tableWork(database, name),
          // Of one that has not arrived, others are missing too.
          ...(hasPartitions(this.#recordOf(database, name)) && partitions !== undefined && { partitions }),
        }))
      await this.#bringTables(record, sides, database, works, seen)
      if (isFunctions && found === 'there') await this.#bringFunctions(sides, database, seen)
      const names = new Set(its.flatMap(({ table = '', isGone }) => (isGone ? [table] : [])))
      const isTold = ({ kind, name = '' }: ObjectRecord) =>
        kind === 'function' ? isFunctions : kind !== 'database' && names.has(name)
      if (this.#isUnread(database)) continue
      const toldGone = this.#ofDatabase(database).filter(
        (one) => scope.has(one) && isTold(one) && !seen.has(keyOf(one)),
      )
      gone.push(...toldGone, ...this.#namedBefore(toldGone), ...this.#notRenamed(works))
    }
    await this.#dropTold(record, sides, gone)
  }

  /**
   * Brings a database that has failed, with all that is in it.
   * @returns what is gone: while it failed, nobody could tell
   */
  async #bringAll(
    record: MetadataMigrationRecord,
    scope: Scope,
    sides: WorkSides,
    database: string,
  ): Promise<ObjectRecord[]> {
    const seen = new Set<string>()
    const { found, views } = await this.#bringContents(record, scope, sides, database, seen)
    await this.#bringTables(record, sides, database, views, seen)
    if (found !== 'gone' && this.#isUnread(database)) return []
    return this.#ofDatabase(database).filter((one) => scope.has(one) && !seen.has(keyOf(one)))
  }

  /** Names of before of what was not renamed after all, as the target knows no renames, or has something by the new name. */
  #notRenamed(works: readonly TableWork[]): ObjectRecord[] {
    return works.flatMap(({ renamedFrom }) =>
      renamedFrom === undefined ? [] : (this.#recordOf(renamedFrom.database, renamedFrom.name) ?? []),
    )
  }

  /** Tables that are at the target by the names that some had before. */
  #namedBefore(tables: readonly ObjectRecord[]): ObjectRecord[] {
    return tables.flatMap(({ renamedFrom }) =>
      renamedFrom === undefined ? [] : (this.#recordOf(renamedFrom.database, renamedFrom.name) ?? []),
    )
  }

  /** Drops what was met to be gone, as far as the hour allows. */
  async #dropTold(
    record: MetadataMigrationRecord,
    sides: WorkSides,
    gone: readonly ObjectRecord[],
  ): Promise<void> {
    if (gone.length === 0) return
    const now = Date.now()
    const { drops, maxDrops } = record
    const recent = drops !== undefined && now - Date.parse(drops.since) < hourMs ? drops : undefined
    const before = recent?.count ?? 0
    const count = await this.#drop(sides, gone, Math.max(0, maxDrops - before), record)
    if (count === 0) return
    const since = recent?.since ?? new Date(now).toISOString()
    await this.#dependencies.records.update(this.#name, (current) =>
      current.internalId === this.#internalId
        ? { ...current, drops: { since, count: before + count } }
        : undefined,
    )
  }

  #ofDatabase(database: string): ObjectRecord[] {
    return [...this.#book.all()].filter((one) => one.database === database)
  }

  /**
   * Tries again what waits for its files, from time to time what failed for a reason that may pass, and once more what
   * somebody may have done late.
   */
  async #retry(record: MetadataMigrationRecord, scope: Scope, sides: WorkSides): Promise<void> {
    const isDue = performance.now() - this.#retriedMs >= this.#retryMs
    const nowMs = performance.now()
    const late = new Set([...this.#late].flatMap(([key, atMs]) => (atMs <= nowMs ? [key] : [])))
    // What is in the book is told from what others have made of it since, and shown as a conflict where it differs.
    for (const key of late) {
      const id = objectOf(key)
      if (scope.has(id) && this.#book.get(id) === undefined) this.#inHand.add(key)
    }
    const again = [...this.#book.all()].filter(
      (one) => (one.state === 'waiting' || (isDue && mayPass(one)) || late.has(keyOf(one))) && scope.has(one),
    )
    const gone: ObjectRecord[] = []
    /** Of what is gone the source tells, in its turn. */
    const isTold = record.position !== undefined
    for (const [database, its] of Map.groupBy(again, (one) => one.database)) {
      const [tables, others] = [its.filter(isTable), its.filter((one) => !isTable(one))]
      const seen = new Set<string>()
      if (others.some(({ kind }) => kind === 'database')) {
        gone.push(...(await this.#bringAll(record, scope, sides, database)))
        continue
      }
      if (others.length > 0) await this.#bringFunctions(sides, database, seen)
      const works = tables.map(({ name = '', isOfWrites }) => ({
        ...this.#tableWork(database, name),
        ...(isOfWrites && { partitions: [] }),
      }))
      await this.#bringTables(record, sides, database, works, seen)
      if (this.#isUnread(database)) continue
      if (!isTold) gone.push(...its.filter((one) => !seen.has(keyOf(one))))
      gone.push(...this.#notRenamed(works))
    }
    await this.#dropTold(record, sides, gone)
    // Those of a source that tells of its changes are dropped after these.
    if (!isTold && late.size > 0) await this.#dropUnknown(sides, scope)
    for (const key of late) this.#late.delete(key)
    const unwanted = [...late].map(objectOf).filter((id) => isTable(id) && !scope.has(id))
    if (unwanted.length > 0)
      await this.#dropLeft(
        sides,
        scope,
        unwanted.map(({ database }) => database),
      )
    if (!isDue) return
    this.#retriedMs = performance.now()
    const isFailing = again.some((one) => mayPass(this.#book.get(one) ?? one))
    this.#retryMs = isFailing ? Math.min(2 * this.#retryMs, longestRetryMs) : firstRetryMs
  }

  /**
   * One for once is over when nothing waits for its files any more, what failed was tried again for a minute, and nobody does
   * anything late.
   */
  async #retryOrEnd(record: MetadataMigrationRecord, scope: Scope, sides: WorkSides): Promise<boolean> {
    await this.#retry(record, scope, sides)
    const isRetried =
      this.#retryMs < longestRetryMs && [...this.#book.all()].some((one) => mayPass(one) && scope.has(one))
    if (this.#book.figures.waiting > 0 || isRetried || this.#late.size > 0) return true
    await happened(this.#dependencies.records, this.#name, 'completed', (current) =>
      current.internalId === this.#internalId
        ? { ...current, completed: new Date().toISOString() }
        : undefined,
    )
    return false
  }

  async #compareAgain(): Promise<void> {
    await this.#dependencies.records.update(this.#name, (current) =>
      current.internalId === this.#internalId && current.done === current.wanted
        ? { ...current, wanted: current.wanted + 1 }
        : undefined,
    )
  }

  /**
   * Has objects looked at, and asks once more for those that are to be written, once that is stored.
   * @param ids that are asked for, where they are known
   * @returns what the last answer says
   */
  async #write(
    ids: readonly ObjectId[],
    seen: Set<string>,
    ask: (ids: readonly ObjectId[]) => Promise<{ readonly outcomes: readonly Outcome[] }>,
  ): Promise<readonly Outcome[]> {
    for (let asked = ids; ;) {
      const { outcomes } = await ask(asked)
      asked = await this.#taken(outcomes, seen)
      if (asked.length === 0) return outcomes
    }
  }

  /** Stores which objects are being written, where something else is stored. */
  async #note(): Promise<void> {
    // With those of a process that ended: nobody has looked at them yet.
    const inHand = () => [...new Set([...this.#handed, ...this.#inHand])]
    if (isDeepStrictEqual(new Set(this.#noted), new Set(inHand()))) return
    await this.#dependencies.records.update(this.#name, (current) => {
      if (current.internalId !== this.#internalId) return undefined
      // Others may have been added by the time that it is stored.
      this.#noted = inHand()
      return { ...current, inHand: [...this.#noted] }
    })
  }

  /**
   * Stores what became of objects.
   * @returns those that are to be written, and are noted for that
   */
  async #taken(outcomes: readonly Outcome[], seen: Set<string>): Promise<ObjectId[]> {
    const sinceOf = (id: ObjectId) => this.#book.get(id)?.sinceMs ?? Date.now()
    for (const { renamedFrom, ...id } of outcomes)
      if (renamedFrom !== undefined) await this.#book.rename(renamedFrom, id)
    await this.#book.take(outcomes, sinceOf, (id) => this.#nameBefore(keyOf(id)))
    const toWrite = outcomes.filter(({ result }) => result === 'to-be-noted').map(idOf)
    for (const outcome of outcomes) {
      if (outcome.result === 'to-be-noted') continue
      const key = keyOf(outcome)
      const { renamedFrom } = outcome
      if (renamedFrom !== undefined) this.#inHand.delete(keyOf({ kind: 'table', ...renamedFrom }))
      const before = this.#nameBefore(key)
      if (outcome.result === 'gone' && before !== undefined)
        await this.#book.renamedAgain(outcome, before, sinceOf(outcome))
      if (this.#book.get(outcome)?.renamedFrom === undefined) this.#renames.delete(key)
      // Where the answer to the next look gets lost, it may have got its name.
      if (!('isHidden' in outcome)) this.#handed.delete(key)
      if (isSettled(outcome)) await this.#notRenamedFrom(key)
      if (outcome.result !== 'gone') seen.add(key)
      if (outcome.result === 'failed' && outcome.isWritten) this.#inHand.add(key)
      else if (isTargetKnown(outcome)) this.#inHand.delete(key)
    }
    for (const id of toWrite) this.#handed.add(keyOf(id))
    if (toWrite.length > 0) await this.#note()
    return toWrite
  }

  async #ask<K extends WorkKind>(
    kind: K,
    sides: WorkSides,
    asked: MetadataWork[K]['asked'],
  ): Promise<MetadataWork[K]['answer']> {
    const { records, work } = this.#dependencies
    const asker = { owner: this.#owner, signal: this.#closing.signal }
    if (!looksAtHidden.has(kind)) return work(kind, sides, asked, asker)
    // As they are now: one that is not among them is gone.
    const others = (await records.all()).filter(({ internalId }) => internalId !== this.#internalId)
    const names = Object.fromEntries(
      others.map(({ internalId, migrationName }) => [internalId, migrationName]),
    )
    return work(kind, { ...sides, others: names }, asked, asker)
  }

  /** Stores how far it is, where that has changed. */
  async #tell(progress: Omit<ProgressRecord, 'figures'>): Promise<void> {
    this.#progress = progress
    if (this.#book === undefined) return
    const reason = progress.reason ?? this.#whyRetried()
    const told = { ...progress, ...(reason !== undefined && { reason }), figures: this.#book.figures }
    const text = JSON.stringify(told)
    if (text === this.#toldProgress) return
    await this.#dependencies.progress.put(this.#internalId, told)
    this.#toldProgress = text
  }

  /** Why something is tried again, while it may pass. */
  #whyRetried(): string | undefined {
    if (this.#book.figures.failed === 0) return undefined
    const [first, ...more] = [...this.#book.all()].filter(mayPass)
    if (first === undefined) return undefined
    const { kind, database, name, message } = first
    const which = `${kind} ${name === undefined ? database : `${database}.${name}`}`
    const what =
      more.length === 0 ? `the ${which}` : `${plural(more.length + 1, 'object')}, such as the ${which}`
    return shortened(`retrying ${what}${message === undefined ? '' : `: ${message}`}`, maxTextLength)
  }

  /** Whether somebody has to decide before it goes on; it is FAILED then. */
  async #failed(error: unknown, attempt: number): Promise<boolean> {
    const isRefusal =
      unrecoverable.some((code) => isGantryError(error, code)) ||
      (error instanceof StoreError && (error.failure === 'unsupported' || error.failure === 'refused'))
    if (!isRefusal || attempt < maxAttempts) return false
    const reason = textOf(error)
    try {
      return await happened(this.#dependencies.records, this.#name, 'failed', (current) =>
        current.internalId === this.#internalId ? { ...current, reason } : undefined,
      )
    } catch {
      return false
    }
  }
}

/** @param position in the source's account of its changes; undefined where it keeps none */
const detectionBy = (position: string | undefined) =>
  position === undefined
    ? ({
        changeDetection: 'comparison',
        changeDetectionReason: 'the source does not report changes',
      } as const)
    : ({ changeDetection: 'events', changeDetectionReason: 'the source reports changes' } as const)

const pollMs = declarationOf('metadata.changes').everyMs!

const textOf = (error: unknown): string =>
  shortened(error instanceof Error ? error.message : String(error), maxTextLength)

/** Whether the target was looked at: of the others, what was made there before may be half done as it was. */
const isTargetKnown = ({ result }: Outcome): boolean =>
  result !== 'gone' && result !== 'kept' && result !== 'waiting' && result !== 'failed'

/** Whether the target has it as the source has it, or as far as it can. */
const isSettled = ({ result }: Outcome): boolean =>
  result === 'same' || result === 'created' || result === 'changed'

const isTable = ({ kind }: ObjectId): boolean => kind === 'table' || kind === 'view'

/** Whether no partitions are missing of a table but those that the source tells of. */
const hasPartitions = (record: ObjectRecord | undefined): boolean =>
  record?.state === 'arrived' || record?.isOfWrites === true

/** Whether the last write ids of a table that were seen are set, whatever else of it has failed. */
const areWritesSet = ({ state, hasArrived, writeIds, failureClass }: ObjectRecord): boolean =>
  state === 'arrived' ||
  (state === 'failed' && hasArrived === true && writeIds === undefined && failureClass !== 'too-large')

/** Whether it failed for a reason that may pass. */
const mayPass = ({ state, failureClass }: ObjectRecord): boolean =>
  state === 'failed' && (failureClass === undefined || failureClasses[failureClass].retryable)

const idOf = ({ kind, database, name }: ObjectId): ObjectId => ({
  kind,
  database,
  ...(name !== undefined && { name }),
})

/** The tables that changes are about, each once; with names of partitions where nothing else of it has changed. */
function tablesIn(changes: readonly CatalogChange[]): { name: string; partitions?: readonly string[] }[] {
  const tables = Map.groupBy(
    changes.filter(({ table }) => table !== undefined),
    ({ table }) => table!,
  )
  return [...tables].map(([name, its]) => {
    const isOfPartitions = its.every(({ partitions }) => partitions !== undefined)
    const partitions = isOfPartitions ? [...new Set(its.flatMap((one) => one.partitions ?? []))] : undefined
    return { name, ...(partitions !== undefined && { partitions }) }
  })
}
