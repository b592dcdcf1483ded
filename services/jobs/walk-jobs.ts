import { setTimeout as delay } from 'node:timers/promises'
import { pauseAfter } from '../../broker/common/retry.ts'
import type { Emission } from '../../broker/state/events.ts'
import { isStorageFull, isTransient } from '../../broker/state/jetstream.ts'
import type { Log } from '../../broker/common/log.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { maxTextLength } from '../../subjects/kit/schemas.ts'
import { shortened } from '../../subjects/kit/shortened.ts'
import type { Findings } from '../engine/walk/findings.ts'
import { hasEnded } from '../../subjects/migrations/model/jobs.ts'
import { byAge, type JobRecord } from './job-record.ts'
import { nextOf } from './owners-turns.ts'
import type { ReportFile, ReportStore, ReportWriter } from './reports.ts'

/** Tries of one that breaks off for a reason that may pass: a thread has ended, the disk is full, a store does not answer. */
const maxAttempts = 3
const lookUpAgainMs = 1_000

/** Jobs of a sort under way; they share the threads, and more at once would only end later each. */
const maxAtOnce = 2

/** What of a collection of jobs is used. */
export interface JobRecords<R extends JobRecord> {
  get(id: string): Promise<R | undefined>
  all(): Promise<R[]>
  update(
    id: string,
    change: (current: R) => R | undefined,
    emit?: (next: R) => readonly Emission[],
  ): Promise<R>
  delete(id: string, allowed?: (current: R) => void): Promise<R>
}

/** What becomes of a job that is under way. */
export interface Work {
  /** Keeps what was found: for the reports and the counts. */
  readonly take: (findings: Pick<Findings, 'lines' | 'counts'>) => Promise<void>
  readonly counts: Readonly<Record<string, number>>
  /** Aborts when it is cancelled, and when the platform stops. */
  readonly signal: AbortSignal
}

/** How a job ended. */
export interface JobOutcome {
  readonly status: 'COMPLETE' | 'CANCELLED'
  readonly message?: string
}

export interface WalkJobsOptions<R extends JobRecord, N extends string> {
  /** What a job of this sort is called in messages. */
  readonly name: string
  readonly records: JobRecords<R>
  readonly reports: ReportStore<N>
  /** Does all of a job. What it throws is worth another try, but a GantryError. */
  readonly work: (record: R, work: Work) => Promise<JobOutcome>
  /** The job as callers see it. */
  readonly view: (record: R) => object
  readonly finished: (record: R) => Emission
  /** What a line of the full report says that is true whatever comes later; without it, a job that begins again begins new reports. */
  readonly again?: (line: string) => Pick<Findings, 'lines' | 'counts'>
  readonly log: Log
}

/** A job that is under way. */
interface Running {
  counts: Record<string, number>
  readonly cancel: AbortController
  done: Promise<void>
}

/**
 * Does the jobs whose records say QUEUED, their owners in turn and so many at once. Their walks are kept in memory and in files
 * of this process: one that was under way when the process ended begins again.
 */
export class WalkJobs<R extends JobRecord, N extends string> {
  readonly #options: WalkJobsOptions<R, N>
  readonly #running = new Map<string, Running>()
  readonly #closing = new AbortController()
  #choosing: Promise<void> = Promise.resolve()

