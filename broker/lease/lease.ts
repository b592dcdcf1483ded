import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import { type NatsConnection, TimeoutError } from '@nats-io/transport-node'
import { type Static, Type } from 'typebox'
import { check } from '../../subjects/kit/validate.ts'
import { Holder, inWords, isSame, requireEnded, thisHolder } from './holder.ts'
import { isApiError, jetStreamCodes } from '../state/jetstream.ts'
import type { Log } from '../common/log.ts'
import { removing } from '../state/books/stream-book.ts'
import { every, type Task } from '../tasks/tasks.ts'

/**
 * A lease ends so long after its last renewal. Renewals, which are 3 s apart, stop for up to 8 s while a cluster elects a
 * leader, and one more of them may be lost.
 */
export const defaultLeaseMs = 20_000
/** The holder takes it for ended sooner: what it has begun must be over when another one takes it. */
const holdShare = 0.75
export const renewShare = 0.15
const checkShare = 0.05

const bucket = 'lease'
/** It changes with each renewal; who has it says whether it is right. */
export const leaseStream = `KV_${bucket}`
const key = 'platform'

/** Grows with each holder. */
const StoredLease = Type.Object({
  epoch: Type.Integer({ minimum: 1 }),
  holder: Type.Union([Holder, Type.Null()]),
})
type StoredLease = Static<typeof StoredLease>

export interface LeaseOptions {
  readonly leaseMs: number
  /**
   * It is over: another process may use the store, and this one must not write any more. Called once, and at once when this
   * process runs again after a pause.
   */
  readonly onLost: (reason: string) => void
  readonly log: Log
  /** Who takes it; a test may be somebody else. */
  readonly holder?: Holder
  /** One that is known to have ended. */
  readonly ended?: Holder | undefined
}

/** The right to be the only platform on a store: taken and renewed by compare-and-set, and over by itself. */
export class Lease {
  readonly epoch: number
  readonly #kv: KV
  readonly #options: LeaseOptions
  readonly #stored: StoredLease
  readonly #tasks: readonly Task[]
  #revision: number
  /** By a monotonic clock: before the last renewal that was confirmed was sent. */
  #confirmedMs: number
  #checkedMs: number
  #isOver = false

  private constructor(kv: KV, options: LeaseOptions, stored: StoredLease, revision: number, sentMs: number) {
    this.#kv = kv
    this.#options = options
    this.#stored = stored
    this.#revision = revision
    this.epoch = stored.epoch
    this.#confirmedMs = sentMs
    this.#checkedMs = performance.now()
    const { leaseMs } = options
    this.#tasks = [
      every('platform.lease', () => this.#renew(), leaseMs * renewShare),
      every('platform.lease-check', () => this.#check(), leaseMs * checkShare),
    ]
  }

  /**
   * Takes the lease: at once when there is none, it was given back, or its holder is proven to be gone; else when it was not
   * renewed for its whole time. @throws ConfigError that names the holder
   */
  static async take(connection: NatsConnection, options: LeaseOptions): Promise<Lease> {
    try {
      return await Lease.#take(connection, options, 0)
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error
      // nats-server does not answer a request for a damaged message. That nobody else uses the store, its claim says.
      options.log.error(
        { err: error },
        'The lease cannot be read because the store was damaged; acquiring a new one.',
      )
      const manager = await jetstreamManager(connection)
      await removing(connection, { stream: leaseStream, messages: undefined }, () =>
        manager.streams.delete(leaseStream),
      )
      // Above all epochs of before, of which there is one for each start.
      return await Lease.#take(connection, options, Math.floor(Date.now() / 1_000))
    }
  }

  static async #take(connection: NatsConnection, options: LeaseOptions, lastEpoch: number): Promise<Lease> {
    const kv = await new Kvm(connection).create(bucket, { history: 1 })
    // A renewal whose answer was lost with the broker must not hold up the next one for long.
    const timeout = options.leaseMs * renewShare
    const renewing = await new Kvm(jetstream(connection, { timeout })).open(bucket)
    const holder = { ...(options.holder ?? thisHolder()), leaseMs: options.leaseMs }
    for (;;) {
      const found = await kv.get(key)
      const last = found?.operation === 'PUT' ? storedLease(found.string()) : undefined
      if (last?.holder && !isSame(last.holder, options.ended)) {
        await requireEnded(last.holder, async () => (await kv.get(key))?.revision, options)
      }
      const next = { epoch: (last?.epoch ?? lastEpoch) + 1, holder }
      const sentMs = performance.now()
      const revision = await compareAndSet(kv, next, found?.revision ?? 0)
      if (revision !== undefined) return new Lease(renewing, options, next, revision, sentMs)
    }
  }

  /** Gives it back, so that the next one need not wait. */
  async release(): Promise<void> {
    if (this.#isOver) return
    this.#end()
    try {
      await compareAndSet(this.#kv, { ...this.#stored, holder: null }, this.#revision)
    } catch (err) {
      // Whoever comes next finds that this process is gone, or waits.
      this.#options.log.debug({ err }, 'The lease could not be released.')
    }
  }

  /** While the broker is away nobody can take it; when it is back, it says who has it. */
  async #renew(): Promise<void> {
    const sentMs = performance.now()
    let revision: number | undefined
    try {
      revision = await compareAndSet(this.#kv, this.#stored, this.#revision)
    } catch (err) {
      this.#options.log.debug({ err }, 'The lease could not be renewed; retrying.')
      return
    }
    if (this.#isOver) return
    if (revision === undefined) return this.#lookAgain()
    this.#revision = revision
    this.#confirmedMs = sentMs
  }

  /** A renewal was stored and its answer lost, the store was damaged, or somebody else has it. */
  async #lookAgain(): Promise<void> {
    const found = await this.#kv.get(key)
    const { epoch, holder } = (found?.operation === 'PUT' ? storedLease(found.string()) : undefined) ?? {
      epoch: 0,
      holder: null,
    }
    const isOurs = epoch < this.epoch || (epoch === this.epoch && isSame(holder, this.#stored.holder))
    if (!isOurs)
      return this.#lose(`it was acquired by ${holder === null ? 'another process' : inWords(holder)}`)
    this.#revision = found?.revision ?? 0
  }

  /** A process that was paused finds out here, before it has heard of anything. */
  #check(): void {
    const nowMs = performance.now()
    const holdMs = this.#options.leaseMs * holdShare
    const pausedMs = nowMs - this.#checkedMs
    this.#checkedMs = nowMs
    if (nowMs - this.#confirmedMs > holdMs && pausedMs > holdMs / 2)
      this.#lose(`this process was paused for ${Math.round(pausedMs / 1_000)} s`)
  }

  #lose(reason: string): void {
    if (this.#isOver) return
    this.#end()
    this.#options.onLost(reason)
  }

  #end(): void {
    this.#isOver = true
    for (const task of this.#tasks) task.stop()
  }
}

/** The revision; undefined when somebody else was faster. */
async function compareAndSet(kv: KV, lease: StoredLease, over: number): Promise<number | undefined> {
  const text = JSON.stringify(lease)
  try {
    return await (over === 0 ? kv.create(key, text) : kv.update(key, text, over))
  } catch (error) {
    if (isApiError(error, jetStreamCodes.wrongLastSequence)) return undefined
    throw error
  }
}

/** Undefined for a text that no release writes. */
function storedLease(text: string): StoredLease | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return check(StoredLease, value, `${bucket}/${key}`)
  } catch {
    return undefined
  }
}
