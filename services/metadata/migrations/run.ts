import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../../../broker/common/log.ts'
import { concurrently } from '../../../broker/common/concurrently.ts'
import { pauseAfter } from '../../../broker/common/retry.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import { emission } from '../../../broker/state/events.ts'
import { type ErrorCode, isGantryError } from '../../../subjects/kit/errors.ts'
import { maxTextLength } from '../../../subjects/kit/schemas.ts'
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
import type { CatalogChange } from '../catalogs/contract/catalog.ts'
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
/** Threads that work for one migration at once, each with a connection of its own to both catalogs. */
const threadsOfMigration = 4
/** What failed for a reason that may pass is tried again after this. */
const retryMs = 60_000
const hourMs = 3_600_000
/** What has failed again and again in a way that does not pass is for somebody to see to. */
const maxAttempts = 5

/** Errors that do not pass by themselves, as of a catalog that is gone. */
const unrecoverable: readonly ErrorCode[] = ['INVALID_INPUT', 'NOT_ACCEPTED', 'NOT_FOUND', 'UNSUPPORTED']

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
}

/** What a migration does from its start until it is paused, stopped or done. */
export class Run {
  readonly #dependencies: RunDependencies
  readonly #name: string
  readonly #internalId: string
  readonly #closing = new AbortController()
  #book!: ObjectBook
  /** Objects that a process which ended had in its hands. */
  #inHand = new Set<string>()
  /** Those that this run has in its hands. */
  readonly #handed = new Set<string>()
  #owner = ''
  #progress: Omit<ProgressRecord, 'figures'> = {}
  #toldProgress = ''
  #retriedMs = performance.now()

  constructor(dependencies: RunDependencies, { migrationName, internalId }: MetadataMigrationRecord) {
    this.#dependencies = dependencies
    this.#name = migrationName
    this.#internalId = internalId
  }

