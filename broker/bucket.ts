import { type KV, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import { GantryError } from '../subjects/errors.ts'
import { subjectToken } from '../subjects/names.ts'
import { backoffMs } from './backoff.ts'
import { type Envelope, parseEnvelope } from './envelope.ts'
import { isApiError, isStorageFull, isTransient, jetStreamCodes, lastOfEach } from './jetstream.ts'
import { setAside } from './set-aside.ts'

/** A broker that was killed is back within a second, and has read a large store within half a minute. */
const outageMs = 30_000

/** An envelope as it is stored. */
export interface Stored {
  readonly envelope: Envelope
  readonly revision: number
}

/**
 * Envelopes by id in a KV bucket. Writing tries on while the broker is away; a record that is no envelope is set aside
 * (`namesSetAside`) by whoever finds it.
 */
export class Bucket {
  readonly kv: KV
  readonly #name: string
  readonly #connection: NatsConnection

  private constructor(kv: KV, name: string, connection: NatsConnection) {
    this.kv = kv
    this.#name = name
    this.#connection = connection
  }

  /** Opens it, and makes it if need be. */
  static async open(connection: NatsConnection, name: string): Promise<Bucket> {
    return new Bucket(await new Kvm(connection).create(name, { history: 1 }), name, connection)
  }

  get(id: string): Promise<Stored | undefined> {
    return this.#at(subjectToken(id))
  }

  /** Undefined too for a record that is none, which is away then. */
  async #at(key: string): Promise<Stored | undefined> {
    const entry = await this.kv.get(key)
    if (entry?.operation !== 'PUT') return undefined
    const { revision, value: data } = entry
    const envelope = parseEnvelope(entry.string())
    if (envelope !== undefined) return { envelope, revision }
    await setAside(this.#connection, this.kv, this.#name, { key, revision, data })
    return undefined
  }

  /** Hands over every envelope, as they are now. */
  async each(take: (envelope: Envelope) => void): Promise<void> {
    const prefix = `$KV.${this.#name}.`
    const unreadable: string[] = []
    await lastOfEach(this.#connection, `KV_${this.#name}`, `${prefix}*`, (message) => {
      if (message.headers?.get('KV-Operation')) return
      const envelope = parseEnvelope(message.string())
      if (envelope !== undefined) take(envelope)
      else unreadable.push(message.subject.slice(prefix.length))
    })
    for (const key of unreadable) await this.#at(key)
  }

  /** Writes an envelope, whatever is there. @throws GantryError STORAGE_FULL */
  async put(envelope: Envelope): Promise<void> {
    const text = JSON.stringify(envelope)
    await this.persist(() => this.kv.put(subjectToken(envelope.id), text))
  }

  /**
   * Writes an envelope in the place of a revision, 0 for none; resolves to its own revision, undefined when somebody else
   * was faster. A broker that died may have stored it and not lived to say so: that is looked up.
   * @throws GantryError STORAGE_FULL; the broker's error when somebody has changed it since, so that nobody can know
   */
  async store(envelope: Envelope, over: number): Promise<number | undefined> {
    const token = subjectToken(envelope.id)
    const text = JSON.stringify(envelope)
    let lost: unknown
    const outcome = await this.persist(async () => {
      try {
        return await (over === 0 ? this.kv.create(token, text) : this.kv.update(token, text, over))
      } catch (error) {
        if (!isApiError(error, jetStreamCodes.wrongLastSequence)) {
          lost = error
          throw error
        }
        if (lost === undefined) return undefined
        const stored = await this.get(envelope.id)
        return stored?.envelope.w === envelope.w ? stored?.revision : uncertain
      }
    })
    if (outcome === uncertain) throw lost
    return outcome
  }

  /** Removes a revision; false when somebody else was faster. */
  async remove(id: string, revision: number): Promise<boolean> {
    let isLost = false
    return this.persist(async () => {
      try {
        await this.kv.delete(subjectToken(id), { previousSeq: revision })
        return true
      } catch (error) {
        if (!isApiError(error, jetStreamCodes.wrongLastSequence)) {
          isLost = true
          throw error
        }
        return isLost && (await this.get(id)) === undefined
      }
    })
  }

  /** Does what may be done twice, until the broker has done it. @throws GantryError STORAGE_FULL; when the broker stays away */
  async persist<T>(work: () => Promise<T>): Promise<T> {
    const endMs = performance.now() + outageMs
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        const isOver =
          performance.now() > endMs || this.#connection.isClosed() || this.#connection.isDraining()
        if (!isTransient(error) || isOver) throw storageError(error)
        await delay(backoffMs(attempt))
      }
    }
  }
}

/** Whether something was stored nobody can say. */
const uncertain = Symbol('uncertain')

const storageError = (error: unknown): unknown =>
  isStorageFull(error)
    ? new GantryError('STORAGE_FULL', 'the platform’s storage is full: raise max_file in messaging.config', {
        cause: error,
      })
    : error
