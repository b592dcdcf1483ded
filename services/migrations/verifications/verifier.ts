import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from '../../../broker/backoff.ts'
import type { Collection } from '../../../broker/collection.ts'
import { emission } from '../../../broker/events.ts'
import type { Log } from '../../../broker/log.ts'
import { isGantryError } from '../../../subjects/errors.ts'
import { maxTextLength } from '../../../subjects/schemas.ts'
import type { VerificationCount } from '../../../subjects/verification-terms.ts'
import { verificationEvents } from '../../../subjects/verifications.ts'
import type { Mover, MoveSpec } from '../engine/mover.ts'
import { encodeFolder } from '../engine/walk/walk-folder.ts'
import { walkAll } from '../walks/walk-all.ts'
import { pathWithin } from './paths.ts'
import {
  byAge,
  hasEnded,
  publicVerification,
  type VerificationCounts,
  type VerificationRecord,
} from './record.ts'
import type { ReportFile, ReportStore, ReportWriter } from './reports.ts'

/** Tries of one that breaks off for a reason of ours: a thread has ended, the disk is full. */
const maxAttempts = 3
const lookUpAgainMs = 1_000

/** Verifications under way; they share the threads, and more at once would only end later each. */
const maxAtOnce = 2

export interface VerifierOptions {
  readonly records: Collection<typeof VerificationRecord>
  readonly reports: ReportStore
  readonly spillFolder: string
  readonly mover: Pick<Mover, 'compare' | 'walksAtOnce'>
  /** The stores of a migration; undefined when it is gone. */
  readonly resolve: (migrationId: string, internalId: string) => Promise<MoveSpec | undefined>
  readonly log: Log
}

/** A verification that is under way. */
interface Running {
  counts: VerificationCounts
  readonly cancel: AbortController
  done: Promise<void>
}

/**
 * Does the verifications whose records say QUEUED, the oldest first and so many at once. Its walk is kept in memory and
 * in files of this process: one that was under way when the process ended begins again.
 */
export class Verifier {
  readonly #options: VerifierOptions
  readonly #running = new Map<string, Running>()
  readonly #closing = new AbortController()
  #choosing: Promise<void> = Promise.resolve()

  constructor(options: VerifierOptions) {
    this.#options = options
  }

  /** Begins again what was under way, forgets reports of what is gone, and goes on with what waits. */
  async start(): Promise<void> {
    const { records, reports } = this.#options
    const known = new Set<string>()
    for (const record of await this.#all()) {
      known.add(record.id)
      if (record.status !== 'IN_PROGRESS') continue
      await records.update(record.id, (current) => ({ ...current, status: 'QUEUED' }))
    }
    for (const id of reports.ids()) if (!known.has(id)) reports.remove(id)
    this.wake()
  }

  /** Looks for what waits. */
  wake(): void {
    this.#choosing = this.#choosing.then(() => this.#choose())
  }

  /** What is counted so far, while it is under way. */
  countsOf(id: string): VerificationCounts | undefined {
    return this.#running.get(id)?.counts
  }

  /** Ends one that is under way; resolves when it has ended. */
  async cancel(id: string): Promise<void> {
    const running = this.#running.get(id)
    running?.cancel.abort(new Error('the verification was cancelled'))
    await running?.done
  }

