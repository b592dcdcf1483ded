import { type JetStreamClient, jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { setTimeout as delay } from 'node:timers/promises'
import { GantryError } from '../../subjects/kit/errors.ts'
import { encodeLink, endOf, genesisOf } from './chain.ts'
import { AuditReader } from './reader.ts'
import { auditBytes, auditRequestMs, AuditStream, auditSubject } from './stream.ts'
import { backoffMs } from '../common/retry.ts'
import { isApiError, isStorageFull, isTransient, jetStreamCodes } from '../state/jetstream.ts'
import type { Log } from '../common/log.ts'

/** Records in one message: those that came while the one before was under way. Their index is part of a sequence. */
const maxRecordsAtOnce = 500
/** Records that wait in memory while the broker is away, some 400 bytes each; then changes are refused. */
const maxWaiting = 10_000
/** For the records of all requests that may be in progress when the log is found to be full. */
const reserveBytes = 8 * 2 ** 20
/** Of a small log the reserve must not be all. */
const reserveShare = 8
/** How old the knowledge of what is free may be. Other streams fill the same storage, at some 100 MB a second. */
const freeKnownMs = 1_000
/** Whoever waits for a record is told after this that it is not stored; it is tried on. A broker restarts in a few seconds. */
const patienceMs = 10_000
/** What waits when the platform stops is given so long. */
const closeMs = 2_000

export interface AuditTrailOptions {
  readonly instance: string
  readonly maxFileBytes: number
  readonly retentionMs: number
  readonly log: Log
}

interface Waiting {
  readonly text: string
  readonly stored: PromiseWithResolvers<void>
}

/**
 * The audit log: records that only grow, each chained to the one before by a hash. Writers in several processes take
 * turns by compare-and-set on the stream's last sequence, so the chain has no fork; each of them stores what has come
 * meanwhile in one message.
 */
export class AuditTrail<T extends object> {
  readonly reader: AuditReader<T>
  readonly #stream: AuditStream
  readonly #js: JetStreamClient
  readonly #options: AuditTrailOptions
  readonly #closing = new AbortController()
  readonly #waiting: Waiting[] = []
  #writing: Promise<void> | undefined
  /** The last message, as far as this writer knows. */
  #head: { sequence: number; hash: string } | undefined
  #freeBytes = 0
  #freeKnownAtMs = 0
  #looking = false
  #isFull = false

  private constructor(stream: AuditStream, js: JetStreamClient, options: AuditTrailOptions) {
    this.#stream = stream
    this.#js = js
    this.#options = options
    this.reader = new AuditReader(stream.patient(), options.instance)
  }

  static async open<T extends object>(
    connection: NatsConnection,
    options: AuditTrailOptions,
  ): Promise<AuditTrail<T>> {
    const trail = new AuditTrail<T>(
      await AuditStream.open(connection, options),
      jetstream(connection, { timeout: auditRequestMs }),
      options,
    )
    await trail.#lookForRoom()
    return trail
  }

  /** To be asked before anything that has to be recorded. @throws GantryError STORAGE_FULL */
  requireRoom(): void {
    const hasRoom = !this.#isFull && this.#waiting.length < maxWaiting && this.#freeBytes > this.#reserveBytes
    if (!hasRoom || performance.now() - this.#freeKnownAtMs > freeKnownMs) this.#lookForRoomSoon()
    if (!hasRoom) throw full('changes are refused')
  }

  get #reserveBytes(): number {
    return Math.min(reserveBytes, auditBytes(this.#options.maxFileBytes) / reserveShare)
  }

  /**
   * Appends a record; it is stored when the promise resolves. It is tried on in any case, as long as this process lives.
   * @throws GantryError STORAGE_FULL, UNAVAILABLE
   */
  append(record: T): Promise<void> {
    const stored = Promise.withResolvers<void>()
    this.#waiting.push({ text: JSON.stringify(record), stored })
    this.#writing ??= this.#writeAll()
    return stored.promise
  }

  /** Stores what waits, as far as there is time. */
  async close(): Promise<void> {
    await Promise.race([this.#writing, delay(closeMs, undefined, { ref: false })])
    this.#closing.abort(new GantryError('UNAVAILABLE', 'the audit log is closed'))
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    // What is appended in the same moment goes into the same message.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, maxRecordsAtOnce)
      try {
        this.#closing.signal.throwIfAborted()
        await this.#store(batch)
        for (const { stored } of batch) stored.resolve()
      } catch (error) {
        reject(batch, error)
      }
    }
    // At once: whoever appends from now on starts a new batch.
    this.#writing = undefined
  }

  /** Resolves when the batch is stored; retries while the broker is away or full. */
  async #store(batch: readonly Waiting[]): Promise<void> {
    const { log } = this.#options
    const texts = batch.map(({ text }) => text)
    const began = performance.now()
    /** What may have been stored although the answer did not come. */
    let tried: { sequence: number; body: string } | undefined
    for (let attempt = 1; ; attempt++) {
      try {
        if (tried !== undefined && (await this.#stream.message(tried.sequence))?.body === tried.body) return
        this.#head ??= await this.#readHead()
        const { sequence, hash: previous } = this.#head
        const { body, hash } = encodeLink(previous, texts)
        tried = { sequence: sequence + 1, body }
        const { seq } = await this.#js.publish(auditSubject, body, { expect: { lastSequence: sequence } })
        this.#head = { sequence: seq, hash }
        this.#freeBytes -= Buffer.byteLength(body)
        this.#isFull = false
        return
      } catch (error) {
        this.#head = undefined
        // Another writer was faster: the next attempt follows what that one wrote.
        if (isApiError(error, jetStreamCodes.wrongLastSequence)) continue
        this.#isFull = isStorageFull(error)
        if (!this.#isFull && !isTransient(error))
          log.error({ err: error }, 'The audit log could not be written.')
        if (this.#isFull)
          reject(batch, full('the change was made and will be recorded as soon as there is space'))
        else if (performance.now() - began > patienceMs) reject(batch, notYet(error))
        await delay(backoffMs(attempt), undefined, { signal: this.#closing.signal })
      }
    }
  }

  async #readHead(): Promise<{ sequence: number; hash: string }> {
    const { last } = await this.#stream.bounds()
    const message = last === 0 ? undefined : await this.#stream.message(last)
    const hash = message === undefined ? genesisOf(this.#options.instance, last) : endOf(message.body)
    return { sequence: last, hash }
  }

  #lookForRoomSoon(): void {
    if (this.#looking) return
    this.#looking = true
    this.#lookForRoom()
      .catch((err: unknown) =>
        this.#options.log.warn({ err }, 'The free space for the audit log could not be determined.'),
      )
      .finally(() => (this.#looking = false))
  }

  async #lookForRoom(): Promise<void> {
    this.#freeKnownAtMs = performance.now()
    this.#freeBytes = await this.#stream.freeBytes()
  }
}

function reject(batch: readonly Waiting[], error: unknown): void {
  for (const { stored } of batch) stored.reject(error)
}

const full = (consequence: string) =>
  new GantryError(
    'STORAGE_FULL',
    `the audit log is full, so ${consequence}: raise max_file in messaging.config or shorten audit.retention in gantry.config, and restart`,
  )

const notYet = (cause: unknown) =>
  new GantryError(
    'UNAVAILABLE',
    'the request could not be recorded in the audit log because the broker does not respond; try again',
    { cause },
  )
