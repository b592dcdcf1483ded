import { type JetStreamClient, jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import type { Static, TSchema } from 'typebox'
import { GantryError, isGantryError } from '../subjects/errors.ts'
import { subjectToken } from '../subjects/names.ts'
import { maxPageLength } from '../subjects/schemas.ts'
import { Bucket } from './bucket.ts'
import { decode, encode, type Envelope, parseEnvelope, type Versioned } from './envelope.ts'
import type { Emission, Events } from './events.ts'
import { GroupIndex } from './group-index.ts'
import { followLast } from './jetstream.ts'
import { Outbox } from './outbox.ts'

export interface CollectionOptions<S extends TSchema> extends Versioned<S> {
  /** Where facts about changes go. */
  readonly events?: Events
  /** The group by which a value is found with others, which never changes; undefined for a value without one. */
  readonly groupOf?: (value: Static<S>) => string | undefined
}

/** A value as it is stored, with facts that were not published yet. */
interface Current<S extends TSchema> {
  readonly id: string
  readonly value: Static<S>
  readonly outbox: readonly Emission[]
  readonly revision: number
}

/** Writers that collide this often on one key do not take turns but fight; something is wrong. */
const maxAttempts = 50
/** Two that write in step would collide again and again, and one of them win each time; this puts them out of step. */
const maxPauseMs = 10

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

  private constructor(bucket: Bucket, connection: NatsConnection, options: CollectionOptions<S>) {
    this.#bucket = bucket
    this.#js = jetstream(connection)
    this.#options = options
    this.#groups = new GroupIndex(bucket.kv, connection, options.bucket)
    this.#outbox = new Outbox(bucket, connection, options.events)
  }

  /**
   * Opens the bucket, makes it if need be, completes its groups, and publishes what a writer that died left in an outbox. A record that is
   * none is set aside.
   */
  static async open<S extends TSchema>(
    connection: NatsConnection,
    options: CollectionOptions<S>,
  ): Promise<Collection<S>> {
    const collection = new Collection<S>(await Bucket.open(connection, options.bucket), connection, options)
    if (options.events !== undefined) await collection.#relayAll()
    if (options.groupOf !== undefined) await collection.#groupAll()
    return collection
  }

  async get(id: string): Promise<Static<S> | undefined> {
    return (await this.#read(id))?.value
  }

  /** A page of the values, ordered by id. */
  async list({ after, limit = maxPageLength }: { after?: string; limit?: number } = {}): Promise<
    Static<S>[]
  > {
    return (await this.all(after)).slice(0, limit)
  }

  /** All values, ordered by id, or those whose ids come after one. */
  async all(after?: string): Promise<Static<S>[]> {
    const values = await this.#byId()
    return [...values.keys()]
      .filter((id) => after === undefined || id > after)
      .toSorted()
      .map((id) => values.get(id)!)
  }

  /** The values of a group, ordered by id. */
  async listGroup(group: string): Promise<Static<S>[]> {
    const ids = await this.#groups.idsOf(group)
    const found = await Promise.all(ids.map((id) => this.#read(id)))
    return found.flatMap((each) => (each === undefined ? [] : [each.value]))
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

  /** @throws GantryError ALREADY_EXISTS */
  async create(id: string, value: Static<S>, emit: readonly Emission[] = []): Promise<void> {
    const envelope = encode(this.#options, id, value, emit)
    await this.#group(id, value)
    for (;;) {
      const revision = await this.#bucket.store(envelope, 0)
      if (revision !== undefined) return this.#outbox.relay({ envelope, revision })
      // What is deleted, and not told yet, must be told first.
      if (!(await this.#bury(id))) throw new GantryError('ALREADY_EXISTS', `${id} exists already`)
    }
  }

  /** Writes a value that has one writer only, whatever is there. */
  async put(id: string, value: Static<S>): Promise<void> {
    await this.#group(id, value)
    await this.#bucket.put(encode(this.#options, id, value))
  }

  /**
   * Replaces the value by what `change` makes of it; `undefined` leaves it as it is. `change` may run several times.
   * @throws GantryError NOT_FOUND, CONFLICT, and whatever `change` throws
   */
  async update(
    id: string,
    change: (current: Static<S>) => Static<S> | undefined,
    emit: (next: Static<S>) => readonly Emission[] = () => [],
  ): Promise<Static<S>> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const current = await this.#read(id)
      if (current === undefined) throw new GantryError('NOT_FOUND', `there is no ${id}`)
      const next = change(current.value)
      if (next === undefined) return current.value
      const envelope = encode(this.#options, id, next, [...current.outbox, ...emit(next)])
      const revision = await this.#bucket.store(envelope, current.revision)
      if (revision !== undefined) {
        await this.#outbox.relay({ envelope, revision })
        return next
      }
      await delay(Math.random() * Math.min(attempt, maxPauseMs))
    }
    throw new GantryError('CONFLICT', `${id} is being changed by others all the time`)
  }

  /** Makes the value, or replaces it by what `change` makes of it. `change` may run several times. @throws CONFLICT */
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
    throw new GantryError('CONFLICT', `${id} is being changed by others all the time`)
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
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const current = await this.#read(id)
      if (current === undefined) throw new GantryError('NOT_FOUND', `there is no ${id}`)
      allowed(current.value)
      if (await this.#remove(current, emit(current.value))) return current.value
      await delay(Math.random() * Math.min(attempt, maxPauseMs))
    }
    throw new GantryError('CONFLICT', `${id} is being changed by others all the time`)
  }

  /** Removes a value that has one writer only, and all trace of it: those who watch are not told. */
  async erase(id: string): Promise<void> {
    const { bucket } = this.#options
    const manager = await this.#js.jetstreamManager(false)
    await manager.streams.purge(`KV_${bucket}`, { filter: `$KV.${bucket}.${subjectToken(id)}` })
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

  async #read(id: string): Promise<Current<S> | undefined> {
    const stored = await this.#bucket.get(id)
    if (stored === undefined || stored.envelope.gone === true) return undefined
    const { envelope, revision } = stored
    return { id, value: decode(this.#options, envelope), outbox: envelope.outbox ?? [], revision }
  }

  /** False when somebody else was faster. */
  async #remove({ id, value, outbox, revision }: Current<S>, facts: readonly Emission[]): Promise<boolean> {
    // With the value would go what its last writer did not live to tell.
    const all = [...outbox, ...facts]
    if (all.length === 0 || this.#options.events === undefined) return this.#bucket.remove(id, revision)
    const envelope: Envelope = { ...encode(this.#options, id, value, all), gone: true }
    const stored = await this.#bucket.store(envelope, revision)
    if (stored !== undefined) await this.#outbox.relay({ envelope, revision: stored })
    return stored !== undefined
  }

  /** Tells of a value that is deleted, and removes it; false when there is one that is not. */
  async #bury(id: string): Promise<boolean> {
    const stored = await this.#bucket.get(id)
    if (stored?.envelope.gone === true) await this.#outbox.settle(stored)
    return stored === undefined || stored.envelope.gone === true
  }

  async #group(id: string, value: Static<S>): Promise<void> {
    const group = this.#options.groupOf?.(value)
    if (group !== undefined) await this.#bucket.persist(() => this.#groups.add(group, id))
  }

  async #groupAll(): Promise<void> {
    const all = [...(await this.#byId())].map(([id, value]) => ({
      id,
      group: this.#options.groupOf?.(value),
    }))
    await this.#groups.complete(all.flatMap(({ id, group }) => (group === undefined ? [] : [{ id, group }])))
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