  /** Ends what is under way; it begins again when the platform starts. */
  async stop(): Promise<void> {
    this.#closing.abort(new Error('the platform is stopping'))
    await this.#choosing
    await Promise.all(Array.from(this.#running.values(), ({ done }) => done))
  }

  /** Never rejects. */
  async #choose(): Promise<void> {
    const { signal } = this.#closing
    try {
      const waiting = (await this.#all())
        .filter(({ id, status }) => status === 'QUEUED' && !this.#running.has(id))
        .toSorted(byAge)
      for (const { id } of waiting.slice(0, maxAtOnce - this.#running.size)) {
        if (signal.aborted) return
        const cancel = new AbortController()
        const running = { counts: {}, cancel, done: Promise.resolve() }
        this.#running.set(id, running)
        running.done = this.#run(id, running).finally(() => {
          this.#running.delete(id)
          this.wake()
        })
      }
    } catch (error) {
      if (signal.aborted) return
      this.#options.log.warn({ err: error }, 'Verifications cannot be looked up at the moment; trying on.')
      await delay(lookUpAgainMs, undefined, { signal }).catch(() => undefined)
      this.wake()
    }
  }

  /** Never rejects. */
  async #run(id: string, running: Running): Promise<void> {
    const { signal } = this.#closing
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        return await this.#verify(id, running, attempt)
      } catch (error) {
        if (signal.aborted) return
        this.#options.log.warn({ err: error, verification: id }, 'A verification broke off; it begins again.')
        await delay(backoffMs(attempt), undefined, { signal }).catch(() => undefined)
      }
    }
  }

  /** From the beginning to the end. Rejects when that is worth another try. */
  async #verify(id: string, running: Running, attempt: number): Promise<void> {
    const { records, reports } = this.#options
    const record = await records.update(id, (current) =>
      hasEnded(current)
        ? undefined
        : { ...current, status: 'IN_PROGRESS', started: new Date().toISOString() },
    )
    if (hasEnded(record)) return
    running.counts = {}
    await this.#makeRoom()
    const writer = await reports.write(id)
    let outcome: Outcome
    let files: ReportFile[]
    try {
      outcome = await this.#compare(record, running, writer)
    } catch (error) {
      // An error of ours may pass; what is said to be wrong stays so.
      const isOver = running.cancel.signal.aborted || isGantryError(error) || attempt >= maxAttempts
      if (this.#closing.signal.aborted || !isOver) throw error
      outcome = { status: 'CANCELLED' }
      if (!running.cancel.signal.aborted) outcome.message = messageOf(error)
    } finally {
      files = await writer.close()
    }
    await this.#finish(record, running.counts, outcome, writer, files)
  }

  async #compare(record: VerificationRecord, running: Running, writer: ReportWriter): Promise<Outcome> {
    const { mover, resolve, spillFolder } = this.#options
    const { migrationId, internalId, level, ignoreAfterMs, depth } = record
    const spec = await resolve(migrationId, internalId)
    if (spec === undefined) return { status: 'CANCELLED', message: 'the migration was deleted' }
    const comparison = { level, ...(ignoreAfterMs === undefined ? {} : { ignoreAfterMs }) }
    const side = 'unknown'
    const levels = depth === undefined ? {} : { levels: depth }
    await walkAll({
      start: record.paths.map((path) => encodeFolder({ path: pathWithin(spec.root, path), side, ...levels })),
      atOnce: mover.walksAtOnce,
      spillFolder,
      step: (folders, take, signal) => mover.compare(spec, comparison, folders, take, signal),
      take: async ({ lines, counts }) => {
        await writer.append(lines)
        for (const [name, more] of Object.entries(counts) as [VerificationCount, number][]) {
          running.counts[name] = (running.counts[name] ?? 0) + more
        }
      },
      signal: AbortSignal.any([this.#closing.signal, running.cancel.signal]),
    })
    return { status: 'COMPLETE' }
  }

  async #finish(
    record: VerificationRecord,
    counts: VerificationCounts,
    outcome: Outcome,
    writer: ReportWriter,
    files: readonly ReportFile[],
  ): Promise<void> {
    const { id, migrationId } = record
    const finished = { finished: new Date().toISOString(), counts, rowsLeftOut: writer.leftOut }
    const summary = await writer.summarise(publicVerification({ ...record, ...outcome, ...finished }))
    await this.#options.records.update(
      id,
      (current) => ({ ...current, ...outcome, ...finished, reports: [...files, summary] }),
      ({ status }) => [
        emission(verificationEvents.finished, id, {
          verificationId: id,
          migrationId,
          status,
          totalDiscrepancies: counts.totalDiscrepancies ?? 0,
        }),
      ],
    )
    this.#options.log.info(
      { verification: id, migration: migrationId, ...outcome },
      'A verification has ended.',
    )
  }

  async #makeRoom(): Promise<void> {
    const { records, reports } = this.#options
    const ended = (await this.#all()).filter(hasEnded).toSorted(byAge)
    for (const id of reports.makeRoom(ended.map((record) => record.id))) {
      await records.update(id, (current) => ({ ...current, reports: [] }))
    }
  }

  #all(): Promise<VerificationRecord[]> {
    return this.#options.records.list({ limit: Number.POSITIVE_INFINITY })
  }
}

/** How a verification ended. */
interface Outcome {
  status: 'COMPLETE' | 'CANCELLED'
  message?: string
}

const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, maxTextLength)
