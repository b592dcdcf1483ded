import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from '../../broker/backoff.ts'
import type { Collection } from '../../broker/collection.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import { emission } from '../../broker/events.ts'
import type { Log } from '../../broker/log.ts'
import { Queue } from '../../broker/queue.ts'
import { migrationEvents } from '../../subjects/migrations.ts'
import { ActiveMigration } from './active.ts'
import { noCounts } from './engine/counts.ts'
import type { Mover, MoveSpec } from './engine/mover.ts'
import type { FailureLedger } from './failures.ts'
import { type CountListener, type Progress, WorkerBook } from './progress.ts'
import { factOf, type MigrationRecord } from './record.ts'
import { next } from './states.ts'

export interface RunnerOptions {
  readonly connection: NatsConnection
  readonly records: Collection<typeof MigrationRecord>
  readonly progress: Progress
  readonly failures: FailureLedger
  readonly mover: Mover
  readonly threads: number
  /** The stores of a migration, ready to be opened. */
  readonly resolve: (record: MigrationRecord) => Promise<MoveSpec>
  readonly onCount: CountListener
  readonly log: Log
}

/**
 * Works on every migration whose record says RUNNING, and on no other: follows the records, and changes them only when
 * its work is done (COMPLETED) or has ended because somebody stopped it (STOPPED). Any number of processes may do so.
 */
export class Runner {
  readonly #options: RunnerOptions
  readonly #working = new Map<string, { stop: AbortController; ended: Promise<void> }>()
  #watch: { stop(): Promise<void> } | undefined

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  /** Clears what processes that died have left, and begins to follow the records. */
  async start(): Promise<void> {
    await this.#sweep()
    this.#watch = await this.#options.records.watch((_, record) => {
      if (record !== undefined) this.#follow(record)
    })
  }

  /** Hands back all work; it goes on when the platform starts again, or in another process at once. */
  async stop(): Promise<void> {
    await this.#watch?.stop()
    for (const { stop } of this.#working.values()) stop.abort()
    await Promise.all([...this.#working.values()].map(({ ended }) => ended))
  }

  #follow(record: MigrationRecord): void {
    const working = this.#working.get(record.internalId)
    if (working !== undefined) {
      if (record.state !== 'RUNNING') working.stop.abort()
      return
    }
    if (record.state !== 'RUNNING' && record.state !== 'STOPPING') return
    const stop = new AbortController()
    const ended = this.#work(record, stop.signal)
      .catch((err: unknown) =>
        this.#options.log.error({ err, migration: record.migrationId }, 'A migration cannot go on.'),
      )
      .finally(() => this.#again(record))
    this.#working.set(record.internalId, { stop, ended })
  }

  /** The record may have changed while the last work on it ended: it is looked at once more. */
  async #again({ migrationId, internalId }: MigrationRecord): Promise<void> {
    const stopped = this.#working.get(internalId)?.stop.signal.aborted ?? false
    this.#working.delete(internalId)
    if (this.#watchEnded && stopped) return
    const record = await this.#options.records.get(migrationId)
    if (record !== undefined && record.internalId === internalId) this.#follow(record)
  }

  get #watchEnded(): boolean {
    return this.#watch === undefined
  }

  async #work(record: MigrationRecord, signal: AbortSignal): Promise<void> {
    const { connection, mover, threads, failures, progress, onCount, log } = this.#options
    if (record.state === 'STOPPING') return this.#drained(record)
    const spec = await this.#resolve(record, signal)
    const book = new WorkerBook(progress, record.internalId, crypto.randomUUID(), onCount)
    const options = { connection, spec, mover, threads, book, failures, log, signal }
    const active = await ActiveMigration.open(options)
    if (!record.seeded) {
      await active.seed()
      await this.#options.records.update(record.migrationId, (current) => ({ ...current, seeded: true }))
    }
    if (await active.run()) await this.#completed(record, active)
    else await this.#drained(record)
  }

  /** A store that cannot be resolved now may be there later; the migration waits for it. */
  async #resolve(record: MigrationRecord, signal: AbortSignal): Promise<MoveSpec> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#options.resolve(record)
      } catch (error) {
        signal.throwIfAborted()
        this.#options.log.warn(
          { err: error, migration: record.migrationId },
          'A filesystem is not known; trying on.',
        )
        await delay(backoffMs(attempt), undefined, { signal })
      }
    }
  }

  async #completed({ migrationId, internalId }: MigrationRecord, active: ActiveMigration): Promise<void> {
    const { records, progress, failures, log } = this.#options
    const counts = (await progress.totals()).get(internalId) ?? noCounts()
    const failedPathCount = await failures.count(internalId)
    const completed = new Date().toISOString()
    const record = await records.update(
      migrationId,
      (current) => {
        const to = next(current.state, current.resumable, 'finished')
        return to === 'COMPLETED' ? { ...current, state: to, completed, counts } : undefined
      },
      (changed) => [
        emission(migrationEvents.completed, migrationId, { ...factOf(changed), failedPathCount }),
      ],
    )
    if (record.state === 'STOPPING') return this.#drained(record)
    await active.deleteQueue()
    await progress.forget((migration) => migration === internalId)
    log.info({ migration: migrationId, failedPathCount }, 'A migration is completed.')
  }

  async #drained({ migrationId, internalId }: MigrationRecord): Promise<void> {
    const { records, connection, log } = this.#options
    const record = await records.update(
      migrationId,
      (current) => {
        const to = next(current.state, current.resumable, 'drained')
        return to === 'STOPPED' ? { ...current, state: to } : undefined
      },
      (changed) => [emission(migrationEvents.stopped, migrationId, factOf(changed))],
    )
    if (record.state === 'STOPPED' && !record.resumable) {
      const queue = await Queue.open(connection, internalId, [], log)
      await queue.delete()
    }
  }

  /** Queues and progress of migrations that have ended, whose process died before it could clear them. */
  async #sweep(): Promise<void> {
    const { connection, records, progress, log } = this.#options
    const all = await records.list({ limit: Number.POSITIVE_INFINITY })
    const alive = new Map(all.filter(needsQueue).map((record) => [record.internalId, record]))
    for (const name of await Queue.names(connection)) {
      if (alive.has(name)) continue
      const queue = await Queue.open(connection, name, [], log)
      await queue.delete()
    }
    const known = new Set(
      all.filter(({ state }) => state !== 'COMPLETED').map(({ internalId }) => internalId),
    )
    await progress.forget((migration) => !known.has(migration))
  }
}

const needsQueue = ({ state, resumable }: MigrationRecord): boolean =>
  state === 'RUNNING' || state === 'STOPPING' || (state === 'STOPPED' && resumable)
