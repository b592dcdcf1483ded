import { type JetStreamClient, jetstream } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { type NatsConnection, nuid } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import type { Static, TSchema } from 'typebox'
import { GantryError, isGantryError } from '../subjects/errors.ts'
import { subjectToken } from '../subjects/names.ts'
import { maxPageLength } from '../subjects/schemas.ts'
import { check } from '../subjects/validate.ts'
import type { Emission, Events } from './events.ts'
import { GroupIndex } from './group-index.ts'
import { isApiError, jetStreamCodes, lastOfEach, followLast, storageError } from './jetstream.ts'

/** A document of an older version, brought one version up. */
export type Upcaster = (document: unknown) => unknown

export interface CollectionOptions<S extends TSchema> {
  /** Name of the bucket: letters, digits, `-`, `_`. */
  readonly bucket: string
  /** Shape of the current version; checked on write and on read. */
  readonly schema: S
  /** Version of the shape; a stored document of an older one passes the upcasters from its version on. */
  readonly version: number
  readonly upcasters?: Readonly<Record<number, Upcaster>>
  /** Where facts about changes go. */
  readonly events?: Events
  /** The group by which a value is found with others, which never changes; undefined for a value without one. */
  readonly groupOf?: (value: Static<S>) => string | undefined
}

/** What is stored: the document, and facts that were not yet published when the writer died. */
interface Envelope {
  v: number
  id: string
  doc: unknown
  outbox?: Emission[]
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
  readonly #kv: KV
  readonly #js: JetStreamClient
  readonly #connection: NatsConnection
  readonly #options: CollectionOptions<S>
  readonly #groups: GroupIndex

  private constructor(kv: KV, connection: NatsConnection, options: CollectionOptions<S>) {
    this.#kv = kv
    this.#js = jetstream(connection)
    this.#connection = connection
    this.#options = options
    this.#groups = new GroupIndex(kv, connection, options.bucket)
  }

  /** Opens the bucket, makes it if need be, completes its groups, and publishes what a writer that died left in an outbox. */
  static async open<S extends TSchema>(
    connection: NatsConnection,
    options: CollectionOptions<S>,
  ): Promise<Collection<S>> {
    const kv = await new Kvm(connection).create(options.bucket, { history: 1 })
    const collection = new Collection<S>(kv, connection, options)
    if (options.events !== undefined) await collection.#relayAll()
    if (options.groupOf !== undefined) await collection.#groupAll()
    return collection
  }

  async get(id: string): Promise<Static<S> | undefined> {
    return (await this.#read(id))?.value
  }

  /** All values, ordered by id; `after` and `limit` cut out a page. */
  async list({ after, limit = maxPageLength }: { after?: string; limit?: number } = {}): Promise<
    Static<S>[]
  > {
    const values = await this.#all()
    return [...values.keys()]
      .filter((id) => after === undefined || id > after)
      .toSorted()
      .slice(0, limit)
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

  async #all(): Promise<Map<string, Static<S>>> {
    const values = new Map<string, Static<S>>()
    await this.#eachEnvelope((envelope) => values.set(envelope.id, this.#decode(envelope)))
    return values
  }

  /** @throws GantryError ALREADY_EXISTS */
  async create(id: string, value: Static<S>, emit: readonly Emission[] = []): Promise<void> {
    const envelope = this.#encode(id, value, emit)
    try {
      await this.#group(id, value)
      const revision = await this.#kv.create(subjectToken(id), JSON.stringify(envelope))
      await this.#relay(id, envelope, revision)
    } catch (error) {
      if (isApiError(error, jetStreamCodes.wrongLastSequence)) {
        throw new GantryError('ALREADY_EXISTS', `${id} exists already`, { cause: error })
      }
      throw storageError(error)
    }
  }

  /** Writes a value that has one writer only, whatever is there. */
  async put(id: string, value: Static<S>): Promise<void> {
    try {
      await this.#group(id, value)
      await this.#kv.put(subjectToken(id), JSON.stringify(this.#encode(id, value, [])))
    } catch (error) {
      throw storageError(error)
    }
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
      const envelope = this.#encode(id, next, [...current.outbox, ...emit(next)])
      try {
        const revision = await this.#kv.update(subjectToken(id), JSON.stringify(envelope), current.revision)
        await this.#relay(id, envelope, revision)
        return next
      } catch (error) {
        if (!isApiError(error, jetStreamCodes.wrongLastSequence)) throw storageError(error)
        await delay(Math.random() * Math.min(attempt, maxPauseMs))
      }
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

  /** Removes the value if `allowed` says so of the current one. @throws GantryError NOT_FOUND, and what `allowed` throws */
  async delete(id: string, allowed: (current: Static<S>) => void = () => undefined): Promise<Static<S>> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const current = await this.#read(id)
      if (current === undefined) throw new GantryError('NOT_FOUND', `there is no ${id}`)
      allowed(current.value)
      // With the value would go what its last writer did not live to tell.
      await this.#publish(current.outbox)
      try {
        await this.#kv.delete(subjectToken(id), { previousSeq: current.revision })
        return current.value
      } catch (error) {
        if (!isApiError(error, jetStreamCodes.wrongLastSequence)) throw storageError(error)
        await delay(Math.random() * Math.min(attempt, maxPauseMs))
      }
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
      const deleted = Boolean(message.headers?.get('KV-Operation'))
      onChange(token, deleted ? undefined : this.#decode(message.json<Envelope>()))
    })
  }

