import { type JetStreamClient, jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import type { Static, TSchema } from 'typebox'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { subjectToken } from '../../subjects/kit/names.ts'
import { maxPageLength } from '../../subjects/kit/schemas.ts'
import { Bucket, bucketOptions } from './bucket.ts'
import { frozen } from '../common/frozen.ts'
import { decode, encode, type Envelope, parseEnvelope, type Versioned } from './envelope.ts'
import type { Emission, Events } from './events.ts'
import { GroupIndex } from './group-index.ts'
import { followLast, type LastMessage } from './jetstream.ts'
import { KnownValues, type Said } from './known-values.ts'
import { Outbox } from './outbox.ts'
import { reconcile, type Reconciliation, renew } from './reconcile.ts'
import { salvage, unlessDamaged } from './writable-bucket.ts'
import type { RecordJournal, RecordJournals } from './books/record-journal.ts'

export interface CollectionOptions<S extends TSchema> extends Versioned<S> {
  /** Where facts about changes go. */
  readonly events?: Events
  /** The group by which a value is found with others, which never changes; undefined for a value without one. */
  readonly groupOf?: (value: Static<S>) => string | undefined
  /** Where each change is noted, so that records cannot be rolled back, vanish or return unnoticed. */
  readonly journals?: RecordJournals | undefined
  /** What becomes of a value that may be outdated, as its journal was damaged too: by default it stays as it is. */
  readonly inDoubt?: (value: Static<S>) => Static<S>
  /** The most values that there may be: whoever may make them could make so many that reading them all takes for ever. */
  readonly most?: Most
  /**
   * Values are read as a whole again and again, and never erased: they stay in memory as they were read last, and what `all`
   * returns nobody can change.
   */
  readonly isKeptInMemory?: boolean
}

/** A limit on the number of values. Writers at the same moment may exceed it by a few. */
export interface Most {
  readonly count: () => Promise<number>
  /** What they are, in the plural. */
  readonly what: string
  /** What to do about it. */
  readonly fix: string
}

/** Where a page begins, how long it is, and what is on it. */
export interface PageOptions<S extends TSchema> {
  readonly after?: string | undefined
  readonly limit?: number
  /** Only these. */
  readonly where?: (value: Static<S>) => boolean
}

/** A value as it is stored, with facts that were not published yet. */
interface Current<S extends TSchema> {
  readonly id: string
  readonly value: Static<S>
  readonly outbox: readonly Emission[]
  readonly revision: number
}

/** What a message of a bucket says of a value. @throws as `decode` */
function saidOf<S extends TSchema>(options: Versioned<S>, message: LastMessage): Said<Static<S>> {
  if (message.headers?.get('KV-Operation')) return 'gone'
  const envelope = parseEnvelope(message.string())
  if (envelope === undefined) return 'unreadable'
  if (envelope.gone === true) return 'gone'
  return { id: envelope.id, value: frozen(decode(options, envelope)) }
}

/** Writers that collide this often on one key do not take turns but fight; something is wrong. */
const maxAttempts = 50
/** Any call may answer this, and be tried again: no contract has to declare that others write to the same value. */
const contended = (id: string) =>
  new GantryError('OVERLOADED', `${id} is being changed by other requests; try again in a moment`)
/** Two that write in step would collide again and again, and one of them win each time; this puts them out of step. */
const maxPauseMs = 10

/** For so long values are not counted again: what others make, or a limit that was changed, is known after it. */
const countedMs = 1_000

/** Values that are read at once for a page of fewer: most of them may be none that are asked for. */
const minBatch = 100

/**
 * Entities by id in a KV bucket. Every change is compare-and-set: `update` takes a pure function from the current value
 * to the next and repeats it when somebody else was faster, so callers never see revisions.
 */
export class Collection<S extends TSchema> {
  readonly #bucket: Bucket
  readonly #js: JetStreamClient
  readonly #options: CollectionOptions<S>
  readonly #groups: GroupIndex
  readonly #outbox: Outbox
  readonly #known: KnownValues<Static<S>> | undefined
  /** Values for which there was room when they were counted last, and until when that holds. */
  #room = { left: 0, untilMs: 0 }
  /** By id, until when the last of those that wait to change a value has done so: writers of one process take turns. */
  readonly #turns = new Map<string, Promise<void>>()

  private constructor(bucket: Bucket, connection: NatsConnection, options: CollectionOptions<S>) {
    this.#bucket = bucket
    this.#js = jetstream(connection)
    this.#options = options
    this.#groups = new GroupIndex(bucket.kv, connection, options.bucket)
    this.#outbox = new Outbox(bucket, connection, options.events)
    if (options.isKeptInMemory === true)
      this.#known = new KnownValues(connection, options.bucket, (message) => saidOf(options, message))
  }

  /**
   * Opens the bucket, makes it if need be, completes its groups, and publishes what a writer that died left in an outbox. A record that is
   * none is quarantined.
   */
  static async open<S extends TSchema>(
    connection: NatsConnection,
    options: CollectionOptions<S>,
  ): Promise<Collection<S>> {
    const journal = await options.journals?.of(options.bucket)
    const bucket = await Bucket.open(connection, options.bucket, journal)
    const collection = new Collection<S>(bucket, connection, options)
    if (journal !== undefined) await collection.#reconcile(connection, journal)
    if (options.events !== undefined) await collection.#relayAll()
    if (options.groupOf !== undefined) await collection.#groupAll(connection, journal)
    return collection
  }

  async get(id: string): Promise<Static<S> | undefined> {
    return (await this.#read(id))?.value
  }

  /** A page of the values, ordered by id. Of many values no more are read than that takes. */
  async list({ after, limit = maxPageLength, where = () => true }: PageOptions<S> = {}): Promise<
    Static<S>[]
  > {
    const known = await this.#known?.all()
    if (known !== undefined)
      return known
        .filter(({ id, value }) => (after === undefined || id > after) && where(value))
        .slice(0, limit)
        .map(({ value }) => value)
    const few = await this.#bucket.few()
    if (few === undefined) return this.#page(await this.#bucket.keysAfter(after), limit, where)
    return this.#decoded(few.filter(({ id }) => after === undefined || id > after))
      .filter(where)
      .slice(0, limit)
  }

  /** All values, ordered by id. */
  async all(): Promise<Static<S>[]> {
    const known = await this.#known?.all()
    if (known !== undefined) return known.map(({ value }) => value)
    const values = await this.#byId()
    return [...values.keys()].toSorted().map((id) => values.get(id)!)
  }

  /** A page of the values of a group, ordered by id. */
  async listGroup(
    group: string,
    { after, limit = Infinity, where = () => true }: PageOptions<S> = {},
  ): Promise<Static<S>[]> {
    const ids = await this.#groups.idsOf(group)
    const asked = ids.filter((id) => after === undefined || id > after)
    return this.#page(asked.map(subjectToken), limit, where)
  }

  /** The first values of these keys; as many are read at once as a page has. */
  async #page(
    keys: readonly string[],
    limit: number,
    where: (value: Static<S>) => boolean,
  ): Promise<Static<S>[]> {
    const page: Static<S>[] = []
    const batch = Math.min(Math.max(limit, minBatch), maxPageLength)
    for (let from = 0; from < keys.length && page.length < limit; from += batch)
      page.push(...this.#decoded(await this.#bucket.atKeys(keys.slice(from, from + batch))).filter(where))
    return page.slice(0, limit)
  }

  #decoded(envelopes: readonly Envelope[]): Static<S>[] {
    return envelopes
      .filter(({ gone }) => gone !== true)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map((envelope) => decode(this.#options, envelope))
  }

  /** How many values a group has. */
  async sizeOfGroup(group: string): Promise<number> {
    return (await this.listGroup(group)).length
  }

  /** Whether a group has so many values; they are read only if it may have. */
  async isGroupOf(group: string, count: number): Promise<boolean> {
    return (await this.#groups.idsOf(group)).length >= count && (await this.listGroup(group)).length >= count
  }

  async #byId(): Promise<Map<string, Static<S>>> {
    const values = new Map<string, Static<S>>()
    await this.#bucket.each((envelope) => {
      if (envelope.gone !== true) values.set(envelope.id, decode(this.#options, envelope))
    })
    return values
  }

  /** @throws GantryError ALREADY_EXISTS, LIMIT_REACHED */
  async create(id: string, value: Static<S>, emit: readonly Emission[] = []): Promise<void> {
    const envelope = encode(this.#options, id, value, emit)
    await this.#requireRoom(id)
    await this.#group(id, value)
    for (;;) {
      if ((await this.#outbox.store(envelope, 0)) !== undefined) return
      // What is deleted, and not told yet, must be told first.
      if (!(await this.#bury(id))) throw new GantryError('ALREADY_EXISTS', `${id} already exists`)
    }
  }

  /** Writes a value that has one writer only, whatever is there. @throws GantryError LIMIT_REACHED */
  async put(id: string, value: Static<S>): Promise<void> {
    await this.#requireRoom(id)
    await this.#group(id, value)
    await this.#bucket.put(encode(this.#options, id, value))
  }

  /**
   * Replaces the value by what `change` makes of it; `undefined` leaves it as it is. `change` may run several times.
   * @throws GantryError NOT_FOUND, OVERLOADED, and whatever `change` throws
   */
  async update(
    id: string,
    change: (current: Static<S>) => Static<S> | undefined,
    emit: (next: Static<S>) => readonly Emission[] = () => [],
  ): Promise<Static<S>> {
    using turn = await this.#turn(id)
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const current = await this.#read(id)
      if (current === undefined) throw new GantryError('NOT_FOUND', `there is no ${id}`)
      const next = change(current.value)
      if (next === undefined) return current.value
      const outbox = [...this.#outbox.untold(id, current.outbox), ...emit(next)]
      const envelope = encode(this.#options, id, next, outbox)
      if ((await this.#outbox.store(envelope, current.revision, turn.end)) !== undefined) return next
      await delay(Math.random() * Math.min(attempt, maxPauseMs))
    }
    throw contended(id)
  }

  /** Makes the value, or replaces it by what `change` makes of it. `change` may run several times. @throws OVERLOADED */
  async upsert(
    id: string,
    change: (current: Static<S> | undefined) => Static<S>,
    emit: (next: Static<S>) => readonly Emission[] = () => [],
  ): Promise<Static<S>> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      try {
        if ((await this.#read(id)) !== undefined) return await this.update(id, change, emit)
        const first = change(undefined)
        await this.create(id, first, emit(first))
        return first
      } catch (error) {
        if (!isGantryError(error, 'ALREADY_EXISTS') && !isGantryError(error, 'NOT_FOUND')) throw error
      }
    }
    throw contended(id)
  }

  /**
   * Removes the value if `allowed` says so of the current one, once the facts about that are told.
   * @throws GantryError NOT_FOUND, and what `allowed` throws
   */
  async delete(
    id: string,
    allowed: (current: Static<S>) => void = () => undefined,
    emit: (last: Static<S>) => readonly Emission[] = () => [],
  ): Promise<Static<S>> {
    using turn = await this.#turn(id)
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const current = await this.#read(id)
      if (current === undefined) throw new GantryError('NOT_FOUND', `there is no ${id}`)
      allowed(current.value)
      if (await this.#remove(current, emit(current.value), turn.end)) {
        await this.#ungroup(id, current.value)
        return current.value
      }
      await delay(Math.random() * Math.min(attempt, maxPauseMs))
    }
    throw contended(id)
  }

  /** Removes a value that has one writer only, and all trace of it: those who watch are not told. */
  async erase(id: string): Promise<void> {
    if (this.#known !== undefined) throw new Error(`${this.#options.bucket} is kept in memory`)
    const { groupOf } = this.#options
    const value = groupOf === undefined ? undefined : await this.get(id)
    await this.#bucket.erase(id)
    const group = value === undefined ? undefined : groupOf?.(value)
    if (group !== undefined) await this.#groups.remove(group, id)
  }

  /**
   * Tells of every value, then of every change until `stop`; `undefined` means deleted, with the id as a subject token
   * where the value is not known any more.
   */
  async watch(
    onChange: (token: string, value: Static<S> | undefined) => void,
  ): Promise<{ stop(): Promise<void> }> {
    const prefix = `$KV.${this.#options.bucket}.`
    return followLast(this.#js, `KV_${this.#options.bucket}`, `${prefix}*`, (message) => {
      const token = message.subject.slice(prefix.length)
      if (message.headers?.get('KV-Operation')) return onChange(token, undefined)
      const envelope = parseEnvelope(message.string())
      if (envelope === undefined) return
      onChange(token, envelope.gone === true ? undefined : decode(this.#options, envelope))
    })
  }

  /** Waits until all who came before have changed a value, or failed; the turn ends with the scope at the latest. */
  async #turn(id: string): Promise<Disposable & { readonly end: () => void }> {
    const before = this.#turns.get(id)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#turns.set(id, promise)
    await before
    const end = () => {
      if (this.#turns.get(id) === promise) this.#turns.delete(id)
      resolve()
    }
    return { end, [Symbol.dispose]: end }
  }

  async #read(id: string): Promise<Current<S> | undefined> {
    const stored = await this.#bucket.get(id)
    if (stored === undefined || stored.envelope.gone === true) return undefined
    const { envelope, revision } = stored
    return { id, value: decode(this.#options, envelope), outbox: envelope.outbox ?? [], revision }
  }

  /** False when somebody else was faster. */
  async #remove(
    { id, value, outbox, revision }: Current<S>,
    facts: readonly Emission[],
    stored: () => void,
  ): Promise<boolean> {
    // With the value would go what its last writer did not live to tell.
    const all = [...this.#outbox.untold(id, outbox), ...facts]
    if (all.length === 0 || this.#options.events === undefined) return this.#bucket.remove(id, revision)
    const envelope: Envelope = { ...encode(this.#options, id, value, all), gone: true }
    return (await this.#outbox.store(envelope, revision, stored)) !== undefined
  }

  /** Tells of a value that is deleted, and removes it; false when there is one that is not. */
  async #bury(id: string): Promise<boolean> {
    const stored = await this.#bucket.get(id)
    if (stored?.envelope.gone === true) await this.#outbox.settle(stored)
    return stored === undefined || stored.envelope.gone === true
  }

  /** Room for a value that is not there yet. Counting holds for some more, so that a thousand at once are not counted each. */
  async #requireRoom(id: string): Promise<void> {
    const { most } = this.#options
    if (most === undefined) return
    if (this.#room.left > 0 && performance.now() < this.#room.untilMs) {
      this.#room.left -= 1
      return
    }
    const limit = await most.count()
    let count = await this.#bucket.messageCount()
    if (count >= limit) count = await this.#bucket.count()
    this.#room = { left: limit - count - 1, untilMs: performance.now() + countedMs }
    if (count < limit || (await this.#read(id)) !== undefined) return
    throw new GantryError(
      'LIMIT_REACHED',
      `there are already ${limit} ${most.what}, which is the limit: ${most.fix}`,
    )
  }

  async #group(id: string, value: Static<S>): Promise<void> {
    const group = this.#options.groupOf?.(value)
    if (group !== undefined) await this.#bucket.persist(() => this.#groups.add(group, id))
  }

  /** Forgets the group of a value that was deleted; until then its entry stands for no value. */
  async #ungroup(id: string, value: Static<S>): Promise<void> {
    const group = this.#options.groupOf?.(value)
    if (group === undefined) return
    await this.#groups.remove(group, id)
    // Somebody may have made it again meanwhile, and its entry is gone then.
    const again = await this.get(id)
    if (again !== undefined) await this.#group(id, again)
  }

  #reconciliation(connection: NatsConnection, journal: RecordJournal): Reconciliation {
    const { bucket, journals } = this.#options
    return {
      connection,
      bucket,
      kv: this.#bucket.kv,
      journal,
      tell: (losses) => journals?.losses.add(losses),
    }
  }

  /** Puts the records back to what was acknowledged, and tells of what was not so. */
  async #reconcile(connection: NatsConnection, journal: RecordJournal): Promise<void> {
    const { bucket, journals, inDoubt } = this.#options
    // A start that was killed before it had dealt with this.
    const wasInDoubt = !journal.isIntact && journals?.losses.of(bucket)?.kind === 'IN_DOUBT'
    const found = await reconcile(this.#reconciliation(connection, journal))
    const isInDoubt = wasInDoubt || found.some(({ kind }) => kind === 'IN_DOUBT')
    if (isInDoubt && inDoubt !== undefined)
      for (const id of (await this.#byId()).keys()) await this.update(id, inDoubt)
    if (!journal.isIntact) await journal.rewrite()
  }

  async #groupAll(connection: NatsConnection, journal: RecordJournal | undefined): Promise<void> {
    const all = [...(await this.#byId())].map(([id, value]) => ({
      id,
      group: this.#options.groupOf?.(value),
    }))
    const complete = async () => {
      await this.#groups.complete(
        all.flatMap(({ id, group }) => (group === undefined ? [] : [{ id, group }])),
      )
      return true
    }
    const { bucket } = this.#options
    if ((await unlessDamaged(connection, bucket, complete)) === true) return
    if (journal === undefined) await salvage(connection, bucket, this.#bucket.kv, bucketOptions)
    else await renew(this.#reconciliation(connection, journal))
    await complete()
  }

  async #relayAll(): Promise<void> {
    const left: string[] = []
    await this.#bucket.each((envelope) => {
      if (envelope.outbox !== undefined || envelope.gone === true) left.push(envelope.id)
    })
    for (const id of left) {
      const stored = await this.#bucket.get(id)
      if (stored !== undefined) await this.#outbox.settle(stored)
    }
  }
}