  constructor(options: WalkJobsOptions<R, N>) {
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
  countsOf(id: string): Readonly<Record<string, number>> | undefined {
    return this.#running.get(id)?.counts
  }

  /** Ends one that is under way; resolves when it has ended. */
  async cancel(id: string): Promise<void> {
    const running = this.#running.get(id)
    running?.cancel.abort(new Error(`the ${this.#options.name} was cancelled`))
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
    const { name, log } = this.#options
    try {
      const isWaiting = ({ id, status }: R) => status === 'QUEUED' && !this.#running.has(id)
      const free = maxAtOnce - this.#running.size
      for (const { id } of nextOf(await this.#all(), isWaiting, free)) {
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
      log.warn({ err: error, job: name }, 'Jobs cannot be looked up at the moment; retrying.')
      await delay(lookUpAgainMs, undefined, { signal }).catch(() => undefined)
      this.wake()
    }
  }

  /** Never rejects. */
  async #run(id: string, running: Running): Promise<void> {
    const { signal } = this.#closing
    const { name, log } = this.#options
    let failures = 0
    const isFinal = (error: unknown) => !passes(error) && (isRefusal(error) || ++failures >= maxAttempts)
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        return await this.#try(id, running, isFinal)
      } catch (error) {
        if (signal.aborted) return
        log.warn({ err: error, [name]: id }, `A ${name} broke off; it begins again.`)
        await pauseAfter(attempt, signal)
      }
    }
  }

  /** From the beginning to the end. Rejects when that is worth another try. */
  async #try(id: string, running: Running, isFinal: (error: unknown) => boolean): Promise<void> {
    const { records, work } = this.#options
    const record = await records.update(id, (current) =>
      hasEnded(current)
        ? undefined
        : { ...current, status: 'IN_PROGRESS', started: new Date().toISOString() },
    )
    if (hasEnded(record)) return
    running.counts = {}
    await this.#makeRoom()
    const writer = await this.#begin(id, running)
    let outcome: JobOutcome
    let files: ReportFile<N>[]
    try {
      outcome = await work(record, {
        take: async ({ lines, counts }) => {
          add(running.counts, counts)
          await writer.append(lines)
        },
        counts: running.counts,
        signal: AbortSignal.any([this.#closing.signal, running.cancel.signal]),
      })
    } catch (error) {
      const isCancelled = running.cancel.signal.aborted
      if (this.#closing.signal.aborted || !(isCancelled || isFinal(error))) throw error
      outcome = { status: 'CANCELLED', ...(isCancelled ? {} : { message: messageOf(error) }) }
    } finally {
      files = await writer.close()
    }
    await this.#finish(record, running.counts, outcome, writer, files)
  }

  async #begin(id: string, running: Running): Promise<ReportWriter<N>> {
    const { reports, again } = this.#options
    if (again === undefined) return reports.write(id)
    return reports.write(id, (line) => {
      const { lines, counts } = again(line)
      add(running.counts, counts)
      return lines
    })
  }

  async #finish(
    record: R,
    counts: Record<string, number>,
    outcome: JobOutcome,
    writer: ReportWriter<N>,
    files: readonly ReportFile<N>[],
  ): Promise<void> {
    const { name, records, view, finished, log } = this.#options
    const { id, migrationId } = record
    const ended = { ...outcome, finished: new Date().toISOString(), counts, rowsLeftOut: writer.leftOut }
    const summary = await writer.summarise(view({ ...record, ...ended }))
    await records.update(
      id,
      (current) => ({ ...current, ...ended, reports: [...files, summary] }),
      (changed) => [finished(changed)],
    )
    log.info({ [name]: id, migration: migrationId, ...outcome }, `A ${name} has ended.`)
  }

  async #makeRoom(): Promise<void> {
    const { records, reports } = this.#options
    const ended = (await this.#all()).filter(hasEnded).toSorted(byAge)
    for (const id of reports.makeRoom(ended.map((record) => record.id))) {
      await records.update(id, (current) => ({ ...current, reports: [] }))
    }
  }

  #all(): Promise<R[]> {
    return this.#options.records.all()
  }
}

/** Whether an error passes by itself, however long that takes: the broker is away, or its storage is full. */
function passes(error: unknown): boolean {
  if (isGantryError(error)) return error.retryable && error.code !== 'STORE_UNREACHABLE'
  return isTransient(error) || isStorageFull(error)
}

/** Whether somebody says what is wrong, and that it stays so. */
const isRefusal = (error: unknown): boolean => isGantryError(error) && !error.retryable

function add(counts: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + count
}

const messageOf = (error: unknown): string =>
  shortened(error instanceof Error ? error.message : String(error), maxTextLength)