  async #read(id: string): Promise<{ value: Static<S>; outbox: Emission[]; revision: number } | undefined> {
    const entry = await this.#kv.get(subjectToken(id))
    if (entry === null || entry.operation !== 'PUT') return undefined
    const envelope = entry.json<Envelope>()
    return { value: this.#decode(envelope), outbox: envelope.outbox ?? [], revision: entry.revision }
  }

  #encode(id: string, value: Static<S>, outbox: readonly Emission[]): Envelope {
    const { schema, version, bucket } = this.#options
    const envelope: Envelope = { v: version, id, doc: check(schema, value, `${bucket}/${id}`) }
    // The fact's own id makes a second publication of it a duplicate that the stream drops.
    if (outbox.length > 0)
      envelope.outbox = outbox.map((emission) => ({ messageId: nuid.next(), ...emission }))
    return envelope
  }

  #decode(envelope: Envelope): Static<S> {
    const { schema, version, bucket, upcasters } = this.#options
    let { doc } = envelope
    for (let from = envelope.v; from < version; from++) {
      const upcast = upcasters?.[from]
      if (upcast === undefined)
        throw new Error(`${bucket}/${envelope.id}: no way from version ${from} to ${from + 1}`)
      doc = upcast(doc)
    }
    if (envelope.v > version) throw new Error(`${bucket}/${envelope.id} was written by a newer release`)
    return check(schema, doc, `${bucket}/${envelope.id}`)
  }

  /** Publishes the facts of a change that is stored, then forgets them; whoever changes the value next carries them on. */
  async #relay(id: string, envelope: Envelope, revision: number): Promise<void> {
    if (envelope.outbox === undefined || this.#options.events === undefined) return
    await this.#publish(envelope.outbox)
    const { outbox: _published, ...rest } = envelope
    try {
      await this.#kv.update(subjectToken(id), JSON.stringify(rest), revision)
    } catch (error) {
      if (!isApiError(error, jetStreamCodes.wrongLastSequence)) throw error
    }
  }

  async #publish(outbox: readonly Emission[]): Promise<void> {
    for (const emission of outbox) await this.#options.events?.publish(emission)
  }

  async #group(id: string, value: Static<S>): Promise<void> {
    const group = this.#options.groupOf?.(value)
    if (group !== undefined) await this.#groups.add(group, id)
  }

  async #groupAll(): Promise<void> {
    const all = [...(await this.#all())].map(([id, value]) => ({ id, group: this.#options.groupOf?.(value) }))
    await this.#groups.complete(all.flatMap(({ id, group }) => (group === undefined ? [] : [{ id, group }])))
  }

  async #relayAll(): Promise<void> {
    const left: string[] = []
    await this.#eachEnvelope((envelope) => {
      if (envelope.outbox !== undefined) left.push(envelope.id)
    })
    for (const id of left) {
      const entry = await this.#kv.get(subjectToken(id))
      if (entry?.operation === 'PUT') await this.#relay(id, entry.json<Envelope>(), entry.revision)
    }
  }

  /** Every document that is stored, as it is stored. */
  #eachEnvelope(take: (envelope: Envelope) => void): Promise<void> {
    const { bucket } = this.#options
    return lastOfEach(this.#connection, `KV_${bucket}`, `$KV.${bucket}.*`, (message) => {
      if (!message.headers?.get('KV-Operation')) take(message.json<Envelope>())
    })
  }
}