  /** Works until it is ended, or there is nothing left to do, and leaves its figures as they are then. Never rejects. */
  async work(): Promise<void> {
    await this.#untilEnded()
    await this.#tell(this.#progress).catch((err: unknown) =>
      this.#dependencies.log.warn({ err, migration: this.#name }, 'The last figures cannot be stored.'),
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
        for (const key of this.#handed) this.#inHand.add(key)
        log.warn(
          { err: error, migration: this.#name },
          'A migration of metadata does not get on; it tries again.',
        )
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
      this.#inHand = new Set(record.inHand)
    }
    const scope = await scopeOf(this.#dependencies.rules, record)
    const sides = await ends.sidesOf(record)
    if (record.done < record.wanted) await this.#compare(record, scope, sides)
    else if (record.once) return this.#retryOrEnd(record, scope, sides)
    else await this.#follow(record, scope, sides)
    return true
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
      const found = await this.#bringDatabase(sides, database, seen)
      if (found === 'failed') unknown.add(database)
      if (found !== 'there') continue
      await this.#bringFunctions(sides, database, seen)
      const { tables = [] } = await this.#ask('tables', sides, { database, side: 'source' })
      const wanted = tables.filter(({ name }) => scope.hasTable(database, name))
      const isView = ({ type }: { readonly type: string }) => type.includes('VIEW')
      const worksOf = (some: typeof wanted) => some.map(({ name }) => this.#tableWork(database, name))
      await this.#bringTables(record, sides, database, worksOf(wanted.filter((one) => !isView(one))), seen)
      views.push([database, worksOf(wanted.filter(isView))])
    }
    for (const [database, works] of views) await this.#bringTables(record, sides, database, works, seen)
    const gone = [...this.#book.all()].filter((its) => !seen.has(keyOf(its)) && !unknown.has(its.database))
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
          inHand: [...this.#inHand],
          ...(position !== undefined && { position }),
        }
      },
      (changed) => [
        emission(metadataMigrationEvents.compared, this.#name, { ...factOf(changed), ...figures }),
      ],
    )
    await this.#tell(record.once ? this.#progress : { phase: 'following', ...detectionBy(position) })
  }

  async #bringDatabase(
    sides: WorkSides,
    database: string,
    seen: Set<string>,
  ): Promise<'there' | 'gone' | 'failed'> {
    const id = { kind: 'database', database } as const
    const known = this.#knownOf(id)
    await this.#take([id])
    const { outcomes } = await this.#ask('bring-database', sides, { database, known })
    await this.#taken(outcomes, seen)
    const [outcome] = outcomes
    return outcome?.result === 'gone' || outcome?.result === 'failed' ? outcome.result : 'there'
  }

  async #bringFunctions(sides: WorkSides, database: string, seen: Set<string>): Promise<void> {
    const known = Object.fromEntries(
      [...this.#book.all()]
        .filter((one) => one.kind === 'function' && one.database === database)
        .map((one) => [one.name ?? '', this.#knownOf(one)]),
    )
    const { outcomes } = await this.#ask('bring-functions', sides, { database, known })
    await this.#taken(outcomes, seen)
  }

  #tableWork(database: string, name: string): TableWork {
    const record = this.#recordOf(database, name)
    return {
      name,
      known: this.#knownOf(record ?? { kind: 'table', database, name }),
      sinceMs: record?.sinceMs ?? Date.now(),
    }
  }

  #knownOf(id: ObjectId): Known {
    return { ...this.#book.knownOf(id), ...(this.#isInHand(id) && { inHand: true }) }
  }

  /** Of a table, it is not known before it has been read whether it is a view. */
  #isInHand({ kind, ...id }: ObjectId): boolean {
    const kinds = kind === 'table' || kind === 'view' ? (['table', 'view'] as const) : [kind]
    return kinds.some((one) => this.#inHand.has(keyOf({ kind: one, ...id })))
  }

  #recordOf(database: string, name: string): ObjectRecord | undefined {
    return (
      this.#book.get({ kind: 'table', database, name }) ?? this.#book.get({ kind: 'view', database, name })
    )
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
        await this.#take(tables.map(({ name }) => ({ kind: 'table', database, name })))
        const gates = await this.#dependencies.ends.gatesOf({ ...record, maxDrops })
        const asked = { database, tables, gates, maxDrops: approvedDrops > 0 ? Infinity : maxDrops }
        const { outcomes, left } = await this.#ask('bring-tables', sides, asked)
        await this.#taken(outcomes, seen)
        await this.#tell(this.#progress)
        tables = left
      }
    })
  }

  /**
   * Drops objects, or holds them where they are more than may be dropped.
   * @returns how many were dropped
   */
  async #drop(
    sides: WorkSides,
    gone: readonly ObjectRecord[],
    allowed: number,
    { maxDrops, maxDropPercent, approvedDrops = 0 }: MetadataMigrationRecord,
  ): Promise<number> {
    // What never arrived is only forgotten.
    const isThere = (one: ObjectRecord) => one.is !== undefined || this.#isInHand(one)
    const [there, never] = [gone.filter(isThere), gone.filter((one) => !isThere(one))]
    for (const one of never) await this.#book.forget(one)
    const isWholesale = there.length > fewDrops && there.length * 100 > this.#book.size * maxDropPercent
    if ((there.length > allowed || isWholesale) && there.length > approvedDrops) {
      const limit = isWholesale
        ? `more than maxDropPercent (${maxDropPercent}) of all`
        : `more than maxDrops (${maxDrops})`
      const message = `it is gone at the source, with others: ${there.length} drops are ${limit}, and wait for approval`
      for (const one of there) await this.#book.hold(one, { failureClass: 'changed', message })
      return 0
    }
    const order = ['view', 'table', 'function', 'database'] as const
    const objects = there
      .toSorted((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind))
      .map((one) => ({ id: idOf(one), known: this.#knownOf(one) }))
    for (let at = 0; at < objects.length; at += tablesAtOnce) {
      const some = objects.slice(at, at + tablesAtOnce)
      await this.#take(some.map(({ id }) => id))
      await this.#taken((await this.#ask('drop', sides, { objects: some })).outcomes, new Set())
    }
    return there.length
  }

  /**
   * Drops what was made by a piece of work of which nothing was heard, and is gone at the source by now: it is in no book,
   * and nobody else would.
   */
  async #dropUnknown(sides: WorkSides, scope: Scope): Promise<void> {
    const ids = [...this.#inHand].map(objectOf)
    for (const id of ids) if (!scope.has(id)) this.#inHand.delete(keyOf(id))
    const objects = ids
      .filter((id) => scope.has(id))
      .filter((id) =>
        id.kind === 'table'
          ? this.#recordOf(id.database, id.name ?? '') === undefined
          : this.#book.get(id) === undefined,
      )
      .map((id) => ({ id, known: { inHand: true } }))
    for (let at = 0; at < objects.length; at += tablesAtOnce) {
      const some = objects.slice(at, at + tablesAtOnce)
      await this.#taken((await this.#ask('drop', sides, { objects: some })).outcomes, new Set())
    }
  }

  /** Looks at what the source tells of; what it does not tell of is compared from time to time. */
  async #follow(record: MetadataMigrationRecord, scope: Scope, sides: WorkSides): Promise<void> {
    const { position, comparisonPeriodSeconds, compared = record.created } = record
    const usualSeconds = position === undefined ? defaultComparisonSeconds : defaultHealingSeconds
    const dueMs = Date.parse(compared) + (comparisonPeriodSeconds ?? usualSeconds) * 1_000
    if (Date.now() >= dueMs) return this.#compareAgain()
    await this.#retry(record, scope, sides)
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
        'The source does not know any more all that has changed since it was asked last; everything is compared.',
      )
      return this.#compareAgain()
    }
    const { changes, behind } = answer
    if (changes.length > 0) await this.#bringChanges(record, scope, sides, changes)
    await this.#dropUnknown(sides, scope)
    if (answer.position !== position)
      await this.#dependencies.records.update(this.#name, (current) =>
        current.internalId === this.#internalId && current.done === record.done
          ? { ...current, position: answer.position, inHand: [...this.#inHand] }
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

  /** Brings the objects that the source told of: databases first, then tables, then what is gone. */
  async #bringChanges(
    record: MetadataMigrationRecord,
    scope: Scope,
    sides: WorkSides,
    changes: readonly CatalogChange[],
  ): Promise<void> {
    const gone: ObjectRecord[] = []
    for (const [database, its] of Map.groupBy(changes, (change) => change.database)) {
      if (!scope.hasDatabase(database)) continue
      const seen = new Set<string>()
      const before = [...this.#ofDatabase(database)]
      const isKnown = before.some(({ kind }) => kind === 'database')
      const isAbout = its.some(({ table, functions }) => table === undefined && functions !== true)
      const found = isKnown && !isAbout ? 'there' : await this.#bringDatabase(sides, database, seen)
      if (found === 'gone') gone.push(...before)
      if (found !== 'there') continue
      const works = tablesIn(its)
        .filter(({ name }) => scope.hasTable(database, name))
        .map(({ name, partitions }) => ({
          ...this.#tableWork(database, name),
          ...(partitions !== undefined && { partitions }),
        }))
      const names = new Set(works.map(({ name }) => name))
      await this.#bringTables(record, sides, database, works, seen)
      const isFunctions = its.some(({ functions }) => functions)
      if (isFunctions) await this.#bringFunctions(sides, database, seen)
      const isLooked = ({ kind, name = '' }: ObjectRecord) =>
        kind === 'function' ? isFunctions : kind !== 'database' && names.has(name)
      gone.push(...before.filter((one) => isLooked(one) && !seen.has(keyOf(one))))
    }
    await this.#dropTold(record, sides, gone)
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

  /** Tries again what waits for its files, and from time to time what failed for a reason that may pass. */
  async #retry(record: MetadataMigrationRecord, scope: Scope, sides: WorkSides): Promise<void> {
    const isDue = performance.now() - this.#retriedMs >= retryMs
    const isAgain = ({ state, failureClass, kind }: ObjectRecord) =>
      (kind === 'table' || kind === 'view') &&
      (state === 'waiting' ||
        (isDue &&
          state === 'failed' &&
          (failureClass === undefined || failureClasses[failureClass].retryable)))
    if (isDue) this.#retriedMs = performance.now()
    const again = [...this.#book.all()].filter((one) => isAgain(one) && scope.has(one))
    const gone: ObjectRecord[] = []
    for (const [database, its] of Map.groupBy(again, (one) => one.database)) {
      const works = its.map(({ name = '' }) => this.#tableWork(database, name))
      const seen = new Set<string>()
      await this.#bringTables(record, sides, database, works, seen)
      gone.push(...its.filter((one) => !seen.has(keyOf(one))))
    }
    await this.#dropTold(record, sides, gone)
  }

  /** One for once is over when nothing waits for its files any more. */
  async #retryOrEnd(record: MetadataMigrationRecord, scope: Scope, sides: WorkSides): Promise<boolean> {
    await this.#retry(record, scope, sides)
    if (this.#book.figures.waiting > 0) return true
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

  /** Stores which objects are being written, before they are. */
  async #take(ids: readonly ObjectId[]): Promise<void> {
    for (const id of ids) this.#handed.add(keyOf(id))
    // With those of a process that ended: nobody has looked at them yet.
    const inHand = [...new Set([...this.#handed, ...this.#inHand])]
    await this.#dependencies.records.update(this.#name, (current) =>
      current.internalId === this.#internalId ? { ...current, inHand } : undefined,
    )
  }

  /** Stores what became of objects. */
  async #taken(outcomes: readonly Outcome[], seen: Set<string>): Promise<void> {
    const sinceOf = (id: ObjectId) => this.#book.get(id)?.sinceMs ?? Date.now()
    await this.#book.take(outcomes, sinceOf)
    for (const outcome of outcomes) {
      const key = keyOf(outcome)
      this.#handed.delete(key)
      // What is gone at the source may have been made at the target before.
      if (outcome.result === 'gone') continue
      seen.add(key)
      const asTable = keyOf({ ...idOf(outcome), kind: outcome.kind === 'view' ? 'table' : outcome.kind })
      this.#handed.delete(asTable)
      this.#inHand.delete(asTable)
      if (outcome.result === 'failed' && outcome.isWritten) this.#inHand.add(key)
      else this.#inHand.delete(key)
    }
  }

  async #ask<K extends WorkKind>(
    kind: K,
    sides: WorkSides,
    asked: MetadataWork[K]['asked'],
  ): Promise<MetadataWork[K]['answer']> {
    return this.#dependencies.work(kind, sides, asked, { owner: this.#owner, signal: this.#closing.signal })
  }

  /** Stores how far it is, where that has changed. */
  async #tell(progress: Omit<ProgressRecord, 'figures'>): Promise<void> {
    this.#progress = progress
    if (this.#book === undefined) return
    const told = { ...progress, figures: this.#book.figures }
    const text = JSON.stringify(told)
    if (text === this.#toldProgress) return
    await this.#dependencies.progress.put(this.#internalId, told)
    this.#toldProgress = text
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
        changeDetectionReason: 'the source keeps no account of its changes',
      } as const)
    : ({ changeDetection: 'events', changeDetectionReason: 'the source tells of its changes' } as const)

const pollMs = declarationOf('metadata.changes').everyMs!

const textOf = (error: unknown): string =>
  shortened(error instanceof Error ? error.message : String(error), maxTextLength)

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
